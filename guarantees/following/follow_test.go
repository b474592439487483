package following_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// quietly has a fake begin without races, and list none by itself.
var quietly = []horseracingtest.Option{horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0)}

// damaged returns a client that gets what change makes of each response of status 200, until it is repaired.
func damaged(fake *horseracingtest.Server, change func(body []byte) []byte) (c *horseracing.Client, repair func()) {
	isRepaired := new(atomic.Bool)
	return fake.Client(double.NoRetries(), double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusOK && !isRepaired.Load() {
			err = double.Rewrite(resp, change)
		}
		return resp, err
	})), func() { isRepaired.Store(true) }
}

// followed is what a follower yielded, and the cursor that was stored.
type followed struct {
	times     map[horseracing.RaceID]int
	errors    []error
	cursor    horseracing.Cursor
	isOnePoll bool                    // processes range over CatchUp
	yielded   func(*horseracing.Race) // is called with each race, if it is not nil
}

// run is one process: it resumes at the cursor, and keeps the one that its follower ends with.
func (f *followed) run(t *testing.T, c *horseracing.Client, q horseracing.FollowQuery, within time.Duration) {
	t.Helper()
	if f.times == nil {
		f.times = map[horseracing.RaceID]int{}
	}
	q.Resume = double.Must(horseracing.ParseCursor(f.cursor.String()))
	follower := c.Races.Follow(q)
	loop := follower.All
	if f.isOnePoll {
		loop = follower.CatchUp
	}
	for race, err := range loop(double.Within(t, within)) {
		if err != nil {
			f.errors = append(f.errors, err)
			continue
		}
		f.times[race.MainRaceID]++
		if f.yielded != nil {
			f.yielded(race)
		}
	}
	f.cursor = follower.Cursor()
}

func once(ranges ...horseracing.RaceID) map[horseracing.RaceID]int {
	want := map[horseracing.RaceID]int{}
	for i := 0; i < len(ranges); i += 2 {
		for id := ranges[i]; id <= ranges[i+1]; id++ {
			want[id] = 1
		}
	}
	return want
}

// addRaces adds races that start one after another, the last of them that long ago.
func addRaces(fake *horseracingtest.Server, first, last horseracing.RaceID, every time.Duration) {
	for id := first; id <= last; id++ {
		fake.AddRaces(double.Finished(id, -time.Duration(last+1-id)*every)...)
	}
}

// Each wait is up to a tenth less than twice the one before.
func TestFollowYieldsAFailedPollAndBacksOff(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusInternalServerError, Times: 8})
		fake.AddRaces(double.Finished(1, -time.Minute)...)
		query, last, failures := horseracing.FollowQuery{Since: time.Now().Add(-time.Hour), Interval: 10 * time.Second}, time.Now(), 0
		for _, err := range fake.Client(double.NoRetries()).Races.Follow(query).All(double.Within(t, 24*time.Hour)) {
			if err == nil {
				break
			}
			wait, longest := time.Since(last), min(10*time.Second<<max(0, failures-1), 5*time.Minute)
			double.Error(t, "the poll", horseracing.ErrServer, "", err)
			double.FailIf(t, failures > 0 && (wait > longest || wait < longest*9/10), "failure %d comes after %v, want %v", failures, wait, longest)
			failures, last = failures+1, time.Now()
		}
		double.Equal(t, "failures", 8, failures)
	}, quietly...)
}

// The first poll reads the newest page again each time, which does not end the backoff.
func TestAFirstPollBacksOffWhileItsSecondPageFails(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 1, 30, 5*time.Minute)
		client, _ := damaged(fake, replaced(`(?s)"main_race_id":19,.*`, ``))
		var f followed
		f.run(t, client, horseracing.FollowQuery{}, 2*time.Hour)
		n := len(f.errors) // one each five minutes, and some before
		double.FailIf(t, n < 24 || n > 32, "%d errors within two hours", n)
	}, quietly...)
}

