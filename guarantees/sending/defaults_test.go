package sending_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// What is documented for those who set nothing.

func TestByDefaultAnAttemptEndsAfterThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		started := time.Now()
		_, err := s.Client(t, double.NoRetries()).Races.Open(t.Context())
		if took := time.Since(started); took != 30*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestByDefaultAReadHasFourAttemptsWithShortWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var longest [3]time.Duration
		for range 100 {
			s := double.Play(double.Respond(503, ""))
			if _, err := s.Client(t).Races.Open(t.Context()); !errors.Is(err, horseracing.ErrServer) {
				t.Fatalf("got %v", err)
			}
			waits := s.Waits()
			if len(waits) != len(longest) {
				t.Fatalf("%d requests", len(waits)+1)
			}
			for i, wait := range waits {
				longest[i] = max(longest[i], wait)
			}
		}
		for i, want := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond} {
			if longest[i] > want || longest[i] < want*8/10 {
				t.Errorf("of a hundred waits before retry %d the longest was %v, want up to %v", i+1, longest[i], want)
			}
		}
	})
}

func TestByDefaultARetryAfterIsHonouredUpToFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, requests := range map[string]int{"15": 2, "16": 1} {
			s := double.Play(double.Respond(429, "", "Retry-After: "+wait), double.Respond(200, "[]"))
			_, err := s.Client(t).Races.Open(t.Context())
			if n := len(s.Requests()); n != requests || (err == nil) != (requests == 2) {
				t.Errorf("Retry-After: %s: %d requests, then %v", wait, n, err)
			}
		}
	})
}

func TestByDefaultAResponseHasEightMebibytes(t *testing.T) {
	const limit = 8 << 20
	for length, tooLarge := range map[int64]bool{limit: false, limit + 1: true} {
		s := double.Play(double.Stream(200, length, func() io.Reader { return io.LimitReader(double.Endless(" "), length) }))
		_, err := s.Client(t).Races.Open(t.Context())
		if errors.Is(err, horseracing.ErrResponseTooLarge) != tooLarge || err == nil {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

func TestByDefaultFollowPollsTwiceAMinuteAndLooksBackAnHour(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var came []horseracing.RaceID
		fake.AddRaces(double.Finished(1, -10*time.Minute)...)
		for race, err := range fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-3 * time.Hour)}).All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if came = append(came, race.MainRaceID); len(came) == 1 {
				fake.AddRaces(double.Finished(2, -10*time.Minute-59*time.Minute, -10*time.Minute-61*time.Minute)...)
			}
		}
		if len(came) != 2 || came[1] != 2 {
			t.Errorf("races %v came, want 1 and the one that started 59 minutes before it", came)
		}
		if n := fake.RequestCount(); n < 120 || n > 140 {
			t.Errorf("%d requests in an hour", n)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestByDefaultWatchOpenPollsFourTimesAMinute(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for _, err := range fake.Client().Races.WatchOpen(ctx, horseracing.WatchQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := fake.RequestCount(); n < 240 || n > 270 {
			t.Errorf("%d requests in an hour", n)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
