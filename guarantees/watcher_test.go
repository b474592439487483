package guarantees_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// listed is an open race as JSON; its _id is what [lineOf] prints.
func listed(id int, name string, horses ...int) string {
	participants := make([]string, len(horses))
	for i, n := range horses {
		participants[i] = fmt.Sprintf(`{"number":%d}`, n)
	}
	return fmt.Sprintf(`{"_id":%q,"main_race_id":%d,"start_time":%d,"participants":[%s]}`, name, id, 9000+id, strings.Join(participants, ","))
}

// watcher returns a watcher of a service with those responses, one a minute,
// and runs it until the test ends.
func watcher(t *testing.T, polls ...string) *horseracing.Watcher {
	t.Helper()
	client, err := horseracing.NewClient("https://service.example", "key", noRetries(),
		horseracing.WithHTTPClient(&http.Client{Transport: &responsesInTurn{polls}}))
	if err != nil {
		t.Fatal(err)
	}
	w := client.Races.Watcher(horseracing.WatchQuery{Interval: time.Minute})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return w
}

// reported within a time, by a reader that pauses after each change.
func story(t *testing.T, w *horseracing.Watcher, within, pause time.Duration) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for change, err := range w.Changes(ctx) {
		lines = append(lines, lineOf(change, err))
		time.Sleep(pause)
	}
	return lines
}

func TestASlowReaderMissesNothingButIntermediateStates(t *testing.T) {
	polls := []string{
		list(listed(1, "a")),
		list(listed(1, "a1", 1)),
		list(listed(1, "a2", 1, 2), listed(2, "b")), // b opens
		"",
		list(listed(1, "a3", 1, 2, 3), listed(2, "b1", 7)),
		list(listed(1, "a4", 1, 2, 3, 4), listed(3, "c")), // b closes, c opens
	}
	for name, test := range map[string]struct {
		pause time.Duration
		want  []string
	}{
		"as fast as the polls": {0, []string{"opened a", "updated a1 was a", "opened b", "updated a2 was a1", "error",
			"updated a3 was a2", "updated b1 was b", "closed b1 was b1", "opened c", "updated a4 was a3"}},
		"slower": {90 * time.Second, []string{"opened a", "updated a1 was a", "opened b", "updated a2 was a1",
			"error", "closed b1 was b", "opened c", "updated a4 was a2"}},
		"much slower": {time.Hour, []string{"opened a", "error", "opened b", "closed b1 was b", "opened c", "updated a4 was a"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watcher(t, polls...)
				if diff := gocmp.Diff(test.want, story(t, w, 24*time.Hour, test.pause)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestASlowReaderHoldsUpNeitherThePollsNorOtherReaders(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w := fake.Client().Races.Watcher(horseracing.WatchQuery{Interval: time.Minute})
		var readers sync.WaitGroup
		defer readers.Wait()
		readers.Go(func() {
			for range w.Changes(ctx) {
				time.Sleep(2 * time.Hour) // it never comes back in time
			}
		})
		changes := 0
		readers.Go(func() {
			for range w.Changes(ctx) {
				changes++
			}
		})
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if polls := fake.RequestCount(); polls < 60 || polls > 68 || changes < 100 {
			t.Errorf("%d polls in an hour, %d changes", polls, changes)
		}
	}, horseracingtest.WithSchedule(60))
}

func TestManyReadersCostOnePoll(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w := fake.Client().Races.Watcher(horseracing.WatchQuery{Interval: time.Minute})
		var readers sync.WaitGroup
		var lines sync.Map
		for range 100 {
			readers.Go(func() {
				var b strings.Builder
				for change, err := range w.Changes(ctx) {
					fmt.Fprintln(&b, lineOf(change, err))
				}
				lines.Store(b.String(), true)
			})
		}
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		readers.Wait()
		stories := 0
		for range lines.Range {
			stories++
		}
		if polls := fake.RequestCount(); polls > 12 || stories != 1 {
			t.Errorf("%d polls in ten minutes, %d different stories", polls, stories)
		}
	}, horseracingtest.WithSchedule(60))
}

func TestWhatOneReaderDoesToARaceNoOtherSees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		race := func(horses ...int) string {
			return strings.Replace(listed(1, "a", horses...), `"participants"`, `"prizes":[5,3],"final_order":[0],"winners":[0],"participants"`, 1)
		}
		w := watcher(t, list(race(1, 2)), list(race(1, 2, 3)), `[]`)
		vandal := func(r *horseracing.Race) {
			if r != nil {
				r.Status = "mine"
				r.Prizes[0], r.Participants[0].Number, r.FinalOrder[0], r.Winners[0] = horseracing.NewNumber(99), 99, 99, 99
			}
		}
		check := func(what string, r *horseracing.Race) {
			if r != nil && (r.Status == "mine" || r.Prizes[0].String() != "5" || r.Participants[0].Number != 1 || r.FinalOrder[0] != 0 || r.Winners[0] != 0) {
				t.Errorf("%s shows what another reader did: %+v", what, r)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				n := 0
				for change, err := range w.Changes(ctx) {
					if err != nil {
						t.Error(err)
						continue
					}
					n++
					check(string(change.Kind), change.Race)
					check(string(change.Kind)+", previous", change.Previous)
					snapshot := w.Snapshot()
					for i := range snapshot.Races {
						check("a snapshot", &snapshot.Races[i])
						vandal(&snapshot.Races[i])
					}
					vandal(change.Race)
					vandal(change.Previous)
				}
				if n != 3 {
					t.Errorf("%d changes, want 3", n)
				}
			})
		}
		readers.Wait()
	})
}

func TestASecondRunAtTheSameTimeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := play(respond(200, "[]")).client(t).Races.Watcher(horseracing.WatchQuery{})
		for range 2 { // one after the other is fine
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			first := make(chan error)
			go func() { first <- w.Run(ctx) }()
			time.Sleep(time.Second)
			if err := w.Run(ctx); !errors.Is(err, horseracing.ErrInvalidArgument) {
				t.Errorf("a second Run: %v", err)
			}
			if err := <-first; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
		var none context.Context
		if err := w.Run(none); !errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Errorf("without a context: %v", err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Run(over); err != nil {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

func TestChangesWaitsForRunAndEndsAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		w := fake.Client().Races.Watcher(horseracing.WatchQuery{})
		if s := w.Snapshot(); len(s.Races) != 0 || !s.At.IsZero() || s.Err != nil {
			t.Errorf("before Run: %+v", s)
		}
		for run := range 2 {
			var began, ended time.Time
			open := map[horseracing.RaceID]bool{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for change, err := range w.Changes(t.Context()) {
					if began.IsZero() {
						began = time.Now()
					}
					if err != nil || change.Kind == horseracing.RaceOpened && open[change.Race.MainRaceID] || change.Kind != horseracing.RaceOpened && !open[change.Race.MainRaceID] {
						t.Errorf("run %d: %s", run, lineOf(change, err))
						continue
					}
					open[change.Race.MainRaceID] = change.Kind != horseracing.RaceClosed
				}
				ended = time.Now()
			}()
			time.Sleep(time.Hour)
			if synctest.Wait(); !began.IsZero() {
				t.Error("changes without Run")
			}
			started := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
			<-done
			if !began.Equal(started) || ended.Sub(started) != time.Hour {
				t.Errorf("Run from %v for an hour, changes from %v to %v", started, began, ended)
			}
			if s := w.Snapshot(); len(s.Races) == 0 || time.Since(s.At) > time.Minute {
				t.Errorf("after Run the last snapshot is gone: %d races at %v", len(s.Races), s.At)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for change, err := range w.Changes(ctx) {
			t.Errorf("without a run: %s", lineOf(change, err))
		}
	}, horseracingtest.WithSchedule(20))
}

func TestASnapshotShowsFailureAndRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watcher(t, "", list(listed(1, "a")), "", "", list(listed(2, "b")))
		type view struct {
			races, minute int // of At; -1: none
			failing       bool
		}
		began := time.Now()
		look := func() view {
			s := w.Snapshot()
			v := view{races: len(s.Races), minute: -1, failing: s.Err != nil}
			if !s.At.IsZero() {
				v.minute = int(s.At.Sub(began).Round(time.Minute) / time.Minute)
			}
			return v
		}
		var got []view
		for range 5 {
			synctest.Wait()
			got = append(got, look())
			polled := make(chan struct{})
			go func() { time.Sleep(61 * time.Second); close(polled) }()
			<-polled
		}
		// The failures at 0, 2 and 3 minutes; the second in a row is followed by two minutes.
		want := []view{{0, -1, true}, {1, 1, false}, {1, 1, true}, {1, 1, true}, {1, 1, true}}
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(view{})); diff != "" {
			t.Error(diff)
		}
		time.Sleep(2 * time.Minute)
		if v := look(); v.races != 1 || v.failing || v.minute < 4 {
			t.Errorf("recovered: %+v", v)
		}
	})
}

