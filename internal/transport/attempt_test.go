package transport

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAttemptHasItsHeadersAndTheCookiesOfTheJarAlone(t *testing.T) {
	for _, noCache := range []bool{false, true} {
		var sent http.Header
		link := attemptLink{tripFunc(func(req *http.Request) (*http.Response, error) { sent = req.Header; return respond(200), nil }),
			Header("the-key", "agent"), time.Minute, 1000, slog.New(slog.DiscardHandler)}
		r := &Record{Request: request(http.MethodGet)}
		r.NoCache = noCache
		req, _ := http.NewRequestWithContext(context.WithValue(t.Context(), recordKey{}, r), http.MethodGet, "https://game.test/", nil)
		req.Header = http.Header{"Cookie": {"a=1"}, "X-Earlier": {"1"}}
		if _, err := link.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		want := http.Header{"X-Api-Key": {"the-key"}, "User-Agent": {"agent"}, "Content-Type": {"application/json"}, "Accept": {"application/json"}, "Cookie": {"a=1"}}
		if noCache {
			want.Set("Cache-Control", "no-cache")
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Error(diff)
		}
	}
}

// Not every RoundTripper returns the error of the context.
func TestAttemptErrorIsThatOfTheTimeLimitOrTheContext(t *testing.T) {
	for name, test := range map[string]struct {
		limit, end time.Duration
		is, isNot  error
	}{
		"the time limit": {time.Second, time.Minute, context.DeadlineExceeded, context.Canceled},
		"the context":    {time.Minute, time.Second, context.Canceled, ErrAttemptTimeout},
		"neither":        {time.Minute, time.Hour, errReset, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(test.end, cancel)
			hangs := tripFunc(func(req *http.Request) (*http.Response, error) {
				select {
				case <-req.Context().Done():
				case <-time.After(30 * time.Second):
				}
				return nil, errReset
			})
			r, err := pass(ctx, attemptLink{hangs, Header("the-key", "agent"), test.limit, 1000, slog.New(slog.DiscardHandler)}, http.MethodGet)
			if !errors.Is(err, test.is) || errors.Is(err, test.isNot) || errors.Is(err, ErrAttemptTimeout) != (test.limit == time.Second) || r.Err != err {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
