package horseracing_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// inTurn is a service that returns one list after the other, and then the last
// one; "500" is a failure.
func inTurn(lists ...string) *double.Script {
	var steps []double.Step
	for _, text := range lists {
		if text == "500" {
			steps = append(steps, double.Respond(500, ""))
		} else {
			steps = append(steps, double.Respond(200, text))
		}
	}
	return double.Play(steps...)
}

// lineOf returns a change, or an error, as a line.
func lineOf(c horseracing.RaceChange, err error) string {
	if err != nil {
		return "error"
	}
	line := string(c.Kind) + " " + c.Race.ID
	if c.Previous != nil {
		line += " was " + c.Previous.ID
	}
	return line
}

func TestWatchOpenReportsWhatChanged(t *testing.T) {
	const (
		a       = `{"_id":"a","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":1},{"number":2}]}`
		aMixed  = `{"_id":"a again","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":2},{"number":1}]}`
		aFuller = `{"_id":"fuller","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":3},{"number":2},{"number":1}]}`
		aOther  = `{"_id":"other","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":3},{"number":2}]}`
		aTwice  = `{"_id":"twice","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":2},{"number":2}]}`
		aStatus = `{"_id":"status","main_race_id":1,"start_time":9000,"registration_deadline":5000,"status":"In progress","participants":[{"number":1},{"number":2}]}`
		aLater  = `{"_id":"deadline","main_race_id":1,"start_time":9000,"registration_deadline":5001,"participants":[{"number":1},{"number":2}]}`
		aMoved  = `{"_id":"start","main_race_id":1,"start_time":9001,"registration_deadline":5000,"participants":[{"number":1},{"number":2}]}`
		b       = `{"_id":"b","main_race_id":2,"start_time":8000,"registration_deadline":5000,"participants":[]}`
		c       = `{"_id":"c","main_race_id":3,"start_time":7000,"registration_deadline":5000,"participants":[]}`
		d       = `{"_id":"end","main_race_id":4}` // ends a test
	)
	tests := map[string]struct {
		polls []string
		want  []string
	}{
		"the first poll reports what is open, by start": {[]string{double.List(a, b)}, []string{"opened b", "opened a"}},
		"no change":                              {[]string{double.List(a), double.List(a)}, []string{"opened a"}},
		"another order of races":                 {[]string{double.List(a, b), double.List(b, a)}, []string{"opened b", "opened a"}},
		"another order of participants":          {[]string{double.List(a), double.List(aMixed)}, []string{"opened a"}},
		"a participant more":                     {[]string{double.List(a), double.List(aFuller)}, []string{"opened a", "updated fuller was a"}},
		"another participant":                    {[]string{double.List(a), double.List(aOther)}, []string{"opened a", "updated other was a"}},
		"a participant in the place of another":  {[]string{double.List(a), double.List(aTwice)}, []string{"opened a", "updated twice was a"}},
		"another status":                         {[]string{double.List(a), double.List(aStatus)}, []string{"opened a", "updated status was a"}},
		"another deadline":                       {[]string{double.List(a), double.List(aLater)}, []string{"opened a", "updated deadline was a"}},
		"another start":                          {[]string{double.List(a), double.List(aMoved)}, []string{"opened a", "closed a was a", "opened start"}},
		"two heats with one id":                  {[]string{double.List(a, aMoved), double.List(aMoved, a), double.List(aFuller, aMoved)}, []string{"opened a", "opened start", "updated fuller was a"}},
		"closed ones first, by start":            {[]string{double.List(a, b), double.List(c)}, []string{"opened b", "opened a", "closed b was b", "closed a was a", "opened c"}},
		"closed with the last state":             {[]string{double.List(a), double.List(aFuller), `[]`}, []string{"opened a", "updated fuller was a", "closed fuller was fuller"}},
		"closed with a state that was no update": {[]string{double.List(a), double.List(aMixed), `[]`}, []string{"opened a", "closed a again was a again"}},
		"opened again":                           {[]string{double.List(a), `[]`, `[]`, double.List(a)}, []string{"opened a", "closed a was a", "opened a"}},
		"one empty list":                         {[]string{double.List(a), `[]`, double.List(a), `null`, double.List(aFuller)}, []string{"opened a", "updated fuller was a"}},
		"a race that is listed twice":            {[]string{double.List(a, aFuller), double.List(a, aFuller)}, []string{"opened a"}},
		"a change after one that was no update":  {[]string{double.List(a), double.List(aMixed), double.List(aFuller)}, []string{"opened a", "updated fuller was a again"}},
		"a failed poll":                          {[]string{"500", double.List(a), "500", "500", double.List(b)}, []string{"error", "opened a", "error", "error", "closed a was a", "opened b"}},
	}
	for name, test := range tests {
		double.Run(t, name, func(t *testing.T) {
			client := inTurn(append(test.polls, double.List(d))...).Client(t, double.NoRetries())
			var got []string
			for change, err := range client.Races.WatchOpen(t.Context(), horseracing.WatchQuery{}) {
				if err == nil && change.Race.ID == "end" {
					break
				}
				got = append(got, lineOf(change, err))
				if err == nil { // it belongs to the caller
					clear(change.Race.Participants)
					change.Race.Status = "mine"
				}
			}
			for len(got) > len(test.want) && strings.HasPrefix(got[len(got)-1], "closed") { // by the poll that ends the test
				got = got[:len(got)-1]
			}
			double.Equal(t, "changes", test.want, got)
		})
	}
}

