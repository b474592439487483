package following_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
		"with the last race":          {horseracingtest.Fault{}, 5, nil},
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
			if races != test.cancel || !errors.Is(errors.Join(errs...), test.want) || len(errs) > 1 {
				t.Errorf("%d races, errors %v", races, errs)
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// A race waits for its result whatever the Date of the responses is, and a poll needs few requests.
func TestAWrongDateReleasesNoRace(t *testing.T) {
	hours := double.Worlds(6, 6, 2)
	for _, off := range []time.Duration{2 * time.Hour, -150 * time.Minute, 0, time.Hour, -24 * time.Hour}[:double.Worlds(5, 5, 2)] {
		double.RunBubble(t, off.String(), func(t *testing.T, fake *horseracingtest.Server) {
			client := fake.Client(double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(req)
				if err == nil {
					resp.Header.Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
				}
				return resp, err
			}))
			without, polls := 0, 60*hours
			f := followed{yielded: func(r *horseracing.Race) {
				if !r.Finished() {
					without++
				}
			}}
			f.run(t, client, horseracing.FollowQuery{Interval: time.Minute}, time.Duration(hours)*time.Hour)
			if len(f.times) < 5*hours || without > 0 || fake.RequestCount() > 5*polls {
				t.Errorf("%d of %d races without a final order, %d requests of %d polls", without, len(f.times), fake.RequestCount(), polls)
			}
		}, horseracingtest.WithReadings(horseracingtest.Readings{EarlyResults: true}))
	}
}

// What is listed after a first poll of an empty listing is new, whatever the local clock shows.
func TestAfterAnEmptyListingEveryRaceIsNew(t *testing.T) {
	for _, ahead := range []time.Duration{0, 2 * time.Hour, -48 * time.Hour} {
		double.RunBubble(t, ahead.String(), func(t *testing.T, fake *horseracingtest.Server) {
			var f followed
			for i := range horseracing.RaceID(6) {
				f.isOnePoll = i%2 == 0
				f.run(t, fake.Client(), horseracing.FollowQuery{}, 10*time.Minute)
				fake.AddRaces(double.Finished(1+i, -ahead-time.Minute)...)
			}
			if f.run(t, fake.Client(), horseracing.FollowQuery{}, 10*time.Minute); len(f.errors) > 0 {
				t.Errorf("errors %q", f.errors)
			}
			double.Equal(t, "races", once(1, 6), f.times)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0), horseracingtest.WithClock(func() time.Time { return time.Now().Add(-ahead) }))
	}
}

