package transport

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double/check"
)

// body returns a transport whose responses have that body.
func body(status int, text io.Reader, length int64, encoding string) tripFunc {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Encoding": {encoding}}, Body: io.NopCloser(text), ContentLength: length,
		}, nil
	}
}

// takeBody makes an attempt with a limit of the body.
func takeBody(t *testing.T, send tripFunc, limit int64) (*http.Response, *Body, error) {
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://game.test/", nil)
	resp, err := Whole{Next: send, Timeout: time.Minute, MaxBytes: limit}.RoundTrip(req)
	if err != nil {
		return &http.Response{}, new(Body), err
	}
	return resp, resp.Body.(*Body), nil
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func TestBodyIsDecodedOnceByItsContentEncoding(t *testing.T) {
	const limit = 20
	for _, test := range []struct {
		name           string
		status         int
		body, encoding string
		want           string
		err            error
	}{
		{"plain", 200, `[1]`, "", `[1]`, nil},
		{"a byte order mark", 200, "\ufeff[1]", "", `[1]`, nil},
		{"gzip", 200, packed(`[1]`), "gzip", `[1]`, nil},
		{"gzip that a wrapper has decoded", 200, `[1]`, "Gzip", `[1]`, nil},
		{"none", 200, "", "br", "", nil},
		{"identity", 200, `[1]`, "identity", `[1]`, nil},
		{"brotli", 200, "\x0b\x01\x80[1]\x03", "br", "", ErrEncoding},
		{"two encodings", 200, packed(packed(`[1]`)), "gzip, gzip", "", ErrEncoding},
		{"cut gzip", 200, packed(`[1]`)[:15], "gzip", "", io.ErrUnexpectedEOF},
		{"as long as the limit", 200, strings.Repeat(" ", limit), "", strings.Repeat(" ", limit), nil},
		{"too large once decoded", 200, packed(strings.Repeat(" ", limit+1)), "gzip", "", ErrTooLarge},
		{"an error in gzip", 500, packed(`{"a":1}`), "gzip", `{"a":1}`, nil},
		{"an error in brotli", 500, "\x0b\x01", "br", "", nil},
	} {
		resp, body, err := takeBody(t, body(test.status, strings.NewReader(test.body), -1, test.encoding), limit)
		err = cmp.Or(err, body.Err)
		check.Equal(t, test.name, test.want, string(body.Bytes))
		check.Equal(t, test.name+": error", test.err, err)
		if test.err == nil {
			check.Equal(t, test.name+": status", test.status, resp.StatusCode)
		} else if test.err == ErrEncoding {
			check.Equal(t, test.name+": the error names it", true, strings.Contains(fmt.Sprint(err), test.encoding))
		}
	}
}

func TestBodyIsReadUpToTheLimit(t *testing.T) {
	const size = 4 << 20
	for length, most := range map[int64]int{21: 0, -1: 1 << 10} {
		source := strings.NewReader(strings.Repeat(" ", size))
		_, _, err := takeBody(t, body(200, source, length, ""), 20)
		if read := size - source.Len(); !errors.Is(err, ErrTooLarge) || read > most {
			t.Errorf("length %d: %d bytes were read, %v", length, read, err)
		}
	}
	cut := io.MultiReader(strings.NewReader(`{"a`), iotest.ErrReader(io.ErrUnexpectedEOF)) // the status of an error matters more
	if resp, body, err := takeBody(t, body(500, cut, -1, ""), 20); err != nil || string(body.Bytes) != `{"a` || !body.Cut || resp.StatusCode != 500 {
		t.Errorf("%q, cut %v, %v", body.Bytes, body.Cut, err)
	}
	source := strings.NewReader(strings.Repeat(" ", size))
	if _, body, err := takeBody(t, body(500, source, -1, ""), 1<<40); err != nil || len(body.Bytes) != 1<<20 || !body.Cut || source.Len() < size/2 {
		t.Errorf("of an error status %d bytes are left, %v", source.Len(), err)
	}
}

func TestBodyOrResponseThatIsNilDoesNotPanic(t *testing.T) {
	if resp, _, err := takeBody(t, func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 204}, nil }, 20); err != nil || resp.StatusCode != 204 {
		t.Errorf("status %d, %v", resp.StatusCode, err)
	}
	if _, _, err := takeBody(t, func(*http.Request) (*http.Response, error) { return nil, nil }, 20); err == nil {
		t.Error("neither a response nor an error is an error")
	}
}

// No context ends a read of the connection that follows a status 101, as from a proxy that
// was made for another protocol.
func TestAConnectionOfAnotherProtocolIsNotReadButClosed(t *testing.T) {
	near, far := net.Pipe()
	upgraded := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101, Body: near, ContentLength: -1}, nil
	}
	hanging := time.AfterFunc(2*time.Second, func() { far.Close() })
	resp, body, err := takeBody(t, upgraded, 20)
	if !hanging.Stop() || err != nil || resp.StatusCode != 101 || len(body.Bytes) > 0 {
		t.Errorf("it was read: status %d, %q, %v", resp.StatusCode, body.Bytes, err)
	}
	if _, err := far.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write of the other side: %v, want that it was closed", err)
	}
}

// Not every RoundTripper returns the error of the context.
func TestAttemptErrorIsThatOfTheTimeLimitOrTheContext(t *testing.T) {
	for name, test := range map[string]struct {
		limit, end, lasts time.Duration
		fails             error
		is, isNot         error
		isTimeLimit       bool
	}{
		"the time limit":   {time.Second, time.Minute, time.Second, errReset, context.DeadlineExceeded, context.Canceled, true},
		"in the body":      {time.Second, time.Minute, time.Second, errReset, context.DeadlineExceeded, context.Canceled, true},
		"another, by then": {time.Second, time.Minute, time.Second, tooLarge(1), ErrTooLarge, context.DeadlineExceeded, false},
		"the context":      {time.Minute, time.Second, time.Second, errReset, context.Canceled, context.DeadlineExceeded, false},
		"neither":          {time.Minute, time.Hour, 30 * time.Second, errReset, errReset, context.Canceled, false},
		"an awaited end":   {time.Minute, time.Second, 30 * time.Second, errReset, context.Canceled, context.DeadlineExceeded, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(test.end, cancel)
			hangs := func(ctx context.Context) error {
				select {
				case <-ctx.Done():
				case <-time.After(30 * time.Second):
				}
				return test.fails
			}
			send := tripFunc(func(req *http.Request) (*http.Response, error) { return nil, hangs(req.Context()) })
			switch name {
			case "an awaited end":
				ctx = Await(ctx)
			case "in the body":
				send = func(req *http.Request) (*http.Response, error) {
					return body(200, readFunc(func([]byte) (int, error) { return 0, hangs(req.Context()) }), -1, "")(req)
				}
			}
			began := time.Now()
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://game.test/", nil)
			_, err := Whole{Next: send, Timeout: test.limit, SetBy: "test", MaxBytes: 1000}.RoundTrip(req)
			check.Equal(t, name+": it lasts", test.lasts, time.Since(began))
			timeout, isTimeout := errors.AsType[*TimeoutError](err)
			if !errors.Is(err, test.is) || !errors.Is(err, test.fails) || errors.Is(err, test.isNot) || isTimeout != test.isTimeLimit || isTimeout && timeout.SetBy != "test" {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
