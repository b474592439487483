package horseracing

import (
	"context"
	"errors"
	"math"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// What callers do by mistake with a pager ends in an error, never in a hang.

func TestAPagerIsRangedOverByOneLoopAtATime(t *testing.T) {
	w := dense(200, 60_000)
	for _, concurrency := range []int{1, 4} {
		p := w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency})
		n := 0
		for _, err := range p.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 15 {
				if _, err := p.Take(t.Context(), 15); !errors.Is(err, ErrInvalidArgument) {
					t.Errorf("at %d: %v", concurrency, err)
				}
			}
		}
		if n != 200 {
			t.Errorf("at %d: %d entries", concurrency, n)
		}
	}
}

func TestAPagerWithoutAContextSaysSo(t *testing.T) {
	var forgotten context.Context
	if _, err := dense(20, 60_000).client(t).Races.Results(ResultsQuery{}).Take(forgotten, 5); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestConcurrencyHasItsBounds(t *testing.T) {
	c := dense(20, 60_000).client(t)
	for _, concurrency := range []int{-1, maxConcurrency + 1, math.MaxInt} {
		if _, err := c.Races.Results(ResultsQuery{Concurrency: concurrency}).Take(t.Context(), 0); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("by time, %d: %v", concurrency, err)
		}
		if _, err := c.Races.ResultsV1(OffsetQuery{Concurrency: concurrency}).Take(t.Context(), 5); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("by offset, %d: %v", concurrency, err)
		}
	}
	if got, err := c.Races.Results(ResultsQuery{Concurrency: maxConcurrency}).Take(t.Context(), 30); err != nil || len(got) != 20 {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

// A program that saves the cursor whatever happened must not lose its place.
func TestTheCursorOfAnInvalidQueryIsItsResume(t *testing.T) {
	c := dense(50, 60_000).client(t)
	p := c.Races.Results(ResultsQuery{})
	if _, err := p.Take(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	saved := p.Cursor()
	p = c.Races.Results(ResultsQuery{Resume: saved, Concurrency: -1})
	if _, err := p.Take(t.Context(), 5); err == nil || p.Cursor().String() != saved.String() {
		t.Errorf("%v, and the cursor %q instead of %q", err, p.Cursor(), saved)
	}
}

// A handler may end its goroutine (as t.Fatal does) or panic.
func TestAPagerDoesNotHangWhereTheCallersCodeEndsItsGoroutine(t *testing.T) {
	w := dense(50, 60_000) // its races lack most members, which the handler is told
	for _, concurrency := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			c := w.client(t, WithDriftHandler(func(context.Context, Drift) { runtime.Goexit() }))
			done := make(chan error, 1)
			go func() {
				var err error = errBroken // where Take does not return
				defer func() { done <- err }()
				_, err = c.Races.Results(ResultsQuery{Concurrency: concurrency}).Take(t.Context(), 20)
			}()
			if err := <-done; concurrency == 1 && !errors.Is(err, errBroken) || concurrency > 1 && !errors.Is(err, errAborted) {
				t.Errorf("at %d: %v", concurrency, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := w.client(t, WithHTTPClient(&http.Client{Transport: panicking{}}))
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_, _ = c.Races.Results(ResultsQuery{}).Take(t.Context(), 20)
	})
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("by the caller's own") }

func TestAnIntervalOfAnyLengthIsWaitedFor(t *testing.T) {
	p := pollSchedule{interval: math.MaxInt64}
	for range 10 {
		if wait := p.delay(errBroken); wait < math.MaxInt64/2 {
			t.Fatalf("waits %v", wait)
		}
	}
	p = pollSchedule{interval: time.Second}
	for range 70 {
		if wait := p.delay(errBroken); wait <= 0 || wait > longestBackoff {
			t.Fatalf("waits %v", wait)
		}
	}
}

func TestManyRacesOnTheNewestInstantAreNoIgnoredBody(t *testing.T) {
	w := &world{}
	for range 200 {
		w.starts = append(w.starts, 1_700_000_000_000)
	}
	for i := range int64(20) {
		w.starts = append(w.starts, 1_699_999_000_000-i)
	}
	w.numbered()
	for _, concurrency := range []int{1, 4} {
		if got := collect(t, w.client(t).Races.ResultsV1(OffsetQuery{Concurrency: concurrency}), never); len(got) != 220 {
			t.Errorf("at %d: %d of 220 races", concurrency, len(got))
		}
	}
}
