package pace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// sheds refuses a share of the requests at random, however many there are.
type sheds struct {
	none
	share  float64
	random *rand.Rand
}

func newSheds(share float64, seed uint64) *sheds {
	return &sheds{share: share, random: rand.New(rand.NewPCG(seed, 5))}
}

func (l *sheds) admit(time.Time) (bool, time.Duration) { return l.random.Float64() >= l.share, 0 }

// turns is the service of another limit every so often.
type turns struct {
	limits []limit
	each   time.Duration
}

func (l *turns) now(now time.Time) limit {
	return l.limits[int(now.Sub(simStart)/l.each)%len(l.limits)]
}
func (l *turns) admit(now time.Time) (bool, time.Duration) { return l.now(now).admit(now) }
func (l *turns) done(time.Time)                            {}
func (l *turns) best(d time.Duration) float64              { return none{}.best(d) }
func (l *turns) allowed(from, to time.Time) float64        { return none{}.allowed(from, to) }

// others use the limit too, at random times.
func (w *world) others(limit limit, perSecond float64) {
	var arrive func()
	arrive = func() {
		limit.admit(w.now)
		w.after(time.Duration(w.random.ExpFloat64()/perSecond*float64(time.Second)), arrive)
	}
	arrive()
}

var retryAfters = []struct {
	name string
	of   func(time.Duration) time.Duration
}{{"none", nil}, {"1 s", always(time.Second)}}

// deep has the tests of load shedding run two hundred seeds on which the constants
// were not chosen, and ask for less. Otherwise they run the twenty on which they were.
var deep = os.Getenv("HORSERACING_DEEP") != ""

func seedsAtRandom() (seeds []uint64) {
	n, first := uint64(20), uint64(0)
	if deep {
		n, first = 200, 20_000
	}
	for seed := first; seed < first+n; seed++ {
		seeds = append(seeds, seed)
	}
	return seeds
}

// randomRefusals has the pages a second that a crawl of 2,000 gets at least: without
// Retry-After a third of what a plain retry loop gets.
var randomRefusals = []struct{ share, perSecond, withRetryAfter float64 }{
	{0.01, 131, 5}, {0.05, 60, 0.8}, {0.15, 21, 0.3},
}

// crawlAtRandom returns the pages a second of a crawl of 2,000, and its pace.
func crawlAtRandom(share float64, retryAfter func(time.Duration) time.Duration, seed uint64) (perSecond float64, e *Routes) {
	w, t := newWorld(seed), &tally{}
	e = newPace(w.random.Float64)
	svc := scenario{limit: func() limit { return newSheds(share, seed) }, ra: retryAfter}.service()
	svc.unavailable = seed%2 == 1 // the same as 429
	w.crawl(e, svc, 16, t)
	for t.accepted < 2000 && w.now.Sub(simStart) < time.Hour {
		w.run(w.now.Add(time.Second / 10))
	}
	return float64(t.accepted) / w.now.Sub(simStart).Seconds(), e
}

// TestRefusalsAtRandomDoNotSlowDown: a share of all requests is refused, whatever the rate.
func TestRefusalsAtRandomDoNotSlowDown(t *testing.T) {
	simulates(t)
	for _, test := range randomRefusals {
		for i, want := range []float64{test.perSecond, test.withRetryAfter} {
			t.Run(fmt.Sprintf("%v, Retry-After %s", test.share, retryAfters[i].name), func(t *testing.T) {
				var got []float64
				for _, seed := range seedsAtRandom() {
					perSecond, _ := crawlAtRandom(test.share, retryAfters[i].of, seed)
					got = append(got, perSecond)
				}
				slices.Sort(got)
				n := len(got)
				t.Logf("%.0f to %.0f pages a second, 19 of 20 runs at least %.0f, half of them %.0f", got[0], got[n-1], got[(n-1)/20], got[n/2])
				if deep {
					want /= 2
				}
				if least := got[(n-1)/20]; least < want {
					t.Errorf("%.1f pages a second, want %v", least, want)
				}
			})
		}
	}
}

