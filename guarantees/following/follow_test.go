package following_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// Each wait is up to a tenth less than twice the one before.
func TestFollowYieldsAFailedPollAndBacksOff(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusInternalServerError, Times: 8})
		fake.AddRaces(double.Finished(1, -time.Minute)...)
		last, longest, failures := time.Time{}, 10*time.Second, 0
		for r, err := range fake.Client(double.NoRetries()).Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour), Interval: longest}).All(double.Within(t, 24*time.Hour)) {
			if err == nil {
				break
			}
			wait := time.Since(last)
			if failures++; r != nil || !errors.Is(err, horseracing.ErrServer) || failures > 1 && (wait > longest || wait < longest*9/10) {
				t.Errorf("failure %d is %v, after %v, want %v", failures, err, wait, longest)
			}
			if last = time.Now(); failures > 1 {
				longest = min(2*longest, 5*time.Minute)
			}
		}
		double.Equal(t, "failures", 8, failures)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// The first poll reads the newest page again each time, which does not end the backoff.
func TestAFirstPollBacksOffWhileItsSecondPageFails(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 1, 30, 5*time.Minute)
		client, _ := damaged(fake, replaced(`(?s)"main_race_id":19,.*`, ``))
		var f followed
		f.run(t, client, horseracing.FollowQuery{}, 2*time.Hour)
		if n := len(f.errors); n < 24 || n > 32 { // one each five minutes, and some before
			t.Errorf("%d errors within two hours", n)
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
			for _, err := range fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}).All(double.Within(t, 24*time.Hour)) {
				if err != nil {
					t.Errorf("got %v", err)
				}
				break
			}
			double.Equal(t, "wait", want, time.Since(started))
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

func TestFollowReportsATieOnceAndContinues(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range horseracing.RaceID(14) {
			fake.AddRaces(double.Finished(100+i, -10*time.Minute)...)
		}
		fake.AddRaces(double.Finished(1, -20*time.Minute, -5*time.Minute)...)
		var f followed
		f.run(t, fake.Client(), horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}, 10*time.Minute)
		tie, _ := errors.AsType[*horseracing.TieOverflowError](errors.Join(f.errors...))
		if len(f.errors) != 1 || tie == nil || tie.Seen != 10 || len(f.times) != 12 || f.times[1] != 1 || f.times[2] != 1 {
			t.Errorf("errors %q, races %v", f.errors, f.times)
		}
		if n := fake.RequestCount(); n < 20 {
			t.Errorf("only %d requests: the tie was not met again", n)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowAndWatchEndWithTheirContextAtOnceAndWithoutAnError(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		began, races := time.Now(), fake.Client().Races
		for r, err := range races.Follow(horseracing.FollowQuery{}).All(double.Within(t, 20*time.Second)) {
			t.Errorf("race %v, error %v", r, err)
		}
		for s, err := range races.Watch(double.Within(t, 20*time.Second), horseracing.WatchQuery{}) {
			t.Errorf("snapshot %v, error %v", s, err)
		}
		double.Equal(t, "time", 40*time.Second, time.Since(began))
	}, horseracingtest.WithLatency(time.Minute), horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// Tournaments take longer than races, and their ids are texts: one that finishes late is
// found a day after its start, also after a restart.
func TestFollowLooksBackADayForTournaments(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		cup := func(id string, ago time.Duration) horseracing.Tournament {
			return horseracing.Tournament{ID: horseracing.TournamentID(id), StartTime: horseracing.NewTimestamp(time.Now().Add(-ago)), Status: 2}
		}
		fake.AddTournaments(cup("n.e_w é", 10*time.Minute))
		query := horseracing.FollowQuery{Since: time.Now().AddDate(0, 0, -3)}
		var ids []horseracing.TournamentID
		for range 2 {
			follower := fake.Client().Tournaments.Follow(query)
			for tournament, err := range follower.CatchUp(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, tournament.ID)
			}
			query.Resume = follower.Cursor()
			fake.AddTournaments(cup("late", 24*time.Hour), cup("too late", 25*time.Hour))
		}
		double.Equal(t, "tournaments", []horseracing.TournamentID{"n.e_w é", "late"}, ids)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
