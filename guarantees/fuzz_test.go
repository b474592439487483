package guarantees_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
)

// checkError fails unless an error is of the documented kinds and fit to read.
func checkError(t *testing.T, name string, err error) {
	t.Helper()
	var api *horseracing.APIError
	var decode *horseracing.DecodeError
	var transport *horseracing.TransportError
	var tie *horseracing.TieOverflowError
	switch {
	case errors.As(err, &api), errors.As(err, &decode), errors.As(err, &transport), errors.As(err, &tie):
	case errors.Is(err, horseracing.ErrNotFound), errors.Is(err, horseracing.ErrBodyIgnored):
	default:
		t.Errorf("%s: an error of type %T: %v", name, err, err)
	}
	text := err.Error()
	if len(text) >= 2048 || !strings.Contains(text, "/api/v") || strings.ContainsAny(text, "\n\x1b\x00") {
		t.Errorf("%s: not fit to read: %q", name, text)
	}
	mustNotShowKeys(t, name, text)
}

// FuzzErrorBodies gives any status, body and header to a read and a
// registration: every failure is reported, without the keys.
func FuzzErrorBodies(f *testing.F) {
	f.Add(400, `{"error":{"message":"x"}}`, "1", uint8(0))
	f.Add(401, "keys "+appKey+" "+userKey, appKey, uint8(3))
	f.Add(403, "<html>", "/x", uint8(0))
	f.Add(429, `{"errors":["`+jsonText(userKey)+`"]}`, "Fri, 31 Dec 9999 23:59:59 GMT", uint8(9))
	f.Add(302, "%61pp-Key%2F91", "https://a.test/?k="+appKey, uint8(2))
	f.Add(503, `\u0061pp-Key\/91+d7=e4`, "99999999999999999999", uint8(1))
	f.Fuzz(func(t *testing.T, status int, body, header string, cut uint8) {
		if status < 100 || status > 999 {
			return
		}
		down := stream(status, -1, func() reader { return readers(body[:max(0, len(body)-int(cut))], errReset) })
		if cut == 0 {
			down = respond(status, body)
		}
		s := play(func(req *http.Request) (*http.Response, error) {
			resp, err := down(req)
			resp.Header = http.Header{"Retry-After": {header}, "Location": {header}, "X-Echo": {body, header}}
			return resp, err
		})
		c := s.client(t, horseracing.WithRetry(horseracing.Retry{Max: -1}))
		for _, call := range []func(context.Context, *horseracing.Client) error{
			register,
			func(ctx context.Context, c *horseracing.Client) error {
				_, err := c.Horses.Owned(ctx, userKey)
				return err
			},
		} {
			err := call(t.Context(), c)
			if err == nil {
				if status < 200 || status > 299 {
					t.Errorf("status %d is a success", status)
				}
				continue
			}
			checkError(t, "call", err)
			if api, ok := errors.AsType[*horseracing.APIError](err); ok {
				mustNotShowKeys(t, "Body", string(api.Body))
				mustNotShowKeys(t, "Message", api.Message)
				for name, values := range api.Header {
					mustNotShowKeys(t, "Header", name+": "+strings.Join(values, "\n"))
				}
				if api.RetryAfter < 0 || len(api.Body) > 64<<10 {
					t.Errorf("RetryAfter %v, %d bytes", api.RetryAfter, len(api.Body))
				}
			}
		}
		if n := len(s.requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}
