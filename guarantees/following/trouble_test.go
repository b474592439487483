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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// rewritten lets change rewrite the body of each response of status 200. It gets the body of
// the request, too.
func rewritten(change func(requested, body []byte) []byte) horseracing.Option {
	return double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		requested, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(requested))
		resp, err := next.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusOK {
			err = double.Rewrite(resp, func(body []byte) []byte { return change(requested, body) })
		}
		return resp, err
	})
}

// damaged returns a client that gets what change makes of each response, until it is repaired.
func damaged(fake *horseracingtest.Server, change func(body []byte) []byte) (c *horseracing.Client, repair func()) {
	isRepaired := new(atomic.Bool)
	return fake.Client(double.NoRetries(), rewritten(func(_, body []byte) []byte {
		if isRepaired.Load() {
			return body
		}
		return change(body)
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

// run is one process that ends by itself: it resumes at the cursor, and keeps the
// one that its follower ends with.
func (f *followed) run(t *testing.T, c *horseracing.Client, q horseracing.FollowQuery, within time.Duration) {
	t.Helper()
	f.cursor = f.process(t, within, c, q, 1<<30).Cursor()
}

// process is one process that is killed after n races: the cursor is stored with
// each race that is handled.
func (f *followed) process(t *testing.T, within time.Duration, c *horseracing.Client, q horseracing.FollowQuery, n int) *horseracing.Follower[horseracing.Race] {
	t.Helper()
	if f.times == nil {
		f.times = map[horseracing.RaceID]int{}
	}
	q.Resume = double.Must(horseracing.ParseCursor(f.cursor.String()))
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	follower := c.Races.Follow(q)
	loop := follower.All
	if f.isOnePoll {
		loop = follower.CatchUp
	}
	for race, err := range loop(ctx) {
		if n == 0 && f.isOnePoll && errors.Is(err, context.Canceled) {
			break
		}
		if errors.Is(err, horseracing.ErrInvalidArgument) || n <= 0 {
			t.Fatalf("%d races more than asked for: %v", -n, err)
		}
		if err != nil {
			f.errors = append(f.errors, err)
			continue
		}
		f.times[race.MainRaceID]++
		if f.yielded != nil {
			f.yielded(race)
		}
		f.cursor = follower.Cursor()
		if n--; n == 0 && race.MainRaceID%2 == 0 {
			break
		} else if n == 0 {
			cancel() // while the caller is at work
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
			f.process(t, time.Hour, fake.Client(), query, 1)
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

// day is a random day of races. Some are listed late, before their result or without ever having
// one, in ties, or without an id or a start that can be read.
type day struct {
	random *rand.Rand
	fake   *horseracingtest.Server
	began  time.Time
	length time.Duration
	races  map[horseracing.RaceID]plan
}

// plan is when a race starts, is listed, and has its result, if ever.
type plan struct{ start, listed, result time.Time }

var (
	lacksID    = regexp.MustCompile(`"main_race_id":\d*13,`)
	lacksStart = regexp.MustCompile(`("main_race_id":\d*77,"start_time":)\d+`)
)

func isDamaged(id horseracing.RaceID) bool { return id%100 == 13 || id%100 == 77 }

// minutes returns up to n minutes.
func (d *day) minutes(n int) time.Duration {
	return time.Duration(d.random.IntN(60*n)+1) * time.Second
}

// add lists a race, which starts at an instant, once it is due.
func (d *day) add(start time.Time) {
	p := plan{start, start.Add(d.minutes(2)), start}
	switch d.random.IntN(12) {
	case 0: // late
		p.listed = start.Add(d.minutes(50))
	case 1, 2: // before its result
		p.result = p.listed.Add(d.minutes(40))
	case 3: // before its result, which comes too late
		p.result = p.listed.Add(time.Hour + d.minutes(90))
	}
	race := double.Finished(horseracing.RaceID(len(d.races)+1), time.Until(start))[0]
	d.races[race.MainRaceID] = p
	early := race
	early.FinalOrder, early.Winners = nil, nil
	due := p.listed
	if p.result.After(p.listed) {
		at(p.listed, func() { d.fake.AddRaces(early) })
		due = p.result
	}
	at(due, func() { d.fake.AddRaces(race) })
}

// at calls f at an instant, or at once if that has passed: a timer of a bubble that has expired when it
// is made can crash Go 1.26 under the race detector.
func at(instant time.Time, f func()) {
	if wait := time.Until(instant); wait > 0 {
		time.AfterFunc(wait, f)
		return
	}
	f()
}

// isPassed reports whether a race is listed that starts more than Lookback later.
func (d *day) isPassed(start time.Time) bool {
	for _, p := range d.races {
		if p.start.Sub(start) > time.Hour && !p.listed.After(time.Now()) {
			return true
		}
	}
	return false
}

// fail makes the service fail: a quarter of the requests all day, or now and then, for hours, all of
// them or most, or every list is empty.
func (d *day) fail() {
	if d.random.IntN(4) == 0 {
		d.fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadGateway, Probability: 0.25, Times: -1})
		return
	}
	for range d.random.IntN(5) {
		fault := []horseracingtest.Fault{
			{Status: http.StatusBadGateway, Body: "<html>down</html>", Probability: 1},
			{Status: http.StatusBadGateway, Probability: 0.25 + 0.74*d.random.Float64()},
			{Status: http.StatusOK, Body: "[]", Probability: 1},
			{CutBody: 100, Probability: 0.5},
		}[d.random.IntN(4)]
		fault.Path, fault.Times, fault.Skip = double.ResultsPath, -1, d.random.IntN(30)
		lasts := time.Duration(d.random.Int64N(int64(d.length / 2)))
		time.AfterFunc(time.Duration(d.random.Int64N(int64(d.length/2-3*time.Hour))), func() {
			d.fake.Inject(fault)
			time.AfterFunc(lasts, d.fake.ClearFaults)
		})
	}
}

// client returns a client that gets some pages from a replica that lags by up to four minutes.
func (d *day) client() *horseracing.Client {
	type page struct {
		body []byte
		at   time.Time
	}
	var mu sync.Mutex
	pages, lagging, random := map[string]page{}, []float64{0, 0.3}[d.random.IntN(2)], rand.New(rand.NewPCG(d.random.Uint64(), 2))
	opts := []horseracing.Option{rewritten(func(requested, body []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		if old := pages[string(requested)]; time.Since(old.at) < 4*time.Minute && random.Float64() < lagging {
			body = old.body
		} else if len(body) > 100 {
			pages[string(requested)] = page{body, time.Now()}
		}
		return lacksStart.ReplaceAll(lacksID.ReplaceAll(body, []byte(`"main_race_id":"?",`)), []byte(`$1"soon"`))
	})}
	if d.random.IntN(2) == 0 {
		opts = append(opts, double.NoRetries())
	}
	return d.fake.Client(opts...)
}

// A follower reads a past and then a day, while the service fails, lags and lists wrongly, and its
// process is killed again and again. Each race comes once, with its result, unless a race that starts
// Lookback later was listed before it had one. On some days no race starts within Lookback of another.
func TestARandomDayLosesNoRace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(double.Worlds(12, 250, 2)) {
		random := rand.New(rand.NewPCG(seed, 4))
		readings := horseracingtest.Readings{Inclusive: random.IntN(3) == 0, EmptyList: []string{"", "null", "204"}[random.IntN(3)]}
		double.RunBubble(t, fmt.Sprint(seed), func(t *testing.T, fake *horseracingtest.Server) {
			length := 14*time.Hour + time.Duration(random.IntN(16))*time.Hour
			d := &day{random: random, fake: fake, began: time.Now(), length: length, races: map[horseracing.RaceID]plan{}}
			d.add(d.began.AddDate(0, -1, 0)) // a last page whose only entry has no start is an error
			for range random.IntN(400) {
				d.add(d.began.Add(-time.Duration(random.IntN(10))*30*time.Hour - d.minutes(1+random.IntN(1000))))
			}
			past := horseracing.RaceID(len(d.races))
			time.Sleep(4 * time.Hour) // until all of them are there
			query := horseracing.FollowQuery{
				Since: []time.Time{{}, time.UnixMilli(1), time.Now()}[random.IntN(3)], Interval: d.minutes(5), Concurrency: 1 + random.IntN(3),
			}
			f, client := followed{isOnePoll: true}, d.client()
			if query.Since.IsZero() {
				f.run(t, client, query, time.Hour)
			}
			end := time.Now().Add(d.length)
			for at, every := time.Now(), []int{3, 20, 180}[random.IntN(3)]; at.Before(end); {
				if d.add(at); random.IntN(20) > 0 {
					at = at.Add(d.minutes(every))
				}
			}
			d.fail()
			f.yielded = func(r *horseracing.Race) {
				double.FailIf(t, !r.Finished() && !d.isPassed(r.StartTime.Time), "race %+v came at %v without its result", d.races[r.MainRaceID], time.Now())
			}
			for calm := end.Add(-5 * time.Hour); time.Now().Before(calm); {
				f.isOnePoll = random.IntN(2) == 0
				follower := f.process(t, min(time.Until(calm), d.minutes(180)), client, query, 1+random.IntN([]int{1, 10, 500}[random.IntN(3)]))
				if f.isOnePoll && random.IntN(2) == 0 {
					f.cursor = follower.Cursor()
				}
				time.Sleep(query.Interval)
			}
			f.isOnePoll = false
			f.run(t, client, query, time.Until(end))
			for id, p := range d.races {
				n, isWanted := f.times[id], !isDamaged(id) && (id > past || !query.Since.IsZero() && !p.start.Before(query.Since))
				if n > 1 || n == 1 && !isWanted || n == 0 && isWanted && p.start.Before(end.Add(-3*time.Hour)) {
					t.Errorf("race %d of %d, %+v, came %d times until %v", id, len(d.races), p, n, end)
				}
			}
		}, append(quietly, horseracingtest.WithReadings(readings))...)
	}
}
