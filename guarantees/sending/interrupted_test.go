package sending_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// The error of a call that is interrupted between two attempts holds the failure
// of the last one, and counts the requests that were sent.
func TestAnErrorCountsWhatWasSentAndNamesTheLastFailure(t *testing.T) {
	failing := func(context.Context) error { return errors.New("no tokens today") }
	for name, test := range map[string]struct {
		steps    []double.Step
		opts     []horseracing.Option
		attempts int
		text     string
	}{
		"a limiter that fails at once": {
			[]double.Step{double.Respond(200, "[]")}, []horseracing.Option{horseracing.WithLimiter(double.WaitFunc(failing))},
			0, "waiting for the limiter: no tokens today",
		},
		"out of time in line": {
			[]double.Step{double.Respond(200, "[]")}, []horseracing.Option{horseracing.WithLimiter(double.WaitFunc(hang))},
			0, "context deadline exceeded",
		},
		"out of time in line for a retry": {
			[]double.Step{double.Respond(503, "")}, []horseracing.Option{horseracing.WithLimiter(double.WaitFunc(failAfter(2, hang)))},
			2, "context deadline exceeded after status 503 (after 2 attempts)",
		},
		"a limiter that fails for a retry": {
			[]double.Step{double.Broken(double.ErrReset)}, []horseracing.Option{horseracing.WithLimiter(double.WaitFunc(failAfter(1, failing)))},
			1, "waiting for the limiter: no tokens today after: connection reset by peer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s := double.Play(test.steps...)
				var response horseracing.Response
				_, err := s.Client(t, test.opts...).Races.Open(ctx, horseracing.CaptureResponse(&response))
				var transport *horseracing.TransportError
				if !errors.As(err, &transport) || !strings.Contains(err.Error(), test.text) {
					t.Fatalf("got  %v\nwant %s", err, test.text)
				}
				if transport.Attempts != test.attempts || response.Attempts != test.attempts || len(s.Requests()) != test.attempts {
					t.Errorf("%d and %d attempts, %d requests", transport.Attempts, response.Attempts, len(s.Requests()))
				}
			})
		})
	}
}

// A context that ends between two attempts ends the call, whoever notices.
func TestAContextThatEndsBetweenTwoAttemptsEndsTheCall(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		atRetry := slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
			if bytes.Contains(line, []byte("horseracing: retry")) {
				cancel()
			}
			return len(line), nil
		}), nil))
		s := double.Play(double.Respond(503, ""))
		_, err := s.Client(t, horseracing.WithLogger(atRetry)).Races.Open(ctx)
		if want := "GET /api/v1/races/open: context canceled after status 503"; !errors.Is(err, context.Canceled) || err.Error() != want || len(s.Requests()) != 1 {
			t.Fatalf("%d requests\ngot  %v\nwant %s", len(s.Requests()), err, want)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// failAfter lets some requests go before it does what then does.
func failAfter(waits int, then func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if waits--; waits >= 0 {
			return nil
		}
		return then(ctx)
	}
}
