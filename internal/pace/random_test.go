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
		s.ra, said = seconds, "seconds"
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
	worst, most := 2.0, 0.0
	for seed := range uint64(60) {
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
	if worst < 0.9 || most > 0.06 {
		t.Errorf("the worst got %.1f %% of its limit; at most %.1f %% were refused", 100*worst, 100*most)
	}
}

// TestARaisedLimitIsFound: from a minute later on nine tenths of the new one
// are used, over twenty seconds, of which a refusal may cost one.
func TestARaisedLimitIsFound(t *testing.T) {
	for name, ra := range map[string]func(time.Duration) time.Duration{"without Retry-After": nil, "with Retry-After": seconds} {
		for _, c := range []struct{ rate, burst float64 }{{2, 10}, {10, 1}, {10, 10}, {20, 40}, {40, 10}} {
			for seed := range uint64(10) {
				raised := 3*time.Minute + time.Duration(seed)*4*time.Second
				s := scenario{workers: 16, length: 6 * time.Minute, ra: ra, limit: func() limit {
					return &changing{bucket: *newBucket(c.rate, c.burst), steps: []step{{0, c.rate}, {raised, 5 * c.rate}}}
				}}
				all := s.run(seed, func(w *world) sender { return New(w.random.Float64, time.Second, time.Minute) })
				first := raised + time.Minute
				if share := all[0].perSecond(first, first+20*time.Second) / (5 * c.rate); share < 0.9 {
					t.Errorf("%v a second, bursts of %v, %s, seed %d: a minute after the limit was raised %.0f %% of it are used", c.rate, c.burst, name, seed, 100*share)
				}
			}
		}
	}
}

// TestALimitThatFellForGood: is tried more often at first, in case it comes
// back, and then no more often than any other. A refusal costs a second.
func TestALimitThatFellForGood(t *testing.T) {
	fallen := 2 * time.Minute
	s := scenario{workers: 16, length: 22 * time.Minute, ra: seconds, limit: func() limit {
		return &changing{bucket: *newBucket(50, 1), steps: []step{{0, 50}, {fallen, 20}}}
	}}
	all := s.run(1, func(w *world) sender { return New(w.random.Float64, time.Second, time.Minute) })
	used := func(from time.Duration) float64 { return all[0].perSecond(from, from+6*time.Minute) / 20 }
	first, last := used(fallen+time.Minute), used(fallen+13*time.Minute)
	t.Logf("%.1f %%, then %.1f %%", 100*first, 100*last)
	if last < first+0.01 || last < 0.965 {
		t.Errorf("%.1f %% are used from the second minute on, %.1f %% from the 14th", 100*first, 100*last)
	}
}

// TestALimitThatFellFarIsFoundSoon: even where responses take so long that no
// second request is sent before the next refusal, each of which costs a second.
func TestALimitThatFellFarIsFoundSoon(t *testing.T) {
	fallen := 2 * time.Minute
	s := scenario{workers: 16, length: 5 * time.Minute, ra: seconds, work: exactly(200 * time.Millisecond), limit: func() limit {
		return &changing{bucket: *newBucket(50, 1), steps: []step{{0, 50}, {fallen, 2}}}
	}}
	all := s.run(1, func(w *world) sender { return New(w.random.Float64, time.Second, time.Minute) })
	if share := all[0].perSecond(fallen+30*time.Second, s.length) / 2; share < 0.8 {
		t.Errorf("half a minute later %.0f %% are used", 100*share)
	}
}

// slowing is a service that becomes slower the more it has to do, and refuses nothing.
type slowing struct {
	none
	busy *int
}

func (s slowing) admit(time.Time) (bool, time.Duration) { *s.busy++; return true, 0 }
func (s slowing) done(time.Time)                        { *s.busy-- }

// TestAServiceThatOnlySlowsDownGetsEverything: no refusal, no limit.
func TestAServiceThatOnlySlowsDownGetsEverything(t *testing.T) {
	busy := 0
	s := scenario{workers: 16, length: time.Minute, limit: func() limit { return slowing{busy: &busy} },
		work: func(*rand.Rand) time.Duration { return time.Duration(busy) * 5 * time.Millisecond }}
	var e *Engine
	all := s.run(1, func(w *world) sender { e = New(w.random.Float64, time.Second, time.Minute); return e })
	if got := e.State(simStart); got.PerSecond != 0 || got.InFlight != 0 || all[0].accepted < 11_000 {
		t.Errorf("%d accepted, and a limit was learned: %+v", all[0].accepted, got)
	}
}

// moody refuses requests at random, whatever their rate.
type moody struct {
	none
	random *rand.Rand
	share  float64
}

func (m moody) admit(time.Time) (bool, time.Duration) {
	return m.random.Float64() >= m.share, time.Second
}

// atRandom returns how many requests a second are accepted where that share of
// them is refused at random, by a service that could accept 800.
func atRandom(share float64, ra func(time.Duration) time.Duration, length time.Duration, seed uint64) float64 {
	s := scenario{workers: 16, length: length, ra: ra, limit: func() limit {
		return moody{random: rand.New(rand.NewPCG(seed, 2)), share: share}
	}}
	all := s.run(seed, func(w *world) sender { return New(w.random.Float64, time.Second, time.Minute) })
	return float64(all[0].accepted) / s.length.Seconds()
}

// TestRefusalsAtRandomAreNoLimit: they are as frequent at any rate.
func TestRefusalsAtRandomAreNoLimit(t *testing.T) {
	for share, want := range map[float64]float64{0.01: 500, 0.05: 350, 0.2: 50} {
		for seed := range uint64(3) {
			if accepted := atRandom(share, nil, 3*time.Minute, seed); accepted < want {
				t.Errorf("%.0f %% refused, seed %d: %.0f a second accepted, want %.0f", 100*share, seed, accepted, want)
			}
		}
	}
}

// BenchmarkRefusalsAtRandom shows what they cost.
func BenchmarkRefusalsAtRandom(b *testing.B) {
	for _, share := range []float64{0.01, 0.05, 0.2, 0.5} {
		for name, ra := range map[string]func(time.Duration) time.Duration{"none": nil, "s": seconds} {
			b.Run(fmt.Sprintf("%.0f %%, ra %s", 100*share, name), func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(atRandom(share, ra, 10*time.Minute, 1), "accepted/s")
				}
			})
		}
	}
}
