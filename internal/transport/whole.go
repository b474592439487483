package transport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Whole is a RoundTripper that returns complete responses, whose Body is a [*Body]. A response that
// takes too long, ends early or is too large is an error, like a broken connection.
type Whole struct {
	Next     http.RoundTripper
	Timeout  time.Duration // from connecting to the last byte of the body
	SetBy    string        // what has set the Timeout
	MaxBytes int64         // of the body, less than the largest int64
}

// Body is the body of a response, in memory.
type Body struct {
	bytes.Reader
	Bytes []byte // without the Content-Encoding and a byte order mark
	Cut   bool   // it is of an error status, and was longer
	Err   error  // ErrEncoding if it is not of an error status, and its Content-Encoding is not supported

	limited io.LimitedReader // of the bytes as they arrive; here, it takes no memory of its own
}

// Close does nothing.
func (*Body) Close() error { return nil }

// Errors of an attempt.
var (
	ErrTooLarge = errors.New("response too large")
	ErrEncoding = errors.New("the body has a Content-Encoding that is not supported")
	ErrHTML     = errors.New("expected JSON, got an HTML page, as from a gateway or a login page") // a retry may help
)

// errTimeout is the cause of a context whose attempt took too long.
var errTimeout = errors.New("attempt timeout")

// TimeoutError is the error of an attempt that took too long. It matches context.DeadlineExceeded.
type TimeoutError struct {
	Timeout time.Duration // of [Whole]
	SetBy   string        // of [Whole]
	Err     error         // of the next RoundTripper
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no complete response within the %v of %s", e.Timeout, e.SetBy)
}

func (e *TimeoutError) Unwrap() []error { return []error{context.DeadlineExceeded, e.Err} }

// DefaultMaxBytes limits the body of a response unless the caller sets another limit.
const DefaultMaxBytes = 8 << 20

// maxFailureBody limits the body of an error status.
const maxFailureBody = 1 << 20

type awaitKey struct{}

// Await returns a context whose end does not interrupt [Whole]: an attempt that has begun lasts
// until its response, or for its Timeout. If it fails after ctx has ended, its error includes
// that of ctx.
func Await(ctx context.Context) context.Context {
	if ctx == nil { // the call refuses it
		return nil
	}
	return context.WithValue(ctx, awaitKey{}, true)
}

// RoundTrip sends a request and reads the response.
func (w Whole) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if ctx.Value(awaitKey{}) != nil {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.Timeout, errTimeout)
	defer cancel()
	resp, err := w.Next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		err = w.read(resp)
	}
	if err == nil {
		return resp, nil
	}
	if errors.Is(context.Cause(ctx), errTimeout) && !isPermanent(err) { // which the timeout does not cause
		err = &TimeoutError{w.Timeout, w.SetBy, err}
	}
	if ended := req.Context().Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return nil, err
}

// read reads the body of a response. That of an error status is cut at the limit, or
// where it breaks: the status matters more.
func (w Whole) read(resp *http.Response) error {
	switch {
	case resp == nil:
		return errors.New("the RoundTripper returned neither a response nor an error")
	case resp.Body == nil: // not every RoundTripper sets one
		resp.Body = http.NoBody
	case resp.StatusCode == http.StatusSwitchingProtocols: // the body is the connection, and a read of it has no end
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	limit, success := w.MaxBytes, resp.StatusCode/100 == 2
	switch {
	case !success:
		limit = min(limit, maxFailureBody)
	case resp.ContentLength > limit:
		return tooLarge(limit)
	}
	var buffer bytes.Buffer
	body := new(Body)
	source, err := io.Reader(resp.Body), error(nil)
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" {
		source, err = decoded(resp.Body, encoding)
	}
	if err == nil {
		buffer.Grow(int(min(max(resp.ContentLength, 0), 1<<20)) + bytes.MinRead) // beyond 1 MiB nothing before the bytes arrive
		body.limited = io.LimitedReader{R: source, N: limit + 1}
		_, err = buffer.ReadFrom(&body.limited)
	}
	text := buffer.Bytes()
	isLonger := int64(len(text)) > limit
	body.Bytes = bytes.TrimPrefix(text[:min(int64(len(text)), limit)], []byte(byteOrderMark))
	switch {
	case !success:
		body.Cut = isLonger || err != nil
	case errors.Is(err, ErrEncoding):
		body.Err = err
	case err != nil:
		return err
	case isLonger:
		return tooLarge(limit)
	}
	body.Reset(body.Bytes)
	resp.Body = body
	return nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: more than %d bytes (WithMaxResponseBytes)", ErrTooLarge, limit)
}

// byteOrderMark precedes some UTF-8 texts. JSON has none.
const byteOrderMark = "\ufeff"

// decoded returns a reader of the body without the Content-Encoding that net/http left in
// place, as it does if a wrapper asked for one or the service chose it unasked. Some
// RoundTrippers decode the body and leave the header.
func decoded(source io.Reader, encoding string) (io.Reader, error) {
	body := bufio.NewReader(source)
	isGzip := strings.EqualFold(encoding, "gzip")
	switch start, _ := body.Peek(2); {
	case isGzip && string(start) == "\x1f\x8b":
		return gzip.NewReader(body)
	case isGzip || strings.EqualFold(encoding, "identity") || len(start) == 0:
		return body, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrEncoding, encoding) // whole, since it may contain a key
}

// IsHTML reports whether a body is HTML or XML.
func IsHTML(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }
