package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
)

// reads returns every operation that reads, by name: what it decoded, or an
// error. A paged listing is read beyond a page.
func reads() map[string]func(context.Context, *horseracing.Client) (any, error) {
	all := map[string]func(context.Context, *horseracing.Client) (any, error){}
	for _, op := range horseracing.Operations() {
		switch {
		case op.Method != http.MethodGet || op.Variant:
		case op.Further != nil:
			all[op.Name] = func(ctx context.Context, c *horseracing.Client) (any, error) { return op.Further(ctx, c, 20) }
		default:
			all[op.Name] = func(ctx context.Context, c *horseracing.Client) (any, error) {
				return op.Call(ctx, c, horseracing.TestdataIDs)
			}
		}
	}
	return all
}

// FuzzAnswers gives the same bytes to every operation: each reads them or says
// why not, in bounded time; what was read can be written and read again.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", "[null]", `{"error":"x"}`, `{"errors":[{"detail":"x"}]}`, "<html>", `[{"main_race_id":1,"start_time":1700000000000,"entry_fee":1e+21}]`,
		`[{"_id":"a","start_time":1700000000000,"additional_prizes":[{"additional_gold":1,"additional_treasury_gold":2.5}]}]`,
		`{"number":7,"missions":[{"type":"daily","progress":[1,{}]}]}`, `{"daily":[{"xp_base":-1.5,"place_min":1}]}`, "[{\"name\":\"\xff\"}]",
		strings.Repeat("[", 10_001), `[{"entry_fee":1e100}]`, `[{"a":1,"a":2}]`,
	} {
		f.Add([]byte(seed))
	}
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := play(answer(200, string(body), "X-Echo: "+string(body[:min(len(body), 50)])))
		c := s.client(t, horseracing.WithRetry(horseracing.Retry{}), horseracing.WithMaxResponseBytes(1<<20),
			horseracing.WithDriftHandler(func(context.Context, horseracing.Drift) {}))
		for name, read := range reads() {
			s.seen = nil
			started := time.Now()
			value, err := read(t.Context(), c)
			if took := time.Since(started); took > 5*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			if n := len(s.seen); n > 30 {
				t.Errorf("%s: %d requests", name, n)
			}
			if err != nil {
				checkError(t, name, err)
				if reflect.ValueOf(value).Kind() != reflect.Slice { // of a list, what could be read stands beside
					continue
				}
			}
			written, err := json.Marshal(value)
			again := reflect.New(reflect.TypeOf(value))
			if err == nil {
				err = json.Unmarshal(written, again.Interface())
			}
			if err != nil {
				t.Errorf("%s: cannot be written and read again: %v", name, err)
			}
			if rewritten, _ := json.Marshal(again.Interface()); string(rewritten) != string(written) {
				t.Errorf("%s: written as %s, read again and written as %s", name, written, rewritten)
			}
		}
		receipt, err := c.Races.Register(t.Context(), entry)
		if err != nil {
			checkError(t, "register", err)
		} else if len(receipt.Body) > 0 && !json.Valid(receipt.Body) {
			t.Errorf("register: took %q", receipt.Body)
		}
	})
}

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
// registration: every failure is told, without the keys.
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
			down = answer(status, body)
		}
		s := play(func(req *http.Request) (*http.Response, error) {
			resp, err := down(req)
			resp.Header = http.Header{"Retry-After": {header}, "Location": {header}, "X-Echo": {body, header}}
			return resp, err
		})
		c := s.client(t, horseracing.WithRetry(horseracing.Retry{}))
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
			var api *horseracing.APIError
			if errors.As(err, &api) {
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