func TestFollowReportsATieOnceAndContinues(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(double.Finished(100, slices.Repeat([]time.Duration{-10 * time.Minute}, 14)...)...)
		fake.AddRaces(double.Finished(1, -20*time.Minute, -5*time.Minute)...)
		var f followed
		f.run(t, fake.Client(), horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}, 10*time.Minute)
		tie, _ := errors.AsType[*horseracing.TieOverflowError](errors.Join(f.errors...))
		double.FailIf(t, len(f.errors) != 1 || tie == nil || tie.Seen != 10, "errors %q", f.errors)
		double.FailIf(t, len(f.times) != 12 || f.times[1] != 1 || f.times[2] != 1, "races %v", f.times)
		double.FailIf(t, fake.RequestCount() < 20, "only %d requests: the tie was not met again", fake.RequestCount())
	}, quietly...)
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
	}, quietly...)
}

// CatchUp yields the error of its context, as a Pager does: who sets a deadline must not take
// a refusal for a listing without news. It also ends with the error of an entry.
// The JSON is that of the entry, and nil with another error.
func TestCatchUpYieldsTheErrorOfItsContext(t *testing.T) {
	refused := horseracingtest.Fault{Path: double.ResultsPath, Times: -1, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"600"}}}
	for name, test := range map[string]struct {
		races int // after these the context is canceled, or all is refused, or a race cannot be read
		want  string
		json  string // of the error
	}{
		"while the service refuses":   {0, "context deadline exceeded", ""},
		"while the caller is at work": {3, "context canceled", ""},
		"with the last race":          {5, "<nil>", ""},
		"at an unreadable race":       {2, "entry_fee", `"main_race_id":3,`},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 1, 5, time.Minute)
			client := fake.Client()
			switch name {
			case "while the service refuses":
				fake.Inject(refused)
			case "at an unreadable race":
				client, _ = damaged(fake, unreadable(3))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var ids []horseracing.RaceID
			var last error
			follower := client.Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)})
			for race, err := range follower.CatchUp(ctx) {
				want := test.json
				if last = err; err == nil {
					ids = append(ids, race.MainRaceID)
					want = fmt.Sprintf(`"main_race_id":%d,`, race.MainRaceID)
				}
				text := string(follower.JSON())
				double.FailIf(t, !strings.Contains(text, want) || want == "" && text != "", "with error %v the JSON is %s", err, text)
				if len(ids) == test.races && test.json == "" {
					cancel()
				}
			}
			double.Equal(t, "races", []horseracing.RaceID{1, 2, 3, 4, 5}[:test.races], ids, cmpopts.EquateEmpty())
			double.FailIf(t, !strings.Contains(fmt.Sprint(last), test.want), "it ends with %v, want %s", last, test.want)
		}, quietly...)
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
			polls := 60 * hours
			f := followed{yielded: func(r *horseracing.Race) { double.FailIf(t, !r.Finished(), "race %d has no final order", r.MainRaceID) }}
			f.run(t, client, horseracing.FollowQuery{Interval: time.Minute}, time.Duration(hours)*time.Hour)
			n := fake.RequestCount()
			double.FailIf(t, len(f.times) < 5*hours || n > 5*polls, "%d races, %d requests of %d polls", len(f.times), n, polls)
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
				race := double.Finished(1+i, -ahead-time.Minute)[0]
				if i == 5 { // a race that nobody entered has no result, and does not wait for one
					race.Participants, race.FinalOrder, race.Winners = nil, nil, nil
				}
				fake.AddRaces(race)
			}
			f.run(t, fake.Client(), horseracing.FollowQuery{}, 10*time.Minute)
			double.Equal(t, "errors", 0, len(f.errors))
			double.Equal(t, "races", once(1, 6), f.times)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0), horseracingtest.WithClock(func() time.Time { return time.Now().Add(-ahead) }))
	}
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
		}, quietly...)
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
			var last error
			for _, last = range f.CatchUp(t.Context()) {
			}
			double.FailIf(t, (last != nil) != (i == 1), "poll %d ends with %v", i+1, last)
		}
	}, quietly...)
}

