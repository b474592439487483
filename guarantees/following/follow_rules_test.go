package following_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// CatchUp yields the error of its context, as a Pager does: who sets a deadline must not take
// a refusal for a listing without news.
func TestCatchUpYieldsTheErrorOfItsContext(t *testing.T) {
	refused := horseracingtest.Fault{Path: double.ResultsPath, Times: -1, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"600"}}}
	for name, test := range map[string]struct {
		fault  horseracingtest.Fault
		cancel int // after so many races
		want   error
	}{
		"while the service refuses":   {refused, 0, context.DeadlineExceeded},
		"while the caller is at work": {horseracingtest.Fault{}, 3, context.Canceled},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 1, 5, time.Minute)
			if test.fault.Status > 0 {
				fake.Inject(test.fault)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			races, errs := 0, []error(nil)
			for race, err := range fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}).CatchUp(ctx) {
				if race == nil {
					errs = append(errs, err)
				} else if races++; races == test.cancel {
					cancel()
				}
			}
			if races != test.cancel || len(errs) != 1 || !errors.Is(errs[0], test.want) {
				t.Errorf("%d races, errors %v", races, errs)
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// A race without a result is held back by when the follower first read it: the Date of the
// responses may be off by hours.
func TestAWrongDateReleasesNoRace(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, 2 * time.Hour, -150 * time.Minute, -5 * time.Hour} {
		double.RunBubble(t, off.String(), func(t *testing.T, fake *horseracingtest.Server) {
			client := fake.Client(double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(req)
				if err == nil {
					resp.Header.Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
				}
				return resp, err
			}))
			all, without := 0, 0
			for race, err := range client.Races.Follow(horseracing.FollowQuery{}).All(double.Within(t, 6*time.Hour)) {
				if err == nil {
					if all++; !race.Finished() {
						without++
					}
				}
			}
			if all < 30 || without > 0 {
				t.Errorf("%d of %d races without a final order", without, all)
			}
		}, horseracingtest.WithReadings(horseracingtest.Readings{EarlyResults: true}))
	}
}

// A page that fails for one process after another stops no CatchUp for long: each yields what
// is older, as far as its windows reach, and then the error.
func TestCatchUpYieldsWhatIsOlderThanABrokenPage(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 1, 1000, time.Minute)
		client, repair := damaged(fake, replaced(`(?s)"main_race_id":700,.*`, ``))
		query, f := horseracing.FollowQuery{Since: time.Now().Add(-24 * time.Hour)}, followed{isOnePoll: true}
		for range 20 {
			f.run(t, client, query, time.Hour)
		}
		t.Logf("%d of the 699 older races, %d errors", len(f.times), len(f.errors))
		if len(f.times) < 400 || f.times[701] > 0 || len(f.errors) != 20 {
			t.Errorf("%d races, %d errors", len(f.times), len(f.errors))
		}
		repair()
		f.run(t, client, query, time.Hour)
		double.Equal(t, "races", once(1, 1000), f.times)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowerJSONIsTheRaceAsItWasReceived(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithReadings(horseracingtest.Readings{Members: map[string]string{"info": `{"weather":"rain"}`}}))
	defer fake.Close()
	f, n := fake.Client().Races.Follow(horseracing.FollowQuery{Since: fake.Now().Add(-24 * time.Hour)}), 0
	for race, err := range f.CatchUp(t.Context()) {
		var got struct {
			ID   horseracing.RaceID `json:"main_race_id"`
			Info struct{ Weather string }
		}
		if err := errors.Join(err, json.Unmarshal(f.JSON(), &got)); err != nil || got.ID != race.MainRaceID || got.Info.Weather != "rain" {
			t.Fatalf("%v: %s", err, f.JSON())
		}
		n++
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range f.CatchUp(canceled) {
		if f.JSON() != nil {
			t.Errorf("with the error %v: %s", err, f.JSON())
		}
	}
	if n < 10 {
		t.Errorf("%d races", n)
	}
}
