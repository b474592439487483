package transport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Errors of a response whose body is damaged. A retry may help.
var (
	ErrCut  = errors.New("the response was cut short")
	ErrHTML = errors.New("expected JSON, got an HTML page, as from a gateway or a login page")
)

// TooLargeError is the error of a response body beyond the limit.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string { return fmt.Sprintf("more than %d bytes", e.Limit) }

// DefaultMaxBytes limits the body of a response unless the caller sets another limit.
const DefaultMaxBytes = 8 << 20

// maxFailureBody limits the body of an error status.
const maxFailureBody = 1 << 20

// bodyLink reads the body whole, up to the limit. A body that drips, is cut or is
// too large is a failure of the attempt like a broken connection.
type bodyLink struct {
	next  http.RoundTripper
	limit int64
}

func (l bodyLink) RoundTrip(req *http.Request) (*http.Response, error) {
	r := recordOf(req)
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp == nil {
		return nil, errors.New("the RoundTripper returned neither a response nor an error")
	}
	if resp.Body == nil { // not every RoundTripper sets one
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if err := l.read(r, resp); err != nil {
		return nil, err
	}
	r.Status, r.Header, r.RetryAfter = resp.StatusCode, resp.Header, retryAfter(resp.Header)
	if r.WantJSON && r.IsSuccess() {
		switch {
		case IsHTML(r.Header, r.Body):
			return nil, ErrHTML
		case isCut(r.Body):
			return nil, ErrCut
		}
	}
	resp.Body = http.NoBody
	return resp, nil
}

// read reads the body of a response. That of an error status is cut at the limit, or
// where it breaks: the status matters more.
func (l bodyLink) read(r *Record, resp *http.Response) error {
	limit, success := l.limit, isSuccess(resp.StatusCode)
	switch {
	case !success:
		limit = min(limit, maxFailureBody)
	case resp.ContentLength > limit:
		return &TooLargeError{Limit: limit}
	}
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(resp.ContentLength, 0), 1<<20)) + bytes.MinRead) // beyond 1 MiB nothing before the bytes arrive
	_, err := buffer.ReadFrom(io.LimitReader(resp.Body, limit+1))
	body := buffer.Bytes()
	beyond := int64(len(body)) > limit
	switch {
	case !success:
		r.Truncated = beyond || err != nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("%w: %w", ErrCut, err)
	case err != nil:
		return err
	case beyond:
		return &TooLargeError{Limit: limit}
	}
	r.Body = body[:min(int64(len(body)), limit)]
	return nil
}

// isCut reports whether a body starts like a JSON object or array and does not
// end like one.
func isCut(body []byte) bool {
	body = bytes.TrimSpace(body)
	return bytes.HasPrefix(body, []byte("{")) && !bytes.HasSuffix(body, []byte("}")) ||
		bytes.HasPrefix(body, []byte("[")) && !bytes.HasSuffix(body, []byte("]"))
}

// IsHTML reports whether a body is a page: by its header, or because it starts like one
// by the rules of browsers.
func IsHTML(header http.Header, body []byte) bool {
	head := bytes.TrimSpace(body[:min(len(body), 512)])
	if !bytes.HasPrefix(head, []byte("<")) {
		return false
	}
	return strings.HasPrefix(header.Get("Content-Type"), "text/html") ||
		strings.HasPrefix(http.DetectContentType(head), "text/html") || bytes.Contains(bytes.ToLower(head), []byte("<html"))
}
