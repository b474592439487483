package keys_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// FuzzErrorBodies gives any status, body and header to a read and a
// registration: every failure is reported, without the keys.
func FuzzErrorBodies(f *testing.F) {
	f.Add(400, `{"error":{"message":"x"}}`, "1", uint8(0))
	f.Add(401, "keys "+double.AppKey+" "+double.UserKey, double.AppKey, uint8(3))
	f.Add(403, "<html>", "/x", uint8(0))
	f.Add(429, `{"errors":["`+double.JSONText(double.UserKey)+`"]}`, "Fri, 31 Dec 9999 23:59:59 GMT", uint8(9))
	f.Add(302, "%61pp-Key%2F91", "https://a.test/?k="+double.AppKey, uint8(2))
	f.Add(503, `\u0061pp-Key\/91+d7=e4`, "99999999999999999999", uint8(1))
	f.Fuzz(func(t *testing.T, status int, body, header string, cut uint8) {
		if status < 100 || status > 999 {
			return
		}
		down := double.Stream(status, -1, func() io.Reader { return double.Readers(body[:max(0, len(body)-int(cut))], double.ErrReset) })
		if cut == 0 {
			down = double.Respond(status, body)
		}
		s := double.Play(func(req *http.Request) (*http.Response, error) {
			resp, err := down(req)
			resp.Header = http.Header{"Retry-After": {header}, "Location": {header}, "X-Echo": {body, header}}
			return resp, err
		})
		for _, call := range []func(context.Context, *horseracing.Client) error{
			double.Register,
			func(ctx context.Context, c *horseracing.Client) error {
				_, err := c.Horses.Owned(ctx, double.UserKey)
				return err
			},
		} {
			c := s.Client(t, double.NoRetries()) // one of its own, which waits for no Retry-After
			err := call(t.Context(), c)
			if err == nil {
				if status < 200 || status > 299 {
					t.Errorf("status %d is a success", status)
				}
				continue
			}
			double.CheckError(t, "call", err)
			for where, text := range double.Surfaces(err, horseracing.Response{}, "") {
				double.MustNotShowKeys(t, where, text)
			}
			if api, ok := errors.AsType[*horseracing.APIError](err); ok && (api.RetryAfter < 0 || len(api.Body) > 64<<10) {
				t.Errorf("RetryAfter %v, %d bytes", api.RetryAfter, len(api.Body))
			}
		}
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}
