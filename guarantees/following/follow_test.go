package following_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
				double.Error(t, "the first entry", nil, "", err)
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
		double.FailIf(t, len(f.errors) != 1 || tie == nil || tie.Seen != 10 || len(f.times) != 12 || f.times[1] != 1 || f.times[2] != 1, "errors %q, races %v", f.errors, f.times)
		n := fake.RequestCount()
		double.FailIf(t, n < 20, "only %d requests: the tie was not met again", n)
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
			for tournament := range double.Each(t, follower.CatchUp(t.Context())) {
				ids = append(ids, tournament.ID)
			}
			query.Resume = follower.Cursor()
			fake.AddTournaments(cup("late", 24*time.Hour), cup("too late", 25*time.Hour))
		}
		double.Equal(t, "tournaments", []horseracing.TournamentID{"n.e_w é", "late"}, ids)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// CatchUp yields the error of its context, as a Pager does: who sets a deadline must not take
// a refusal for a listing without news. It also ends with the error of an entry.
// The JSON is that of the entry, and nil with another error.
func TestCatchUpYieldsTheErrorOfItsContext(t *testing.T) {
	refused := []horseracingtest.Fault{{Path: double.ResultsPath, Times: -1, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"600"}}}}
	for name, test := range map[string]struct {
		faults []horseracingtest.Fault
		damage int // the race that cannot be read
		races  int // after these the context is canceled, unless a race cannot be read
		want   string
	}{
		"while the service refuses":   {refused, 0, 0, "context deadline exceeded"},
		"while the caller is at work": {nil, 0, 3, "context canceled"},
		"with the last race":          {nil, 0, 5, "<nil>"},
		"at an unreadable race":       {nil, 3, 2, "entry_fee"},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 1, 5, time.Minute)
			fake.Inject(test.faults...)
			change := unreadable(test.damage)
			client := fake.Client(rewritten(func(_, body []byte) []byte { return change(body) }))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			races, errs := 0, []error(nil)
			follower := client.Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)})
			for race, err := range follower.CatchUp(ctx) {
				text := string(follower.JSON())
				if (text == "") != (race == nil && test.damage == 0) || race != nil && !strings.Contains(text, fmt.Sprintf(`"main_race_id":%d,`, race.MainRaceID)) {
					t.Errorf("with race %v, error %v: JSON %s", race, err, text)
				}
				if race == nil {
					errs = append(errs, err)
				} else if races++; races == test.races && test.damage == 0 {
					cancel()
				}
			}
			double.FailIf(t, races != test.races || !strings.Contains(fmt.Sprint(errors.Join(errs...)), test.want) || len(errs) > 1, "%d races, errors %v", races, errs)
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
			f.run(t, fake.Client(), horseracing.FollowQuery{}, 10*time.Minute)
			double.Equal(t, "errors", 0, len(f.errors))
			double.Equal(t, "races", once(1, 6), f.times)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0), horseracingtest.WithClock(func() time.Time { return time.Now().Add(-ahead) }))
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
			double.FailIf(t, len(ids) != 63 || !slices.IsSorted(ids), "%d races, in the order %v", len(ids), ids)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
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

// A race that is listed a year ahead, without a result, is held back, and does not move what was
// settled, also if the local clock is behind that of the service.
func TestARaceInTheFutureHoldsUpNoOther(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"the clocks agree": 0, "the service's clock is two years ahead": 2 * 365 * 24 * time.Hour} {
		for what, since := range map[string]bool{"since an hour ago": true, "from now on": false} {
			double.RunBubble(t, name+", "+what, func(t *testing.T, fake *horseracingtest.Server) {
				fake.Advance(ahead)
				fake.AddRaces(double.Finished(1, ahead-2*time.Hour, ahead-59*time.Minute, ahead-time.Minute)...)
				query, want := horseracing.FollowQuery{}, once(100, 104)
				if since {
					query.Since, want = fake.Now().Add(-time.Hour), once(2, 3, 100, 104)
				}
				newest := fmt.Sprintf(`[{"main_race_id":9,"start_time":%d,"participants":[{"number":1}]}]`, fake.Now().AddDate(1, 0, 0).UnixMilli())
				fake.Handle("GET "+double.ResultsPath, func(r horseracingtest.Request) (horseracingtest.Response, bool) {
					return horseracingtest.Response{Status: http.StatusOK, Body: newest}, !bytes.Contains(r.Body, []byte("start_time_from"))
				})
				client := fake.Client()
				var f followed
				f.run(t, client, query, 10*time.Minute)
				for i := range horseracing.RaceID(5) {
					fake.AddRaces(double.Finished(100+i, ahead-time.Duration(5-i)*time.Minute)...)
					f.run(t, client, query, 10*time.Minute)
				}
				double.Equal(t, "races", want, f.times)
				double.Equal(t, "errors", 0, len(f.errors))
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		}
	}
}

// Of a past of any length few races are held: 8,000 and 32 MiB at most, and enough that few windows
// have to be read.
func TestFollowHoldsAtMostEightThousandRaces(t *testing.T) {
	double.UnlessShort(t)
	races := double.Worlds(15_000, 30_000, 0)
	starts := make([]int64, races) // oldest first: busy days, then quiet weeks
	random, at := rand.New(rand.NewPCG(3, 3)), int64(1_500_000_000_000)
	for i := range starts {
		pace := []int64{20_000, 200_000, 20_000_000, 2_000_000}[i/777%4]
		at += 1 + random.Int64N(2*pace)
		starts[i] = at
	}
	slices.Reverse(starts)
	horses := strings.Repeat(`{"number":123456,"total":61.123456789,"lane":7},`, 11) + `{"number":7,"total":60,"lane":1}`
	for _, concurrency := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			listed := map[int]bool{}
			pages := double.Pages(races, func(i int) int64 { return starts[i] }, func(i int) string {
				mu.Lock()
				defer mu.Unlock()
				listed[i] = true
				return fmt.Sprintf(`{"main_race_id":%d,"start_time":%d,"final_order":[0,1],"participants":[%s]}`, races-i, starts[i], horses)
			})
			client := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
				time.Sleep(20 * time.Millisecond)
				return pages(req)
			})})
			before, n, ahead, heap := liveHeap(), 0, 0, uint64(0)
			for race := range double.Each(t, client.Races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1), Concurrency: concurrency}).CatchUp(t.Context())) {
				if n++; race.MainRaceID != horseracing.RaceID(n) {
					t.Fatalf("race %d came as number %d", race.MainRaceID, n)
				}
				mu.Lock()
				ahead = max(ahead, len(listed)-n)
				mu.Unlock()
				if n%3_000 == 1 {
					heap = max(heap, liveHeap()-before)
				}
			}
			t.Logf("%d at once: %d races, at most %d read ahead, a live heap of %.1f MiB", concurrency, n, ahead, float64(heap)/(1<<20))
			double.FailIf(t, n != races || ahead < 2_000 || ahead > 8_000 || heap > 32<<20, "that is not %d races, 2,000 to 8,000 read ahead, and at most 32 MiB", races)
		})
	}
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
