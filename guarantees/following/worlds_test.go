package following_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

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
	time.AfterFunc(time.Until(p.listed), func() {
		if p.result.After(p.listed) {
			d.fake.AddRaces(early)
			time.AfterFunc(time.Until(p.result), func() { d.fake.AddRaces(race) })
		} else {
			d.fake.AddRaces(race)
		}
	})
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
		double.RunBubble(t, fmt.Sprint(seed), func(t *testing.T, fake *horseracingtest.Server) {
			random := rand.New(rand.NewPCG(seed, 4))
			d := &day{random: random, fake: fake, began: time.Now(), length: 14*time.Hour + time.Duration(random.IntN(16))*time.Hour, races: map[horseracing.RaceID]plan{}}
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
				if !r.Finished() && !d.isPassed(r.StartTime.Time) {
					t.Errorf("race %+v came at %v without its result", d.races[r.MainRaceID], time.Now())
				}
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
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}
