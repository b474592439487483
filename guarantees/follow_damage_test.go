package guarantees_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// damage changes the responses of a fake on their way.
type damage struct {
	through http.RoundTripper
	mu      sync.Mutex
	change  func(body []byte) []byte // nil: they pass as they are
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
	return d, fake.Client(noRetries(), horseracing.WithHTTPClient(&http.Client{Transport: d}))
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

// withPage cuts every page that shows a race behind that race.
func withPage(id string) func([]byte) []byte {
	return func(body []byte) []byte {
		if i := bytes.Index(body, []byte(`"main_race_id":`+id+`,`)); i >= 0 {
			return body[:i]
		}
		return body
	}
}

// followed is what a follower handed out within a time.
type followed struct {
	times  map[horseracing.RaceID]int
	errors []string
	cursor horseracing.Cursor

	longest int // text of a cursor
}

func (f *followed) run(t *testing.T, c *horseracing.Client, q horseracing.FollowQuery, within time.Duration) {
	t.Helper()
	if f.times == nil {
		f.times = map[horseracing.RaceID]int{}
	}
	if !f.cursor.IsZero() {
		q.Resume = f.cursor
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	follower := c.Races.Follow(q)
	for race, err := range follower.All(ctx) {
		if err != nil {
			f.errors = append(f.errors, err.Error())
			continue
		}
		f.times[race.MainRaceID]++
		f.longest = max(f.longest, len(follower.Cursor().String()))
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

func TestFollowHandsOutWhatLiesRoundAPageThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range horseracing.RaceID(60) {
			fake.AddRaces(finished(100+i, -time.Duration(i+1)*time.Minute)...)
		}
		d, client := damaged(fake, withPage("130"))
		query := horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour)}
		var f followed
		f.run(t, client, query, 2*time.Hour)
		// Every page that shows race 130 is unreadable: only the nine races above
		// it can be missing.
		missing := 0
		for id := horseracing.RaceID(100); id < 160; id++ {
			if f.times[id] == 0 {
				if missing++; id < 121 || id > 130 {
					t.Errorf("race %d was not handed out", id)
				}
			}
		}
		if missing == 0 || len(f.errors) != 1 || d.struck == 0 {
			t.Errorf("%d missing, errors %q", missing, f.errors)
		}
		fake.AddRaces(finished(200, -time.Second)...) // what is newer comes at once
		f.run(t, client, query, time.Minute)
		if f.times[200] != 1 {
			t.Error("a newer race waits")
		}
		d.repair()
		f.run(t, client, query, 10*time.Minute)
		if diff := gocmp.Diff(once(100, 159, 200, 200), f.times); diff != "" || len(f.errors) != 1 {
			t.Errorf("errors %q, races (-want +got):\n%s", f.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// An hour of following costs little more with a page that stays unreadable, and
// neither its cursor nor its memory grows.
func TestAPageThatStaysUnreadableCostsLittle(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		broken := finished(7, -30*time.Minute)[0]
		fake.AddRaces(broken)
		d, client := damaged(fake, withPage("7"))
		query := horseracing.FollowQuery{Since: time.Now().Add(-time.Hour), Interval: 2 * time.Minute}
		var f followed
		var perHour [2]int
		d.repair()
		f.run(t, client, horseracing.FollowQuery{Since: query.Since, Interval: query.Interval}, 2*time.Hour)
		fake.ResetLog()
		f = followed{}
		f.run(t, client, query, time.Hour)
		perHour[0] = fake.RequestCount()
		length := len(f.cursor.String())
		d.change = withPage("7")
		f = followed{}
		for range 12 {
			f.run(t, client, query, 2*time.Hour)
		}
		fake.ResetLog()
		f.run(t, client, query, time.Hour)
		perHour[1] = fake.RequestCount()
		t.Logf("%d requests an hour, with an unreadable page a day ago %d; cursors of %d and %d bytes; %d errors", perHour[0], perHour[1], length, len(f.cursor.String()), len(f.errors))
		if perHour[1] > perHour[0]+perHour[0]/3+20 || len(f.cursor.String()) > 2*length+300 || d.struck < 50 {
			t.Error("it costs more than that")
		}
		before := len(f.times)
		d.repair()
		f.run(t, client, query, time.Hour)
		if f.times[7] != 1 || len(f.times) <= before {
			t.Errorf("race 7 came %d times once it could be read", f.times[7])
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(20))
}

// What had finished before a Follow from now on began is not handed out, nor
// is what hides behind a page that the first poll could not read.
func TestFollowFromNowHandsOutNothingOldBehindAPageThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range horseracing.RaceID(60) {
			fake.AddRaces(finished(100+i, -time.Duration(i+1)*time.Minute)...)
		}
		d, client := damaged(fake, withPage("125"))
		var f followed
		f.run(t, client, horseracing.FollowQuery{}, 30*time.Minute)
		late := finished(200, -70*time.Minute)[0] // within an hour of the newest, below the hole
		late.StartTime = horseracing.NewTimestamp(time.Now().Add(-80 * time.Minute))
		fake.AddRaces(late)
		fake.AddRaces(finished(201, -time.Second)...)
		f.run(t, client, horseracing.FollowQuery{}, 30*time.Minute)
		if d.struck == 0 {
			t.Fatal("nothing was damaged")
		}
		d.repair()
		f.run(t, client, horseracing.FollowQuery{}, 3*time.Hour)
		if diff := gocmp.Diff(once(200, 201), f.times); diff != "" {
			t.Error(diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowReadsALongPastRoundAPageThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		all := results(t, fake)
		var broken horseracing.RaceID
		n := 0
		for race, err := range fake.Client().Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 600 {
				broken = race.MainRaceID
			}
		}
		d, client := damaged(fake, withPage(horseracing.NewNumber(int64(broken)).String()))
		var f followed
		fake.ResetLog()
		f.run(t, client, horseracing.FollowQuery{Since: time.Unix(0, 0)}, 2*time.Hour)
		if got := len(f.times); got < len(all)-10 || got == len(all) || len(f.errors) > 2 || fake.RequestCount() > 2*len(all)/9+1000 {
			t.Errorf("%d races of %d, %d requests, errors %q", got, len(all), fake.RequestCount(), f.errors)
		}
		if f.longest > 1000 {
			t.Errorf("a cursor of %d bytes", f.longest)
		}
		d.repair()
		f.run(t, client, horseracing.FollowQuery{}, 10*time.Minute)
		for id := range all {
			if f.times[id] != 1 {
				t.Errorf("race %d came %d times", id, f.times[id])
			}
		}
	}, horseracingtest.WithHistory(3000), horseracingtest.WithSchedule(0))
}

func TestALostHoleIsReported(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		change := func(body []byte) []byte { // every race whose id ends in 00
			for i := 2; i <= 22; i++ {
				body = withPage(horseracing.NewNumber(int64(i * 100)).String())(body)
			}
			return body
		}
		for i := range horseracing.RaceID(2200) {
			fake.AddRaces(finished(i+1, -time.Duration(i+1)*time.Minute)...)
		}
		_, client := damaged(fake, change)
		var f followed
		f.run(t, client, horseracing.FollowQuery{Since: time.Now().Add(-100 * time.Hour)}, 2*time.Hour)
		dropped := 0
		for _, text := range f.errors {
			if strings.Contains(text, "could not be read, and this follower does not read them again: ") {
				dropped++
			}
		}
		if dropped == 0 || len(f.times) < 1950 || len(f.cursor.String()) > 4000 {
			t.Errorf("%d holes dropped, %d races, a cursor of %d bytes", dropped, len(f.times), len(f.cursor.String()))
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
