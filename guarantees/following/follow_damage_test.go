package following_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// damage changes the responses of a fake on their way.
type damage struct {
	through http.RoundTripper
	mu      sync.Mutex
	change  func(body []byte) []byte // if nil they are not changed
	struck  int
}

// repair lets every page pass as it is.
func (d *damage) repair() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change = nil
}

func damaged(fake *horseracingtest.Server, change func([]byte) []byte) (*damage, *horseracing.Client) {
	d := &damage{through: fake.HTTPClient().Transport, change: change}
	return d, fake.Client(double.NoRetries(), horseracing.WithHTTPClient(&http.Client{Transport: d}))
}

func (d *damage) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.through.RoundTrip(req)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || d.change == nil {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	changed := d.change(body)
	if !bytes.Equal(body, changed) {
		d.struck++
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	return resp, nil
}

// withPage cuts every page that shows a race after that race.
func withPage(id string) func([]byte) []byte {
	return func(body []byte) []byte {
		if i := bytes.Index(body, []byte(`"main_race_id":`+id+`,`)); i >= 0 {
			return body[:i]
		}
		return body
	}
}

// followed is what a follower yielded within a time.
type followed struct {
	times  map[horseracing.RaceID]int
	errors []string
	gaps   []*horseracing.GapError // of the errors
	cursor horseracing.Cursor

	longest int // text of a cursor
}

// isInGap reports whether a gap error names the time range of a race.
func (f *followed) isInGap(start time.Time) bool {
	return slices.ContainsFunc(f.gaps, func(g *horseracing.GapError) bool {
		return !start.Before(g.From.Time) && start.Before(g.To.Time)
	})
}

// run is one process that ends by itself: it resumes at the cursor, and keeps the
// one that its follower ends with.
func (f *followed) run(t *testing.T, c *horseracing.Client, q horseracing.FollowQuery, within time.Duration) {
	t.Helper()
	ctx := double.Within(t, within)
	f.cursor = f.process(t, ctx, c, q, 1<<30).Cursor()
}

// process is one process that is killed after n races: the cursor is stored with
// each race that is handled.
func (f *followed) process(t *testing.T, ctx context.Context, c *horseracing.Client, q horseracing.FollowQuery, n int) *horseracing.Follower[horseracing.Race] {
	t.Helper()
	if f.times == nil {
		f.times = map[horseracing.RaceID]int{}
	}
	if !f.cursor.IsZero() {
		var err error
		if q.Resume, err = horseracing.ParseCursor(f.cursor.String()); err != nil {
			t.Fatal(err)
		}
	}
	follower := c.Races.Follow(q)
	for race, err := range follower.All(ctx) {
		if errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Fatal(err)
		}
		if err != nil {
			f.errors = append(f.errors, err.Error())
			if gap, ok := errors.AsType[*horseracing.GapError](err); ok {
				f.gaps = append(f.gaps, gap)
			}
			continue
		}
		f.times[race.MainRaceID]++
		f.cursor = follower.Cursor()
		f.longest = max(f.longest, len(f.cursor.String()))
		if n--; n == 0 {
			break
		}
	}
	return follower
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

// addEachMinute adds n races, each a minute before the last one, from race 100 on.
func addEachMinute(fake *horseracingtest.Server, n horseracing.RaceID) {
	for i := range n {
		fake.AddRaces(double.Finished(100+i, -time.Duration(i+1)*time.Minute)...)
	}
}

func TestFollowYieldsWhatLiesAroundABrokenPage(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addEachMinute(fake, 60)
		d, client := damaged(fake, withPage("130"))
		query := horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour)}
		var f followed
		f.run(t, client, query, 15*time.Minute)
		// Every page that shows race 130 is unreadable: only the nine races above it
		// can be missing, and some below it, for the read continues below the page.
		missing := 0
		for id := horseracing.RaceID(100); id < 160; id++ {
			if f.times[id] == 0 {
				if missing++; id < 121 || id > 140 {
					t.Errorf("race %d was not handed out", id)
				}
			}
		}
		if missing == 0 || len(f.errors) != 1 || d.struck == 0 {
			t.Errorf("%d missing, errors %q", missing, f.errors)
		}
		fake.AddRaces(double.Finished(200, -time.Second)...) // what is newer comes at once
		f.run(t, client, query, time.Minute)
		if f.times[200] != 1 {
			t.Error("a newer race waits")
		}
		d.repair()
		f.run(t, client, query, 10*time.Minute)
		if diff := cmp.Diff(once(100, 159, 200, 200), f.times); diff != "" || len(f.errors) != 1 {
			t.Errorf("errors %q, races (-want +got):\n%s", f.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// An hour of following costs little more while a page cannot be read, and nothing
// once it was passed over.
func TestAPageThatStaysUnreadableCostsLittle(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		d, client := damaged(fake, nil)
		query := horseracing.FollowQuery{Since: time.Now().Add(-time.Hour), Interval: 2 * time.Minute}
		var f followed
		f.run(t, client, query, 2*time.Hour)
		hour := func() (requests, cursor int) {
			fake.ResetLog()
			f.run(t, client, query, time.Hour)
			return fake.RequestCount(), len(f.cursor.String())
		}
		requests, cursor := hour()
		broken := double.Finished(7, -30*time.Minute)[0]
		fake.AddRaces(broken)
		d.change = withPage("7")
		requestsThen, cursorThen := hour()
		hour()
		requestsLater, cursorLater := hour()
		t.Logf("%d requests an hour, with an unreadable page %d, later %d; cursors of %d, %d and %d bytes; errors %q",
			requests, requestsThen, requestsLater, cursor, cursorThen, cursorLater, f.errors)
		if requestsThen > 3*requests || requestsLater > requests+requests/3+20 || cursorThen > 4*cursor+300 || cursorLater > 2*cursor || d.struck < 25 {
			t.Error("it costs more than that")
		}
		if !f.isInGap(broken.StartTime.Time) || f.times[7] != 0 || len(f.errors) > 10 {
			t.Errorf("gaps %v, %d errors", f.gaps, len(f.errors))
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(20))
}

// Races that finished before a Follower without Since began are not yielded, nor are
// those on a page that its first poll could not read.
func TestFollowFromNowYieldsNothingOldBelowABrokenPage(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addEachMinute(fake, 60)
		d, client := damaged(fake, withPage("125"))
		var f followed
		f.run(t, client, horseracing.FollowQuery{}, 30*time.Minute)
		late := double.Finished(200, -70*time.Minute)[0] // within an hour of the newest, below the gap
		late.StartTime = horseracing.NewTimestamp(time.Now().Add(-80 * time.Minute))
		fake.AddRaces(late)
		fake.AddRaces(double.Finished(201, -time.Second)...)
		f.run(t, client, horseracing.FollowQuery{}, 30*time.Minute)
		if d.struck == 0 {
			t.Fatal("nothing was damaged")
		}
		d.repair()
		f.run(t, client, horseracing.FollowQuery{}, 3*time.Hour)
		if diff := cmp.Diff(once(201, 201), f.times); diff != "" { // 200 was below the page
			t.Error(diff)
		}
		if !f.isInGap(late.StartTime.Time) {
			t.Errorf("no gap names the start of race 200, %v: %q", late.StartTime, f.errors)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// A page that breaks shortly before another one is skipped is skipped with it: a race
// that starts before it and finishes late is in its gap.
func TestAGapCoversWhatFinishesLateBeforeIt(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addEachMinute(fake, 60)
		d, client := damaged(fake, withPage("150"))
		var f followed
		query := horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour)}
		for i := range horseracing.RaceID(90) {
			fake.AddRaces(double.Finished(200+i, -time.Second)...)
			if i == 58 {
				d.change = func(body []byte) []byte { return withPage("240")(withPage("150")(body)) }
			}
			if i == 70 {
				fake.AddRaces(double.Finished(500, -40*time.Minute)...)
			}
			f.run(t, client, query, time.Minute)
		}
		late := time.Now().Add(-60 * time.Minute)
		if len(f.gaps) < 2 || f.times[500] == 0 && !f.isInGap(late) {
			t.Errorf("race 500 at %v came %d times, and is in no gap: %q", late, f.times[500], f.errors)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// The last instant of a page may continue in the next one, which cannot be read.
func TestAGapCoversTheInstantItsPageBeginsWith(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addEachMinute(fake, 9)
		tied := double.Finished(110, -10*time.Minute, -10*time.Minute, -10*time.Minute, -10*time.Minute-time.Second)
		fake.AddRaces(tied...)
		_, client := damaged(fake, withPage("113"))
		var f followed
		f.run(t, client, horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}, 3*time.Hour)
		missing := 0
		for _, race := range tied {
			if f.times[race.MainRaceID] == 0 {
				if missing++; !f.isInGap(race.StartTime.Time) {
					t.Errorf("race %d did not come, and no gap names it: %q", race.MainRaceID, f.errors)
				}
			}
		}
		if missing != 3 {
			t.Errorf("%d of the races did not come, want those on the page", missing)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// Whatever can be read, and whenever: each race comes once, or a gap names its
// time. Nothing is lost in silence.
func TestARaceThatDoesNotComeIsInAGap(t *testing.T) {
	t.Parallel()
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		change := func(body []byte) []byte { // every page with a race whose id ends in 00
			for i := 2; i <= 22; i++ {
				body = withPage(horseracing.NewNumber(int64(i * 100)).String())(body)
			}
			return body
		}
		starts := map[horseracing.RaceID]time.Time{}
		for i := range horseracing.RaceID(2200) {
			race := double.Finished(i+1, -time.Duration(i+1)*time.Minute)
			fake.AddRaces(race...)
			starts[i+1] = race[0].StartTime.Time
		}
		_, client := damaged(fake, change)
		var f followed
		f.run(t, client, horseracing.FollowQuery{Since: time.Now().Add(-100 * time.Hour), Interval: 10 * time.Minute}, 4*time.Hour)
		for id, start := range starts {
			if n := f.times[id]; n > 1 || n == 0 && !f.isInGap(start) {
				t.Errorf("race %d came %d times, and is in no gap", id, n)
			}
		}
		t.Logf("%d races of %d, %d gaps, cursors of up to %d bytes", len(f.times), len(starts), len(f.gaps), f.longest)
		if len(f.gaps) == 0 || len(f.times) < 600 || f.longest > 64<<10 {
			t.Error("that proves little")
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// unreadable damages a member of a race wherever it is shown.
func unreadable(id int) func([]byte) []byte {
	fee := regexp.MustCompile(fmt.Sprintf(`("main_race_id":%d,.*?"entry_fee":)\d+`, id))
	return func(body []byte) []byte { return fee.ReplaceAll(body, []byte(`$1{}`)) }
}

// brokenTimes counts the errors that name a race.
func (f *followed) brokenTimes(name string) (n int) {
	for _, text := range f.errors {
		if strings.Contains(text, name) {
			n++
		}
	}
	return n
}

func TestAnUnreadableRaceIsReportedOnce(t *testing.T) {
	t.Parallel()
	const lookback = time.Hour
	for name, test := range map[string]struct {
		repair    time.Duration // zero: never
		processes int
		handed    int
	}{
		"it stays unreadable":                        {0, 1, 0},
		"it stays unreadable, through restarts":      {0, 20, 0},
		"it can be read within Lookback":             {30 * time.Minute, 1, 1},
		"it can be read within Lookback, on restart": {30 * time.Minute, 20, 1},
		"it can be read too late":                    {3 * time.Hour, 1, 0},
	} {
		if testing.Short() && test.processes > 1 {
			continue
		}
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 100, 129, time.Minute)
			d, client := damaged(fake, unreadable(115))
			if test.repair > 0 {
				go func() { time.Sleep(test.repair); d.repair() }()
			}
			go func() {
				for id := horseracing.RaceID(200); id < 380; id++ {
					time.Sleep(time.Minute)
					fake.AddRaces(double.Finished(id, -time.Second)...)
				}
			}()
			var f followed
			query := horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour), Lookback: lookback, Interval: 5 * time.Minute}
			for range test.processes {
				f.run(t, client, query, 4*time.Hour/time.Duration(test.processes))
			}
			if f.brokenTimes("115") != 1 || len(f.errors) != 1 || f.times[115] != test.handed || d.struck == 0 {
				t.Errorf("handed out %d times: %q", f.times[115], f.errors)
			}
			delete(f.times, 115)
			double.Equal(t, "the other races", once(100, 114, 116, 129, 200, 379), f.times)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

func TestAnUnreadableRaceWithoutAnIDOrAStartIsReportedOnce(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"no id": func(b []byte) []byte {
			return []byte(strings.ReplaceAll(string(b), `"main_race_id":115,`, `"main_race_id":"?",`))
		},
		"no start": func(b []byte) []byte {
			return regexp.MustCompile(`("main_race_id":115,"start_time":)\d+`).ReplaceAll(b, []byte(`$1"soon"`))
		},
		"null": func(b []byte) []byte {
			return regexp.MustCompile(`\{"main_race_id":115,.*?\},(\{"main_race_id":114)`).ReplaceAll(b, []byte(`null,$1`))
		},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 100, 129, time.Minute)
			d, client := damaged(fake, change)
			var f followed
			f.run(t, client, horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour)}, 20*time.Minute)
			if d.struck == 0 || len(f.errors) != 1 || f.times[115] != 0 || len(f.times) != 29 {
				t.Errorf("%d races, errors %q", len(f.times), f.errors)
			}
			d.repair()
			f.run(t, client, horseracing.FollowQuery{}, 20*time.Minute)
			double.Equal(t, "races", once(100, 129), f.times)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}
