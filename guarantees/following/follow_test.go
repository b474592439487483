package following_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// take follows until n races have come, and fails on any error.
func take(t *testing.T, c *horseracing.Client, q horseracing.FollowQuery, n int) (ids []horseracing.RaceID) {
	t.Helper()
	for r, err := range c.Races.Follow(q).All(double.ADay(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, r.MainRaceID); len(ids) == n {
			return ids
		}
	}
	t.Fatalf("races %v came, want %d", ids, n)
	return nil
}

func TestFollowYieldsAFailedPollAndBacksOff(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusInternalServerError, Times: 8})
		since := time.Now()
		go func() {
			time.Sleep(5 * time.Minute)
			fake.AddRaces(double.Finished(1, 0)...)
		}()
		var failures []time.Time
		for r, err := range fake.Client(double.NoRetries()).Races.Follow(horseracing.FollowQuery{Since: since, Interval: 10 * time.Second}).All(double.ADay(t)) {
			if err == nil {
				if r.MainRaceID != 1 {
					t.Errorf("race %d", r.MainRaceID)
				}
				break
			}
			if r != nil || !errors.Is(err, horseracing.ErrServer) {
				t.Fatalf("race %v, error %v", r, err)
			}
			failures = append(failures, time.Now())
		}
		if len(failures) != 8 {
			t.Fatalf("%d failures", len(failures))
		}
		longest := 10 * time.Second
		for i := 1; i < len(failures); i++ {
			if wait := failures[i].Sub(failures[i-1]); wait > longest || wait < longest*9/10 {
				t.Errorf("wait %d was %v, want up to a tenth less than %v", i, wait, longest)
			}
			longest = min(2*longest, 5*time.Minute)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// TestFollowWaitsOutARetryAfterOfUpToAnHour: a longer one is yielded at once.
func TestFollowWaitsOutARetryAfterOfUpToAnHour(t *testing.T) {
	for header, want := range map[string]time.Duration{"600": 10 * time.Minute, "3600": time.Hour, "9223372036": time.Hour} {
		double.RunBubble(t, header, func(t *testing.T, fake *horseracingtest.Server) {
			fake.AddRaces(double.Finished(1, -time.Minute, -2*time.Hour)...)
			fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {header}}})
			started := time.Now()
			for _, err := range fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}).All(double.ADay(t)) {
				if err != nil {
					t.Errorf("got %v", err)
				}
				break
			}
			if wait := time.Since(started); wait != want {
				t.Errorf("waited %v, want %v", wait, want)
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

func TestFollowReportsATieOnceAndContinues(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range horseracing.RaceID(14) {
			fake.AddRaces(double.Finished(100+i, -10*time.Minute)...)
		}
		fake.AddRaces(double.Finished(1, -20*time.Minute, -5*time.Minute)...)
		ctx := double.Within(t, 10*time.Minute)
		ties, races := 0, map[horseracing.RaceID]int{}
		for r, err := range fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}).All(ctx) {
			if tie, ok := errors.AsType[*horseracing.TieOverflowError](err); ok && tie.Seen == 10 {
				ties++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			races[r.MainRaceID]++
		}
		if ties != 1 || len(races) != 12 || races[1] != 1 || races[2] != 1 {
			t.Errorf("%d ties, races %v", ties, races)
		}
		if polls := fake.RequestCount(); polls < 20 {
			t.Errorf("only %d requests: the tie was not met again", polls)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowEndsWithItsContextAtOnceAndWithoutAnError(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx := double.Within(t, 20*time.Second)
		began := time.Now()
		for r, err := range fake.Client().Races.Follow(horseracing.FollowQuery{}).All(ctx) {
			t.Errorf("race %v, error %v", r, err)
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("ended after %v", took)
		}
	}, horseracingtest.WithLatency(time.Minute), horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowFromNowCanBeStoppedBeforeTheFirstRace(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(double.Finished(1, -10*time.Minute)...)
		f := fake.Client().Races.Follow(horseracing.FollowQuery{})
		if !f.Cursor().IsZero() {
			t.Error("a cursor before the first poll")
		}
		ctx := double.Within(t, time.Minute)
		for race, err := range f.All(ctx) {
			t.Errorf("race %v, error %v", race, err)
		}
		fake.AddRaces(double.Finished(2, -time.Second)...)
		if got := take(t, fake.Client(), horseracing.FollowQuery{Resume: f.Cursor()}, 1); got[0] != 2 {
			t.Errorf("races %v", got)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowLosesNoRaceIfItsContextEndsWhileTheCallerIsAtWork(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(double.Finished(1, -9*time.Minute, -7*time.Minute, -5*time.Minute)...)
		query := horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}
		for id := horseracing.RaceID(1); id <= 3; id++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			follower := fake.Client().Races.Follow(query)
			for race, err := range follower.All(ctx) {
				if err != nil || race.MainRaceID != id {
					t.Errorf("race %v, error %v, want race %d", race, err, id)
				}
				cancel()
			}
			cancel()
			query.Resume = follower.Cursor()
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