// A race that is listed a year ahead, without a result, is held back, and does not move what was
// settled, also if the local clock is behind that of the service.
func TestARaceInTheFutureHoldsUpNoOther(t *testing.T) {
	for _, ahead := range []time.Duration{0, 2 * 365 * 24 * time.Hour} {
		for _, since := range []bool{true, false} {
			double.RunBubble(t, fmt.Sprintf("the service's clock is %v ahead, since an hour ago: %v", ahead, since), func(t *testing.T, fake *horseracingtest.Server) {
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
			}, quietly...)
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

// A page that cannot be read is an error of each poll. What starts earlier comes, as far as the windows
// of a poll reach, nothing that starts later does before it can be read, and then everything comes
// once. This is so too for the second page of the newest races, of which a poll reads two at first, and
// for one CatchUp after another.
func TestAPageThatCannotBeReadHoldsUpWhatIsLater(t *testing.T) {
	for broken, test := range map[horseracing.RaceID]struct {
		races, least, catchUps int
	}{50: {100, 40, 0}, 15: {28, 5, 0}, 700: {1000, 400, 20}} {
		double.RunBubble(t, fmt.Sprint(broken), func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 1, horseracing.RaceID(test.races), time.Minute)
			client, repair := damaged(fake, replaced(fmt.Sprintf(`(?s)"main_race_id":%d,.*`, broken), ``))
			query := horseracing.FollowQuery{Since: time.Now().Add(-24 * time.Hour), Interval: 2 * time.Minute}
			f := followed{isOnePoll: test.catchUps > 0}
			for range max(1, test.catchUps) {
				f.run(t, client, query, 2*time.Hour)
			}
			n := len(f.times)
			double.FailIf(t, n < test.least || f.times[broken+1] > 0 || len(f.errors) < 5 || len(f.errors) != test.catchUps && f.isOnePoll, "%d races, errors %q", n, f.errors)
			repair()
			f.run(t, client, query, time.Hour)
			double.Equal(t, "races", once(1, horseracing.RaceID(test.races)), f.times)
		}, quietly...)
	}
}

// unreadable damages a member of a race wherever it is shown.
func unreadable(id int) func([]byte) []byte {
	return replaced(fmt.Sprintf(`("main_race_id":%d,.*?"entry_fee":)\d+`, id), `$1{}`)
}

// replaced damages a race as a list shows it, the newest first.
func replaced(pattern, by string) func([]byte) []byte {
	return func(body []byte) []byte { return regexp.MustCompile(pattern).ReplaceAll(body, []byte(by)) }
}

// Through restarts, too, if it has an id and a start. What the first poll of a follower from
// now on lists is old, also what it cannot read.
func TestAnUnreadableRaceIsReportedOnce(t *testing.T) {
	noID, noStart := replaced(`"main_race_id":115,`, `"main_race_id":"?",`), replaced(`("main_race_id":115,"start_time":)\d+`, `$1"soon"`)
	null := replaced(`\{"main_race_id":115,.*?\},(\{"main_race_id":114)`, `null,$1`)
	const early = 15 * time.Minute
	for name, test := range map[string]struct {
		change    func([]byte) []byte
		repair    time.Duration
		yielded   int
		fromNowOn bool
	}{
		"it stays unreadable":            {unreadable(115), 24 * time.Hour, 0, false},
		"it can be read within Lookback": {unreadable(115), 2 * early, 1, false},
		"it can be read too late":        {unreadable(115), 2 * time.Hour, 0, false},
		"it has no id":                   {noID, early, 1, false},
		"it has no start":                {noStart, early, 1, false},
		"it is null":                     {null, early, 1, false},
		"it is old":                      {unreadable(115), early, 0, true},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 100, 129, time.Minute)
			client, repair := damaged(fake, test.change)
			var f followed
			query, races, failures := horseracing.FollowQuery{Interval: 5 * time.Minute}, 11, 0
			if !test.fromNowOn {
				query.Since, races, failures = time.Now().Add(-2*time.Hour), 11+29+test.yielded, 1
			}
			for i := range horseracing.RaceID(12) {
				f.run(t, client, query, early)
				addRaces(fake, 200+i, 200+i, time.Second)
				if test.repair -= early; test.repair == 0 {
					repair()
				}
			}
			if len(f.errors) != failures || f.times[115] != test.yielded || len(f.times) != races {
				t.Errorf("%d races, it came %d times, with errors %q", len(f.times), f.times[115], f.errors)
			}
		}, quietly...)
	}
}