// A race every 90 minutes is listed at its start, and has its result ten minutes later. It comes
// with it, also if the listing shows no other race that has one.
func TestARaceComesWithItsResultHoweverItsFollowerRuns(t *testing.T) {
	races := double.Worlds(12, 12, 5)
	for name, test := range map[string]struct {
		query    horseracing.FollowQuery
		restarts time.Duration // 0: one process
		isCron   bool          // each process is a CatchUp, and the next one starts a minute later
		empty    time.Duration // every list is empty for that long, from the third race on
	}{
		"resumed every five minutes":       {restarts: 5 * time.Minute, query: horseracing.FollowQuery{Since: time.UnixMilli(1)}},
		"CatchUp by cron":                  {isCron: true, query: horseracing.FollowQuery{Since: time.UnixMilli(1)}},
		"from the first poll on":           {},
		"from the first poll on, by cron":  {isCron: true},
		"from now on":                      {query: horseracing.FollowQuery{Since: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"after two hours of empty lists":   {query: horseracing.FollowQuery{Since: time.UnixMilli(1)}, empty: 2 * time.Hour},
		"the same, resumed each half hour": {query: horseracing.FollowQuery{Since: time.UnixMilli(1)}, empty: 2 * time.Hour, restarts: 30 * time.Minute},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			end := time.Now().Add(time.Duration(races+1) * 90 * time.Minute)
			test.query.Interval = 2 * time.Minute
			for i := range races {
				time.AfterFunc(time.Duration(i)*90*time.Minute, func() { // the first one is listed at the first poll
					race := double.Finished(horseracing.RaceID(i+1), 0)[0]
					early := race
					early.FinalOrder, early.Winners = nil, nil
					fake.AddRaces(early)
					time.AfterFunc(10*time.Minute, func() { fake.AddRaces(race) })
					if i == 3 && test.empty > 0 {
						fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusOK, Body: "[]", Times: -1})
						time.AfterFunc(test.empty, fake.ClearFaults)
					}
				})
			}
			time.Sleep(time.Minute)
			f := followed{isOnePoll: test.isCron, yielded: func(r *horseracing.Race) {
				if !r.Finished() {
					t.Errorf("race %d came without its result", r.MainRaceID)
				}
			}}
			for time.Now().Before(end) {
				within := time.Until(end)
				if test.restarts > 0 {
					within = test.restarts
				}
				f.run(t, fake.Client(), test.query, within)
				time.Sleep(time.Minute)
			}
			double.Equal(t, "races", once(1, horseracing.RaceID(races)), f.times)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// A race that nobody entered has no result, and does not wait for one.
func TestARaceThatNobodyEnteredIsNotHeldBack(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		race := double.Finished(1, -time.Minute)[0]
		race.Participants, race.FinalOrder, race.Winners = nil, nil, nil
		fake.AddRaces(race)
		f := followed{isOnePoll: true}
		f.run(t, fake.Client(), horseracing.FollowQuery{Since: time.UnixMilli(1)}, time.Hour)
		double.Equal(t, "races", once(1, 1), f.times)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// Each failure of a page is yielded, wherever in a poll it is, and nothing is lost.
func TestEachFailureOfAPageIsYielded(t *testing.T) {
	for skip := 0; skip < 16; skip += double.Worlds(1, 1, 5) {
		double.RunBubble(t, fmt.Sprint("after ", skip), func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 1, 80, time.Minute)
			fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadRequest, Skip: skip, Times: 2})
			var f followed
			f.run(t, fake.Client(), horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour), Interval: 2 * time.Minute}, time.Hour)
			double.Equal(t, "races", once(1, 80), f.times)
			double.Equal(t, "errors", 2, len(f.errors))
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// Races come in order, also if some lack their results, and the newest page fails at first.
func TestAnOutageAtTheBeginningOfAPollKeepsTheOrder(t *testing.T) {
	for _, failures := range []int{0, 5, 20} {
		double.RunBubble(t, fmt.Sprint(failures), func(t *testing.T, fake *horseracingtest.Server) {
			for i, race := range double.Finished(1, -3*time.Hour, -160*time.Minute, -2*time.Hour) {
				if race.StartTime.Time = race.StartTime.Add(time.Duration(i)); i == 1 {
					race.FinalOrder, race.Winners = nil, nil
				}
				fake.AddRaces(race)
			}
			addRaces(fake, 4, 63, time.Minute)
			fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadGateway, Times: failures})
			var ids []horseracing.RaceID
			for race, err := range fake.Client(double.NoRetries()).Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-12 * time.Hour), Interval: 2 * time.Minute}).All(double.Within(t, 3*time.Hour)) {
				if err == nil {
					ids = append(ids, race.MainRaceID)
				}
			}
			if len(ids) != 63 || !slices.IsSorted(ids) {
				t.Errorf("%d races, in the order %v", len(ids), ids)
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
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

// A follower remembers from poll to poll how far down the listing was shown.
func TestAnEmptyPageAboveWhatAFollowerHasSeenIsAnError(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 1, 100, time.Minute)
		f := fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1), Lookback: 24 * time.Hour})
		for i, removed := range []horseracing.RaceID{0, 70} {
			for id := range removed {
				fake.RemoveRaces(id + 1)
			}
			errs := 0
			for _, err := range f.CatchUp(t.Context()) {
				if err != nil {
					errs++
				}
			}
			double.Equal(t, "errors", i, errs)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
