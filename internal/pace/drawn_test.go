package pace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// randomLimit draws a limit of any kind, and how far away the service is.
func randomLimit(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 11))
	s := scenario{workers: 16, length: 10 * time.Minute, work: exactly(time.Duration(2+r.IntN(200)) * time.Millisecond)}
	rate := 2 * float64(uint64(1)<<r.IntN(6)) * (1 + r.Float64())
	said := "nothing"
	if r.IntN(2) == 0 {
		s.ra, said = roundedUp, "seconds"
	}
	switch r.IntN(3) {
	case 0:
		burst := 2 + r.Float64()*2*rate
		s.name = fmt.Sprintf("%.1f a second, bursts of %.0f, Retry-After %s", rate, burst, said)
		s.limit = func() limit { return newBucket(rate, burst) }
	case 1:
		w := window{most: max(int(10*rate), 1), length: 10 * time.Second, sliding: r.IntN(2) == 0}
		s.name = fmt.Sprintf("%d in %v, sliding %v, Retry-After %s", w.most, w.length, w.sliding, said)
		s.limit = func() limit { c := w; return &c }
	default:
		w := window{most: max(int(60*rate*0.6), 1), length: time.Minute}
		s.name = fmt.Sprintf("%.1f a second and %d a minute, Retry-After %s", rate, w.most, said)
		s.limit = func() limit { c := w; return both{newBucket(rate, rate), &c} }
	}
	if able := float64(s.workers) / s.work(r).Seconds(); able < 1.2*rate {
		s.workers = int(1.3*rate*s.work(r).Seconds()) + 16
	}
	return s
}

// TestLimitsDrawnAtRandom: the worst of many is not far behind the rest.
func TestLimitsDrawnAtRandom(t *testing.T) {
	simulates(t)
	worst, most := 2.0, 0.0
	seeds := uint64(6)
	if deep {
		seeds = 40
	}
	for seed := range seeds {
		s := randomLimit(seed)
		r := s.measure(seed)
		if share := max(r.share, r.ofOracle); share < worst {
			worst = share
			t.Logf("%.1f %% of the limit: %s", 100*share, s.name)
		}
		if r.refused > most {
			most = r.refused
			t.Logf("%.1f %% refused: %s", 100*most, s.name)
		}
	}
	if worst < 0.8 || most > 0.06 {
		t.Errorf("the worst got %.1f %% of its limit; at most %.1f %% were refused", 100*worst, 100*most)
	}
}

// TestARaisedLimitIsFound: from a minute and a half later on 75 % of the
// new one are used, over forty seconds, of which a refusal may cost one.
func TestARaisedLimitIsFound(t *testing.T) {
	simulates(t)
	for name, ra := range map[string]func(time.Duration) time.Duration{"without Retry-After": nil, "with Retry-After": roundedUp} {
		for _, c := range []struct{ rate, burst float64 }{{2, 10}, {10, 1}, {10, 10}, {20, 40}, {40, 10}} {
			for seed := range uint64(3) {
				raised := 3*time.Minute + time.Duration(seed)*4*time.Second
				s := scenario{workers: 16, length: 6 * time.Minute, ra: ra, limit: func() limit {
					return &changing{bucket: *newBucket(c.rate, c.burst), steps: []step{{0, c.rate}, {raised, 5 * c.rate}}}
				}}
				all := s.run(seed, func(w *world) sender { return newPace(w.random.Float64) })
				first := raised + 90*time.Second
				if share := all[0].perSecond(first, first+40*time.Second) / (5 * c.rate); share < 0.75 {
					t.Errorf("%v a second, bursts of %v, %s, seed %d: a minute and a half after the limit was raised %.0f %% of it are used", c.rate, c.burst, name, seed, 100*share)
				}
			}
		}
	}
}