func TestWatchOpenPollsAtItsInterval(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, 0: 15 * time.Second} {
		double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
			ctx := double.Within(t, time.Hour)
			began := time.Now()
			for change, err := range fake.Client().Races.WatchOpen(ctx, horseracing.WatchQuery{Interval: interval}) {
				t.Errorf("change %v, error %v", change, err)
			}
			if took := time.Since(began); took != time.Hour {
				t.Errorf("ended after %v", took)
			}
			var waits []time.Duration
			requests := fake.Requests()
			for i := 1; i < len(requests); i++ {
				waits = append(waits, requests[i].Time.Sub(requests[i-1].Time))
			}
			slices.SortFunc(waits, cmp.Compare)
			if waits[0] < want*9/10 || waits[len(waits)-1] > want+time.Second || len(slices.Compact(waits)) < 20 {
				t.Errorf("waits %v, want %v", waits, want)
			}
		}, horseracingtest.WithSchedule(0))
	}
}

func openRaceAt(id horseracing.RaceID, minute int, horses ...horseracing.HorseNumber) horseracing.Race {
	race := horseracing.Race{MainRaceID: id, StartTime: horseracing.NewTimestamp(time.UnixMilli(1_750_000_000_000).Add(time.Duration(minute) * time.Minute))}
	for _, horse := range horses {
		race.Participants = append(race.Participants, horseracing.RaceParticipant{Number: horse})
	}
	return race
}

func TestChangesAreSortedByKindAndStart(t *testing.T) {
	before := []horseracing.Race{openRaceAt(1, 9), openRaceAt(2, 8), openRaceAt(3, 7), openRaceAt(4, 6), openRaceAt(0, 1), openRaceAt(1, 30, 5), openRaceAt(8, 3)}
	after := []horseracing.Race{openRaceAt(6, 5), openRaceAt(3, 7, 1), openRaceAt(5, 5), openRaceAt(4, 6, 1), openRaceAt(7, 4), openRaceAt(7, 1), openRaceAt(0, 1, 2), openRaceAt(8, 3), openRaceAt(8, 3, 1)}
	var got []string
	for _, c := range horseracing.Changes(before, after) {
		got = append(got, fmt.Sprint(c.Kind, c.Race.MainRaceID))
		inBefore := func(r *horseracing.Race) bool {
			return slices.ContainsFunc(before, func(b horseracing.Race) bool { return gocmp.Equal(&b, r) })
		}
		if (c.Previous == nil) != (c.Kind == horseracing.RaceOpened) || c.Previous != nil && !inBefore(c.Previous) {
			t.Errorf("%s %d: previous %v", c.Kind, c.Race.MainRaceID, c.Previous)
		}
	}
	want := []string{"closed2", "closed1", "closed1", "opened7", "opened7", "opened5", "opened6", "updated4", "updated3"}
	double.Equal(t, "changes", want, got)
}

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
	w := inTurn(polls...).Client(t, double.NoRetries()).Races.Watcher(horseracing.WatchQuery{Interval: time.Minute})
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

// story returns the changes from snapshot to snapshot, by a reader that pauses
// after each snapshot.
func story(t *testing.T, w *horseracing.Watcher, within, pause time.Duration) (lines []string) {
	t.Helper()
	ctx := double.Within(t, within)
	var before []horseracing.Race
	for s := range w.Snapshots(ctx) {
		for _, change := range horseracing.Changes(before, s.Races) {
			lines = append(lines, lineOf(change, nil))
		}
		before = s.Races
		if s.Err != nil {
			lines = append(lines, "error")
		}
		time.Sleep(pause)
	}
	return lines
}

