package following_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

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
	cursor horseracing.Cursor
}

// run is one process that ends by itself: it resumes at the cursor, and keeps the
// one that its follower ends with.
func (f *followed) run(t *testing.T, c *horseracing.Client, q horseracing.FollowQuery, within time.Duration) {
	t.Helper()
	ctx := double.Within(t, within)
	f.cursor = f.process(t, ctx, c, q, 1<<30).Cursor()
}

// resumed returns a follower that resumes at the text of the cursor.
func (f *followed) resumed(t *testing.T, c *horseracing.Client, q horseracing.FollowQuery) *horseracing.Follower[horseracing.Race] {
	t.Helper()
	if f.times == nil {
		f.times = map[horseracing.RaceID]int{}
	}
	var err error
	if q.Resume, err = horseracing.ParseCursor(f.cursor.String()); err != nil {
		t.Fatal(err)
	}
	return c.Races.Follow(q)
}

// process is one process that is killed after n races: the cursor is stored with
// each race that is handled.
func (f *followed) process(t *testing.T, ctx context.Context, c *horseracing.Client, q horseracing.FollowQuery, n int) *horseracing.Follower[horseracing.Race] {
	t.Helper()
	follower := f.resumed(t, c, q)
	for race, err := range follower.All(ctx) {
		if errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Fatal(err)
		}
		if err != nil {
			f.errors = append(f.errors, err.Error())
			continue
		}
		f.times[race.MainRaceID]++
		f.cursor = follower.Cursor()
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

// A page that cannot be read is an error of each poll. What starts earlier comes, nothing
// that starts later does before it can be read, and then everything comes once. This is so
// too for the second page of the newest races, of which a poll reads two at first.
func TestAPageThatCannotBeReadHoldsUpWhatIsLater(t *testing.T) {
	for broken, races := range map[horseracing.RaceID]horseracing.RaceID{50: 100, 15: 28} {
		double.RunBubble(t, fmt.Sprintf("%d of %d", broken, races), func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 1, races, time.Minute)
			d, client := damaged(fake, withPage(fmt.Sprint(broken)))
			query := horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour)}
			var f followed
			f.process(t, double.ADay(t), fake.Client(), query, 1)
			f.run(t, client, query, 2*time.Hour)
			if n := horseracing.RaceID(len(f.times)); n < broken-10 || n >= broken || f.times[broken+1] > 0 || len(f.errors) < 5 {
				t.Errorf("%d races, errors %q", n, f.errors)
			}
			d.repair()
			f.run(t, client, query, time.Hour)
			double.Equal(t, "races", once(1, races), f.times)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
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

// Through restarts, too.
func TestAnUnreadableRaceIsReportedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		repair  time.Duration
		yielded int
	}{
		"it stays unreadable":            {24 * time.Hour, 0},
		"it can be read within Lookback": {30 * time.Minute, 1},
		"it can be read too late":        {2 * time.Hour, 0},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 100, 129, time.Minute)
			d, client := damaged(fake, unreadable(115))
			var f followed
			query := horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour), Interval: 5 * time.Minute}
			for range 12 {
				f.run(t, client, query, 15*time.Minute)
				addRaces(fake, horseracing.RaceID(200+len(f.times)), horseracing.RaceID(200+len(f.times)), time.Second)
				if test.repair -= 15 * time.Minute; test.repair == 0 {
					d.repair()
				}
			}
			if f.brokenTimes("115") != 1 || len(f.errors) != 1 || f.times[115] != test.yielded || len(f.times) < 40 || d.struck == 0 {
				t.Errorf("it came %d times, with errors %q", f.times[115], f.errors)
			}
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

// CatchUp ends with the error of an entry, and continues after it.
func TestCatchUpEndsWithTheErrorOfAnEntry(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 100, 109, time.Minute)
		_, client := damaged(fake, unreadable(105))
		follower := client.Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)})
		var counts []int
		for range 3 {
			n := 0
			for _, err := range follower.CatchUp(t.Context()) {
				if n++; err != nil {
					n += 100
				}
			}
			counts = append(counts, n)
		}
		double.Equal(t, "races of three loops, and 100 for an error", []int{106, 4, 0}, counts)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