func TestAnUnreadableRaceIsReportedOnceAndKeepsItsLastState(t *testing.T) {
	const (
		broken   = `{"_id":"x","main_race_id":1,"start_time":"soon"}`
		nameless = `{"_id":"x","main_race_id":"one","start_time":9001}`
		without  = `{"_id":"x","start_time":9001}`
	)
	a, a1, b, c := listed(1, "a"), listed(1, "a1", 1), listed(2, "b"), listed(3, "c")
	for name, test := range map[string]struct{ polls, want []string }{
		"it is reported once":                        {[]string{list(a, b), list(broken, b), list(broken, b), list(broken, b)}, []string{"opened a", "opened b", "error"}},
		"it keeps its last state":                    {[]string{list(a), list(broken), list(broken), list(a1)}, []string{"opened a", "error", "updated a1 was a"}},
		"what changes beside it is yielded":          {[]string{list(a), list(broken, b), list(broken)}, []string{"opened a", "opened b", "error", "closed b was b"}},
		"it closes when it is gone":                  {[]string{list(a), list(broken), `[]`}, []string{"opened a", "error", "closed a was a"}},
		"it opens when it can be read":               {[]string{list(broken, b), list(a, b)}, []string{"opened b", "error", "opened a"}},
		"it is no change when it can be read again":  {[]string{list(a), list(broken), list(a)}, []string{"opened a", "error"}},
		"it is reported again when it breaks again":  {[]string{list(a), list(broken), list(a), list(broken)}, []string{"opened a", "error", "error"}},
		"listed twice, once readable":                {[]string{list(broken, a)}, []string{"opened a"}},
		"without a readable id nothing closes":       {[]string{list(a, b), list(nameless), list(nameless), `[]`}, []string{"opened a", "opened b", "error", "closed a was a", "closed b was b"}},
		"without any id nothing closes":              {[]string{list(a, b), list(without, c), list(c)}, []string{"opened a", "opened b", "opened c", "error", "closed a was a", "closed b was b"}},
		"a second one without an id is reported too": {[]string{list(a), list(a, nameless), list(a, nameless, without), list(a, nameless)}, []string{"opened a", "error", "error"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watcher(t, test.polls...)
				if diff := gocmp.Diff(test.want, story(t, w, time.Hour, 0)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	t.Run("a reader that comes later gets its report once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := watcher(t, list(a, b), list(broken, b))
			time.Sleep(5 * time.Minute)
			if diff := gocmp.Diff([]string{"opened b", "opened a", "error"}, story(t, w, time.Hour, 0)); diff != "" {
				t.Error(diff)
			}
			s := w.Snapshot()
			if _, ok := errors.AsType[*horseracing.DecodeError](s.Err); !ok || time.Since(s.At) > time.Minute || len(s.Races) != 2 {
				t.Errorf("snapshot with %d races at %v and error %v", len(s.Races), s.At, s.Err)
			}
		})
	})
}

// Readers of every speed through a day of trouble: what each was handed adds up
// to what is open, and nothing that opened or closed is missing.
func TestReadersOfEverySpeedGetTheWholeStory(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		go causeTrouble(ctx, fake)
		w := fake.Client(noRetries()).Races.Watcher(horseracing.WatchQuery{Interval: time.Minute})
		type account struct {
			opened, closed map[horseracing.RaceID]int
			open           map[horseracing.RaceID]*horseracing.Race
			changes        int
		}
		accounts := make([]account, 6)
		var readers sync.WaitGroup
		for i := range accounts {
			readers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 0))
				a := account{map[horseracing.RaceID]int{}, map[horseracing.RaceID]int{}, map[horseracing.RaceID]*horseracing.Race{}, 0}
				for change, err := range w.Changes(t.Context()) {
					if err != nil {
						continue
					}
					a.changes++
					id := change.Race.MainRaceID
					if diff := gocmp.Diff(a.open[id], change.Previous); diff != "" {
						t.Errorf("reader %d: %s %d: Previous is not what it was handed last:\n%s", i, change.Kind, id, diff)
						return
					}
					switch a.open[id] = change.Race; change.Kind {
					case horseracing.RaceOpened:
						a.opened[id]++
					case horseracing.RaceClosed:
						a.closed[id]++
						delete(a.open, id)
					}
					if i > 0 && ctx.Err() == nil {
						time.Sleep(time.Duration(random.Int64N(int64(i) * int64(20*time.Second))))
					}
				}
				accounts[i] = a
			})
		}
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		readers.Wait()
		fast := accounts[0]
		for i, a := range accounts {
			if diff := gocmp.Diff(fast.opened, a.opened); diff != "" {
				t.Errorf("reader %d: opened:\n%s", i, diff)
			}
			if diff := gocmp.Diff(fast.closed, a.closed); diff != "" {
				t.Errorf("reader %d: closed:\n%s", i, diff)
			}
			if diff := gocmp.Diff(slices.Sorted(maps.Keys(fast.open)), slices.Sorted(maps.Keys(a.open))); diff != "" {
				t.Errorf("reader %d: open at the end:\n%s", i, diff)
			}
			t.Logf("reader %d: %d changes, %d opened, %d closed", i, a.changes, len(a.opened), len(a.closed))
		}
		if len(fast.closed) < 200 || accounts[5].changes > fast.changes*9/10 {
			t.Error("the day was too quiet to prove anything")
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(12))
}

func TestAWatcherLeavesNoGoroutineBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	client := play(respond(200, list(listed(1, "a"), listed(2, "b")))).client(t)
	w := client.Races.Watcher(horseracing.WatchQuery{Interval: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var begun atomic.Int64
	all.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for i := range 1000 {
		all.Go(func() {
			n := 0
			for range w.Changes(ctx) {
				if n++; n == 1 {
					begun.Add(1)
				}
				if i%2 == 0 && n == 2 {
					return // half of them leave, the others stay until Run ends
				}
			}
		})
	}
	eventually(t, func() string {
		if n := begun.Load(); n < 1000 {
			return fmt.Sprintf("%d of 1,000 readers were served", n)
		}
		if n := runtime.NumGoroutine(); n > before+510 {
			return fmt.Sprintf("%d goroutines with 500 readers left, %d before", n, before)
		}
		return ""
	})
	stop()
	all.Wait()
	eventually(t, func() string {
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Sprintf("%d goroutines, %d before", n, before)
		}
		return ""
	})
}

// One poll of 50 open races, of which one changed, for so many readers, until
// each of them has got the change.
func BenchmarkWatcher(b *testing.B) {
	for _, readers := range []int{1, 1000} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			var polls atomic.Int64
			proceed := make(chan struct{})
			others := make([]string, 49)
			for i := range others {
				others[i] = listed(i+2, "other", 1, 2, 3, 4, 5, 6)
			}
			client := connect(b, service, &http.Client{Transport: tripFunc(func(req *http.Request) (*http.Response, error) {
				select {
				case <-proceed:
				case <-req.Context().Done():
					return nil, req.Context().Err()
				}
				races := append([]string{listed(1, "a", int(polls.Add(1)))}, others...)
				return respond(200, list(races...))(req)
			})})
			w := client.Races.Watcher(horseracing.WatchQuery{Interval: 1})
			ctx, stop := context.WithCancel(b.Context())
			var all sync.WaitGroup
			all.Go(func() { w.Run(ctx) })
			var got sync.WaitGroup
			got.Add(readers)
			for range readers {
				all.Go(func() {
					n := 0
					for range w.Changes(ctx) {
						if n++; n >= 50 { // the 50 open races, then a change each
							got.Done()
						}
					}
				})
			}
			proceed <- struct{}{}
			got.Wait()
			for b.Loop() {
				got.Add(readers)
				proceed <- struct{}{}
				got.Wait()
			}
			stop()
			all.Wait()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(readers), "ns/reader")
		})
	}
}