func TestWatcherLetsASlowReaderSkipToTheNewestSnapshot(t *testing.T) {
	polls := []string{
		double.List(listed(1, "a")),
		double.List(listed(1, "a1", 1)),
		double.List(listed(1, "a2", 1, 2), listed(2, "b")), // b opens
		"500",
		double.List(listed(1, "a3", 1, 2, 3), listed(2, "b1", 7)),
		double.List(listed(1, "a4", 1, 2, 3, 4), listed(3, "c")), // b closes, c opens
	}
	for name, test := range map[string]struct {
		pause time.Duration
		want  []string
	}{
		"as fast as the polls": {0, []string{"opened a", "updated a1 was a", "opened b", "updated a2 was a1", "error",
			"updated a3 was a2", "updated b1 was b", "closed b1 was b1", "opened c", "updated a4 was a3"}},
		"slower":      {155 * time.Second, []string{"opened a", "opened b", "updated a2 was a", "closed b was b", "opened c", "updated a4 was a2"}},
		"much slower": {time.Hour, []string{"opened a", "opened c", "updated a4 was a"}},
	} {
		double.Run(t, name, func(t *testing.T) {
			w := watcher(t, polls...)
			double.Equal(t, "changes", test.want, story(t, w, 24*time.Hour, test.pause))
		})
	}
}

func TestWatcherPollsOnceForManyReaders(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx := double.Within(t, 10*time.Minute)
		w := fake.Client().Races.Watcher(horseracing.WatchQuery{Interval: time.Minute})
		var readers sync.WaitGroup
		var lines sync.Map
		for range 100 {
			readers.Go(func() {
				var b strings.Builder
				var before []horseracing.Race
				for s := range w.Snapshots(ctx) {
					for _, change := range horseracing.Changes(before, s.Races) {
						fmt.Fprintln(&b, lineOf(change, nil))
					}
					before = s.Races
					fmt.Fprintf(&b, "%p\n", before) // all hold the same list in memory
				}
				lines.Store(b.String(), true)
			})
		}
		readers.Go(func() {
			for range w.Snapshots(ctx) {
				time.Sleep(time.Hour) // it never comes back in time
			}
		})
		readers.Go(func() {
			for range w.Snapshots(ctx) {
				return // a reader that leaves
			}
		})
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		readers.Wait()
		stories := 0
		for range lines.Range {
			stories++
		}
		if polls := fake.RequestCount(); polls < 10 || polls > 12 || stories != 1 {
			t.Errorf("%d polls in ten minutes, %d different stories", polls, stories)
		}
	}, horseracingtest.WithSchedule(60))
}

func TestWatcherRefusesASecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := double.Play(double.Respond(200, "[]")).Client(t).Races.Watcher(horseracing.WatchQuery{})
		ctx := double.Within(t, time.Minute)
		first := make(chan error)
		go func() { first <- w.Run(ctx) }()
		synctest.Wait()
		var none context.Context
		for _, second := range []context.Context{ctx, none} {
			if err := w.Run(second); !errors.Is(err, horseracing.ErrInvalidArgument) {
				t.Errorf("a second Run: %v", err)
			}
		}
		if err := <-first; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := w.Run(ctx); err != nil {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

func TestWatcherSnapshotsWaitForARunAndEndWithIt(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		w := fake.Client().Races.Watcher(horseracing.WatchQuery{})
		for range 2 {
			for _, pause := range []time.Duration{0, 24 * time.Hour} { // a slow reader gets the newest one
				var snapshots []horseracing.Snapshot
				var reader sync.WaitGroup
				reader.Go(func() {
					for s := range w.Snapshots(t.Context()) {
						snapshots = append(snapshots, s)
						time.Sleep(pause)
					}
				})
				time.Sleep(time.Hour)
				if synctest.Wait(); len(snapshots) > 0 {
					t.Error("a snapshot without Run")
				}
				ctx := double.Within(t, time.Hour)
				began := time.Now()
				if err := w.Run(ctx); err != nil {
					t.Error(err)
				}
				reader.Wait()
				newest := w.Snapshot()
				if len(newest.Races) == 0 || newest.At.Sub(began) < 59*time.Minute {
					t.Errorf("after Run the last snapshot is gone: %d races at %v", len(newest.Races), newest.At)
				}
				if n := len(snapshots); n == 0 || !snapshots[0].At.Equal(began) || pause == 0 && (n < 200 || !snapshots[n-1].At.Equal(newest.At)) {
					t.Errorf("pause %v: %d snapshots", pause, n)
				}
			}
		}
	}, horseracingtest.WithSchedule(20))
}

