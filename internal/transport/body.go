package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrHTML is the error of a response that is a page. A retry may help.
var ErrHTML = errors.New("expected JSON, got an HTML page, as from a gateway or a login page")

// ErrTooLarge is the error of a response body beyond the limit.
var ErrTooLarge = errors.New("response too large")

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
	if err := r.read(resp, limit); err != nil {
		return err
	}
	r.Status, r.Header, r.RetryAfter = resp.StatusCode, resp.Header, retryAfter(resp.Header)
	if r.WantJSON && r.IsSuccess() && IsHTML(r.Body) {
		return ErrHTML
	}
	return nil
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
	buffer.Grow(int(min(max(resp.ContentLength, 0), 1<<20)) + bytes.MinRead) // beyond 1 MiB nothing before the bytes arrive
	_, err := buffer.ReadFrom(io.LimitReader(resp.Body, limit+1))
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
	r.Body = body[:min(int64(len(body)), limit)]
	return nil
}

// IsHTML reports whether a body is a page, of HTML or XML.
func IsHTML(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }
