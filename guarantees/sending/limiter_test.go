package sending_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestEveryAttemptTakesAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := 0
		s := double.Play(double.Respond(503, ""))
		s.Client(t, horseracing.WithLimiter(double.WaitFunc(func(context.Context) error { got++; return nil }))).Races.Open(t.Context())
		if got != 4 || len(s.Requests()) != 4 {
			t.Errorf("%d tokens for %d requests", got, len(s.Requests()))
		}
	})
}

func TestAnErrorOfTheLimiterEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, call := range map[string]func(context.Context, *horseracing.Client) error{"a read": double.OpenRaces, "a registration": double.Register} {
			s := double.Play(double.Respond(429, ""))
			failing := double.WaitFunc(failAfter(1, func(context.Context) error { return double.ErrReset }))
			err := call(t.Context(), s.Client(t, horseracing.WithLimiter(failing)))
			if !errors.Is(err, double.ErrReset) || errors.Is(err, horseracing.ErrOutcomeUnknown) || len(s.Requests()) != 1 {
				t.Errorf("%s: %d requests, %v", name, len(s.Requests()), err)
			}
		}
	})
}

// The limiter may let a call wait for longer than an attempt may take.
func TestWaitingForTheLimiterIsNoPartOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := double.Play(double.Respond(200, "[]")).Client(t, horseracing.WithRateLimit(0.01, 1), horseracing.WithAttemptTimeout(time.Second))
		for range 3 {
			if _, err := c.Races.Open(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTheRateLimitSpacesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(200, "[]"))
		c := s.Client(t, horseracing.WithRateLimit(2, 3))
		for range 7 {
			if _, err := c.Races.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		const gap = 500 * time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 0, gap, gap, gap, gap}, s.Waits()); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		ctx, cancel := context.WithTimeout(t.Context(), gap/2)
		defer cancel()
		if _, err := c.Races.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no token in time: got %v", err)
		}
	})
}

func TestALimiterThatPanicsCostsNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := 0
		s := double.Play(double.Respond(200, "[]"))
		c := s.Client(t, horseracing.WithLimiter(double.WaitFunc(func(context.Context) error {
			if waits++; waits <= 10 {
				panic("limiter")
			}
			return nil
		})))
		for range 10 {
			func() {
				defer func() { recover() }()
				double.OpenRaces(t.Context(), c)
			}()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := double.OpenRaces(ctx, c); err != nil || len(s.Requests()) != 1 || c.Pace().Waiting != 0 {
			t.Errorf("%v after %d requests, %+v", err, len(s.Requests()), c.Pace())
		}
	})
}

// quitter is a limiter whose third Wait ends the goroutine that calls it.
type quitter struct{ calls atomic.Int32 }

func (q *quitter) Wait(context.Context) error {
	if q.calls.Add(1) == 3 {
		runtime.Goexit()
	}
	return nil
}

func TestALimiterThatEndsItsGoroutineCostsOneCall(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	client := fake.Client(horseracing.WithLimiter(new(quitter)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results, failures := client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}), 0
	for range 2 {
		for _, err := range results.All(ctx) {
			if err != nil {
				failures++
			}
		}
	}
	if failures != 1 || ctx.Err() != nil {
		t.Errorf("%d failures, %v", failures, ctx.Err())
	}
}