func TestWatcherMakesNoSnapshotOfAnInterruptedPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})})
		w := client.Races.Watcher(horseracing.WatchQuery{})
		ctx := double.Within(t, time.Second)
		var reader sync.WaitGroup
		reader.Go(func() {
			for s := range w.Snapshots(t.Context()) {
				t.Errorf("a snapshot: %+v", s)
			}
		})
		synctest.Wait()
		if err := w.Run(ctx); err != nil || w.Snapshot().Err != nil {
			t.Errorf("Run: %v; %+v", err, w.Snapshot())
		}
		reader.Wait()
	})
}

func TestWatcherSnapshotsOfAnInvalidQueryIsItsError(t *testing.T) {
	var none context.Context
	races := double.Play(double.Respond(200, "[]")).Client(t).Races
	for _, snapshots := range []iter.Seq[horseracing.Snapshot]{
		races.Watcher(horseracing.WatchQuery{Interval: -1}).Snapshots(t.Context()),
		races.Watcher(horseracing.WatchQuery{}).Snapshots(none),
	} {
		n := 0
		for s := range snapshots {
			if n++; !errors.Is(s.Err, horseracing.ErrInvalidArgument) {
				t.Errorf("snapshot %+v", s)
			}
		}
		if n != 1 {
			t.Errorf("%d snapshots", n)
		}
	}
}

func TestWatcherKeepsTheLastStateOfAnUnreadableRace(t *testing.T) {
	const (
		broken   = `{"_id":"x","main_race_id":1,"start_time":"soon"}`
		nameless = `{"_id":"x","main_race_id":"one","start_time":9001}`
		without  = `{"_id":"x","start_time":9001}`
	)
	a, a1, b, c := listed(1, "a"), listed(1, "a1", 1), listed(2, "b"), listed(3, "c")
	for name, test := range map[string]struct{ polls, want []string }{
		"it keeps its last state":                   {[]string{double.List(a), double.List(broken), double.List(broken), double.List(a1)}, []string{"opened a", "error", "error", "updated a1 was a"}},
		"what changes beside it is reported":        {[]string{double.List(a), double.List(broken, b), double.List(broken), double.List(a)}, []string{"opened a", "opened b", "error", "closed b was b", "error"}},
		"it closes when it is gone":                 {[]string{double.List(a), double.List(broken), `[]`}, []string{"opened a", "error", "closed a was a"}},
		"it opens when it can be read":              {[]string{double.List(broken, b), double.List(a, b)}, []string{"opened b", "error", "opened a"}},
		"it is no change when it can be read again": {[]string{double.List(a), double.List(broken), double.List(a)}, []string{"opened a", "error"}},
		"listed twice, once readable":               {[]string{double.List(a1, broken), double.List(a1)}, []string{"opened a1", "error"}},
		"without a readable id nothing closes":      {[]string{double.List(a, b), double.List(nameless), double.List(nameless), `[]`}, []string{"opened a", "opened b", "error", "error", "closed a was a", "closed b was b"}},
		"without any id nothing closes":             {[]string{double.List(a, b), double.List(without, c), double.List(c)}, []string{"opened a", "opened b", "opened c", "error", "closed a was a", "closed b was b"}},
	} {
		double.Run(t, name, func(t *testing.T) {
			w := watcher(t, test.polls...)
			double.Equal(t, "changes", test.want, story(t, w, time.Hour, 0))
		})
	}
	double.Run(t, "its errors are those of a good snapshot", func(t *testing.T) {
		w := watcher(t, double.List(a, b), double.List(broken, nameless, without))
		time.Sleep(5 * time.Minute)
		s := w.Snapshot()
		first, ok := errors.AsType[*horseracing.DecodeError](s.Err)
		if !ok || first.ID != "1" || !errors.Is(s.Err, horseracing.ErrSkipped) || time.Since(s.At) > time.Minute || len(s.Races) != 2 {
			t.Errorf("snapshot with %d races at %v and error %v", len(s.Races), s.At, s.Err)
		}
		if all, ok := s.Err.(interface{ Unwrap() []error }); !ok || len(all.Unwrap()) != 3 { //nolint:errorlint // the list itself
			t.Errorf("not three errors: %v", s.Err)
		}
	})
}
