package transport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Errors of a response whose body cannot be read.
var (
	ErrHTML     = errors.New("expected JSON, got an HTML page, as from a gateway or a login page") // a retry may help
	ErrEncoding = errors.New("the body has a Content-Encoding that is not supported")
	ErrTooLarge = errors.New("response too large")
)

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: more than %d bytes (WithMaxResponseBytes)", ErrTooLarge, limit)
}

// DefaultMaxBytes limits the body of a response unless the caller sets another limit.
const DefaultMaxBytes = 8 << 20

// maxFailureBody limits the body of an error status.
const maxFailureBody = 1 << 20

// take reads the body of the response whole, up to the limit, into the record. A body that
// drips, is cut or is too large is a failure of the attempt like a broken connection.
func (r *Record) take(resp *http.Response, limit int64) error {
	if resp == nil {
		return errors.New("the RoundTripper returned neither a response nor an error")
	}
	if resp.Body == nil { // not every RoundTripper sets one
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	err := r.read(resp, limit)
	if err != nil && !errors.Is(err, ErrEncoding) {
		return err
	}
	r.Status, r.Header, r.RetryAfter = resp.StatusCode, resp.Header, retryAfter(resp.Header)
	if err == nil && r.WantJSON && r.IsSuccess() && IsHTML(r.Body) {
		return ErrHTML
	}
	return err
}

// read reads the body of a response. That of an error status is cut at the limit, or
// where it breaks: the status matters more.
func (r *Record) read(resp *http.Response, limit int64) error {
	success := isSuccess(resp.StatusCode)
	switch {
	case !success:
		limit = min(limit, maxFailureBody)
	case resp.ContentLength > limit:
		return tooLarge(limit)
	}
	var buffer bytes.Buffer
	source, err := decoded(resp)
	if err == nil {
		buffer.Grow(int(min(max(resp.ContentLength, 0), 1<<20)) + bytes.MinRead) // beyond 1 MiB nothing before the bytes arrive
		_, err = buffer.ReadFrom(io.LimitReader(source, limit+1))
	}
	body := buffer.Bytes()
	beyond := int64(len(body)) > limit
	switch {
	case !success:
		r.Truncated = beyond || err != nil
	case err != nil:
		return err
	case beyond:
		return tooLarge(limit)
	}
	r.Body = bytes.TrimPrefix(body[:min(int64(len(body)), limit)], []byte(byteOrderMark))
	return nil
}

// byteOrderMark precedes some UTF-8 texts. JSON has none.
const byteOrderMark = "\ufeff"

// decoded returns a reader of the body without the Content-Encoding that net/http left in
// place, as it does if a wrapper asked for one or the service chose it unasked. Some
// RoundTrippers decode the body and leave the header.
func decoded(resp *http.Response) (io.Reader, error) {
	encoding := strings.ToLower(resp.Header.Get("Content-Encoding"))
	if encoding == "" {
		return resp.Body, nil
	}
	body := bufio.NewReader(resp.Body)
	switch start, _ := body.Peek(2); {
	case encoding == "gzip" && string(start) == "\x1f\x8b":
		return gzip.NewReader(body)
	case encoding == "gzip" || encoding == "identity" || len(start) == 0:
		return body, nil
	}
	return nil, fmt.Errorf("%w: %.100q", ErrEncoding, encoding)
}

// IsHTML reports whether a body is HTML or XML.
func IsHTML(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }
