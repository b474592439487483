package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestAWaitIsReportedAfterFiveSecondsOnceAMinuteAndAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		p := &program{name: "horseracing", stderr: &screen}
		w := &waits{p: p}
		var status int
		var took time.Duration
		wire := w.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
			time.Sleep(took)
			if status == 0 {
				return nil, errors.New("connection refused")
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"30"}}}, nil
		}))
		send := func(code int, after time.Duration) {
			status, took = code, after
			req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://game.test/", nil)
			_, _ = wire.RoundTrip(req)
		}
		send(200, 4*time.Second) // soon enough
		time.Sleep(time.Hour)    // nothing is waited for
		send(429, 0)
		time.Sleep(70 * time.Second)
		send(0, 0)
		time.Sleep(56 * time.Second)
		send(200, 0)
		send(200, 10*time.Second)
		w.close()
		want := `horseracing: waiting for the service since 01:00:04 (UTC): it refuses requests with status 429, Retry-After 30
horseracing: waiting for the service since 01:00:04 (UTC): it refuses requests with status 429, Retry-After 30
horseracing: waiting for the service since 01:00:04 (UTC): it does not respond
horseracing: the service responds again
horseracing: waiting for the service since 01:02:10 (UTC): it has not responded yet
horseracing: the service responds again
`
		if diff := cmp.Diff(want, screen.String()); diff != "" {
			t.Error(diff)
		}
	})
}