// While a quarter of the pages fail, a past is read in hours: the backoff begins anew with each entry
// that is read, and after each window.
func TestAFollowerAdvancesWhileAQuarterOfThePagesFail(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadGateway, Probability: 0.25, Times: -1})
		n, follower := 0, fake.Client(double.NoRetries()).Races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1)})
		for _, err := range follower.All(double.Within(t, 5*time.Hour)) {
			if err == nil {
				n++
			}
			if n == 2_000 {
				break
			}
		}
		double.Equal(t, "races in five hours", 2_000, n)
	}, horseracingtest.WithHistory(2_000), horseracingtest.WithSchedule(0))
}

// A body that is dropped on the way, or a tier that is ignored, is an error at once, and
// costs no race: neither a follower that catches up nor a walk passes over any.
func TestAnIgnoredBodyCostsNoRace(t *testing.T) {
	for _, name := range []string{"a pager", "a follower"} {
		for what, body := range map[string]string{"the body": "", "start_time_from": `{"tier":5}`} {
			double.RunBubble(t, name+", without "+what, func(t *testing.T, fake *horseracingtest.Server) {
				addRaces(fake, 1, 108, 10*time.Minute)
				isIgnored, through := true, fake.HTTPClient().Transport
				client := fake.Client(horseracing.WithHTTPClient(&http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
					if isIgnored {
						req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
					}
					return through.RoundTrip(req)
				})}))
				loop, ids := client.Races.Results(horseracing.ResultsQuery{Tier: 5, Concurrency: 3}).All(t.Context()), []horseracing.RaceID{}
				if name == "a follower" {
					loop = client.Races.Follow(horseracing.FollowQuery{Tier: 5, Since: time.UnixMilli(1), Concurrency: 3}).CatchUp(t.Context())
				}
				for range 2 {
					var last error
					for race, err := range loop {
						if last = err; err == nil {
							ids = append(ids, race.MainRaceID)
						}
					}
					double.Error(t, "a loop while bodies are ignored", horseracing.ErrBodyIgnored, "", last)
				}
				double.FailIf(t, fake.RequestCount() > 16, "%d requests for two errors", fake.RequestCount())
				isIgnored = false
				for race := range double.Each(t, loop) {
					ids = append(ids, race.MainRaceID)
				}
				slices.Sort(ids)
				double.Equal(t, "races", slices.Sorted(maps.Keys(once(1, 108))), ids)
			}, quietly...)
		}
	}
}

// A poll that reads nothing at all where races were yielded, although it requests the
// list twice, is a failed one. Nothing is lost.
func TestAPollThatFindsNothingFails(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 1, 2, 10*time.Minute)
		var f followed
		for i, test := range []struct{ emptyLists, least, most int }{{0, 0, 0}, {1, 0, 0}, {-1, 6, 20}, {0, 0, 0}} {
			fake.ClearFaults()
			if test.emptyLists != 0 {
				fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusOK, Body: "[]", Times: test.emptyLists})
			}
			f.errors = nil
			f.run(t, fake.Client(), horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}, time.Hour)
			n := len(f.errors)
			double.FailIf(t, n < test.least || n > test.most, "hour %d: errors %q", i, f.errors)
			addRaces(fake, horseracing.RaceID(3+i), horseracing.RaceID(3+i), time.Minute)
		}
		double.Equal(t, "races", once(1, 5), f.times)
	}, quietly...)
}
