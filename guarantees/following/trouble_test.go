package following_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

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