// TestFromRandomRefusalsToALimitAndBack: each is used to 70 % from a minute later on, in
// nine of ten turns.
func TestFromRandomRefusalsToALimitAndBack(t *testing.T) {
	simulates(t)
	const each = 2 * time.Minute
	noticed, missed := [2]int{}, 0
	seeds := seedsAtRandom()
	if !deep { // a turn of load shedding has 100,000 requests
		seeds = seeds[:5]
	}
	for i, least := range []float64{21 * 0.7, 3 * 0.7} {
		for _, seed := range seeds {
			w, tally := newWorld(seed), &tally{}
			l := &turns{[]limit{newSheds(0.15, seed), newBucket(20, 10)}, each}
			e := newPace(w.random.Float64)
			w.crawl(e, scenario{limit: func() limit { return l }, ra: retryAfters[i].of}.service(), 16, tally)
			for turn := range 4 {
				w.run(simStart.Add(time.Duration(turn+1) * each))
				got, want := tally.perSecond(each*time.Duration(turn)+time.Minute, each*time.Duration(turn+1)), least
				if turn%2 == 1 {
					want = 14
				}
				if e.State(w.now).AtRandom == (turn%2 == 0) {
					noticed[turn%2]++
				}
				if got < want {
					missed++
					t.Logf("seed %d, turn %d, Retry-After %s: %.1f a second", seed, turn, retryAfters[i].name, got)
				}
			}
		}
	}
	turns, sure := 4*len(seeds), 0.5 // turns of each kind; the share in which it is right
	if deep {
		sure = 0.4
	}
	t.Logf("%d of %d turns are used to less than 70 %%; at the end of each it noticed what is so %v times", missed, 2*turns, noticed)
	if missed > turns/5 || float64(min(noticed[0], noticed[1])) < sure*float64(turns) {
		t.Error("that is too seldom")
	}
}

// TestFewAreRefusedByALimit, of a client alone and of several that do not know of each
// other, because they do not take a limit for load shedding for long.
func TestFewAreRefusedByALimit(t *testing.T) {
	simulates(t)
	seeds, inFlight := uint64(1), []int{2, 8}
	if deep {
		seeds, inFlight = 6, []int{2, 4, 8, 16}
	}
	for _, test := range []struct {
		clients     int
		mean, worst float64 // share of the requests in five minutes
	}{{1, 0.025, 0.1}, {2, 0.07, 0.25}, {3, 0.12, 0.45}, {5, 0.2, 0.5}} {
		var sum, worst, runs float64
		for _, rate := range []float64{2, 5, 10, 20, 40} {
			for _, burst := range []float64{2, 3, 5, 10} {
				for _, workers := range inFlight {
					for seed := range seeds {
						w, tally := newWorld(seed), &tally{}
						svc := scenario{limit: func() limit { return newBucket(rate, burst) }}.service()
						for range test.clients {
							w.crawl(newPace(w.random.Float64), svc, workers, tally)
						}
						w.run(simStart.Add(5 * time.Minute))
						share := float64(tally.refused) / float64(tally.refused+tally.accepted)
						sum, worst, runs = sum+share, max(worst, share), runs+1
					}
				}
			}
		}
		t.Logf("%d clients: %.1f %% are refused, at worst %.0f %%", test.clients, 100*sum/runs, 100*worst)
		if sum/runs > test.mean || worst > test.worst {
			t.Errorf("%d clients: %.1f %% are refused, at worst %.0f %%", test.clients, 100*sum/runs, 100*worst)
		}
	}
}

// TestALimitThatOthersUseUp is not taken for load shedding.
func TestALimitThatOthersUseUp(t *testing.T) {
	simulates(t)
	for _, test := range []struct{ others, least, most float64 }{{80, 15, 25}, {95, 5, 14}} {
		for seed := range uint64(4) {
			w, tally := newWorld(seed), &tally{}
			l := newBucket(100, 20)
			w.others(l, test.others)
			e := newPace(w.random.Float64)
			w.crawl(e, scenario{limit: func() limit { return l }}.service(), 16, tally)
			w.run(simStart.Add(10 * time.Minute))
			got, share := tally.perSecond(0, 10*time.Minute), float64(tally.refused)/float64(tally.refused+tally.accepted)
			t.Logf("others take %v, seed %d: %.1f a second, %.1f %% refused", test.others, seed, got, 100*share)
			if got < test.least || got > test.most {
				t.Errorf("others take %v, seed %d: %.1f a second", test.others, seed, got)
			}
		}
	}
}

// TestThirtyPercentAtRandom of refusals leave something.
func TestThirtyPercentAtRandom(t *testing.T) {
	for seed := range uint64(5) {
		if perSecond, _ := crawlAtRandom(0.3, nil, 7000+seed); perSecond < 1 {
			t.Errorf("seed %d: %.1f pages a second", seed, perSecond)
		}
	}
}
