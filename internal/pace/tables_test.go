package pace

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// deep has every table run whole, with five seeds a row. Otherwise a part of each runs once.
var deep = os.Getenv("HORSERACING_DEEP") != ""

// row is something that is measured, and what is aimed at.
type row struct {
	name    string
	measure func(seed uint64) (used, refused float64)
	used    float64 // at least, of a limit or of what the name says
	refused float64 // at most, of the requests
	isOften bool    // without deep, too
	seeds   int     // 1 unless more, and with deep 5 unless more
}

// skipIfShort skips a long simulation in one goroutine, in which the race detector finds nothing.
func skipIfShort(t *testing.T) {
	if testing.Short() {
		t.Skip("a long simulation in one goroutine")
	}
}

// check measures rows, and fails for the medians that miss their aims.
func check(t *testing.T, rows []row) {
	skipIfShort(t)
	for _, r := range rows {
		seeds := max(1, r.seeds)
		if deep {
			seeds = max(5, r.seeds)
		}
		if !deep && !r.isOften {
			continue
		}
		var used, refused []float64
		for seed := range seeds {
			u, f := r.measure(uint64(7000 + seed))
			used, refused = append(used, u), append(refused, f)
		}
		slices.Sort(used)
		slices.Sort(refused)
		u, f, note := used[seeds/2], refused[seeds/2], ""
		if u < r.used || f > r.refused {
			t.Fail()
			note = ": misses its aim"
		}
		t.Logf("%-52s %6.1f (%.1f) / %.1f (%.1f) %%%s", r.name, 100*u, 100*used[0], 100*f, 100*refused[seeds-1], note)
	}
}

// trial is a few clients of one limit, measured between two times since they began.
type trial struct {
	limit    func(seed uint64) limit
	service  service // its limit is replaced
	clients  int     // 1 if zero
	workers  int
	from, to time.Duration
}

// run returns how many requests a second were accepted of each client, and the share of all
// requests that was refused, in a longer trial after the first minute.
func (r trial) run(seed uint64) (perSecond []float64, refused float64) {
	w, svc := newWorld(seed), r.service
	svc.limit = r.limit(seed)
	clients := make([]*caller, max(1, r.clients))
	for i := range clients {
		clients[i] = w.crawl(&svc, r.workers)
	}
	w.run(simStart.Add(r.from))
	for _, c := range clients {
		clear(c.accepted)
	}
	if r.to > time.Minute {
		w.run(simStart.Add(max(r.from, time.Minute)))
	}
	svc.served, svc.refused = 0, 0
	w.run(simStart.Add(r.to))
	for _, c := range clients {
		perSecond = append(perSecond, float64(c.accepted["walk"])/(r.to-r.from).Seconds())
	}
	return perSecond, svc.refusedShare()
}

// of measures one client against a rate.
func (r trial) of(best float64) func(seed uint64) (used, refused float64) {
	return func(seed uint64) (used, refused float64) {
		perSecond, refused := r.run(seed)
		return perSecond[0] / best, refused
	}
}

// each returns a limit of the same kind, whatever the seed.
func each(next func() limit) func(uint64) limit { return func(uint64) limit { return next() } }

func bucket(rate, burst float64, changes ...change) func(uint64) limit {
	return each(func() limit { return newBucket(rate, burst, changes...) })
}

func window(most int, length time.Duration, slides bool) func(uint64) limit {
	return each(func() limit { return newWindow(most, length, slides) })
}

func unlimited(uint64) limit { return none }

// behind is a crawl of sixteen workers.
func behind(limit func(uint64) limit, retryAfter func(time.Duration) time.Duration, from, to time.Duration) trial {
	return trial{limit: limit, service: service{retryAfter: retryAfter}, workers: 16, from: from, to: to}
}

// TestKindsOfLimits: in the first ten minutes behind a limit of any usual kind 85 % of it are
// used, and after the first minute 5 % at most are refused.
func TestKindsOfLimits(t *testing.T) {
	const s, minute = time.Second, time.Minute
	inFlight := behind(unlimited, nil, 0, 10*minute)
	inFlight.service.inFlight = 4
	first := inFlight
	first.to = 20 * time.Second
	kind := func(limit func(uint64) limit, retryAfter func(time.Duration) time.Duration, best float64) func(uint64) (float64, float64) {
		return behind(limit, retryAfter, 0, 10*minute).of(best)
	}
	two := each(func() limit { return both(newBucket(12, 12), newWindow(400, minute, false)) })
	check(t, []row{
		{"50 a second, burst 10, Retry-After", kind(bucket(50, 10), roundedUp, 50), 0.85, 0.05, true, 0},
		{"50 a second, burst 10", kind(bucket(50, 10), nil, 50), 0.85, 0.05, true, 0},
		{"5 a second, burst 5", kind(bucket(5, 5), nil, 5), 0.85, 0.05, true, 0},
		{"60 in 10 s, Retry-After", kind(window(60, 10*s, false), roundedUp, 6), 0.85, 0.05, true, 0},
		{"60 in 10 s", kind(window(60, 10*s, false), nil, 6), 0.85, 0.05, true, 0},
		{"23 in 3 s, sliding", kind(window(23, 3*s, true), nil, 23.0/3), 0.85, 0.05, true, 0},
		{"90 in 30 s, sliding, Retry-After dated", kind(window(90, 30*s, true), dated, 3), 0.85, 0.05, true, 0},
		{"12 a second and 400 a minute", kind(two, nil, 400.0/60), 0.85, 0.05, true, 0},
		{"50 a second, then 10, then 50", kind(bucket(50, 10, change{3 * minute, 10}, change{6 * minute, 50}), nil, 38), 0.85, 0.05, true, 0},
		{"4 in flight", inFlight.of(4 / 0.02), 0.85, 0.05, true, 0},
		{"no limit", kind(unlimited, nil, 16/0.02), 0.85, 0.05, false, 0},
		{"4 in flight, the first twenty seconds", first.of(4 / 0.02), 0.75, 0.05, true, 0},
		{"50 a second, Retry-After, the first 2,000 pages", func(seed uint64) (used, refused float64) {
			c := newWorld(seed).crawl(&service{limit: newBucket(50, 10), retryAfter: roundedUp}, 16)
			for c.served < 2000 {
				c.run(c.now.Add(50 * time.Millisecond))
			}
			return 40 / c.now.Sub(simStart).Seconds(), c.refusedShare()
		}, 0.84, 0.05, true, 5},
	})
}

func dated(d time.Duration) time.Duration { return max(0, d-500*time.Millisecond) }

// TestThePaceDoesNotDecay: in minutes 20 to 120, or in the second hour of a limit of an hour,
// which a burst uses up, 85 % are used and 12 % at most are refused.
func TestThePaceDoesNotDecay(t *testing.T) {
	var rows []row
	for _, size := range []struct {
		most   int
		length time.Duration
	}{{5, 10 * time.Second}, {30, time.Minute}, {60, time.Minute}, {100, time.Minute}, {90, 30 * time.Second}, {200, 5 * time.Minute}, {1000, time.Hour}} {
		perSecond := float64(size.most) / size.length.Seconds()
		shapes := []string{"bucket", "fixed", "sliding"}
		for i, next := range []func(uint64) limit{
			bucket(perSecond, float64(size.most)), window(size.most, size.length, false), window(size.most, size.length, true),
		} {
			for form, retryAfter := range map[string]func(time.Duration) time.Duration{
				"none": nil, "right": roundedUp, "dated": dated,
				"zero":   always(0),
				"halved": func(d time.Duration) time.Duration { return roundedUp(d) / 2 },
			} {
				name := fmt.Sprintf("%d in %v, %s, Retry-After %s", size.most, size.length, shapes[i], form)
				c := trial{limit: next, service: service{retryAfter: retryAfter}, workers: 4, from: max(20*time.Minute, size.length), to: 2 * time.Hour}
				isOften := i == 2 && (form == "none" || form == "right") || size.length == time.Hour && form == "none"
				rows = append(rows, row{name, c.of(perSecond), 0.85, 0.12, isOften, 0})
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	check(t, rows)
}

// TestSeveralClientsShareALimit within a factor of two, in minutes 5 to 15, if it is a bucket.
// Several share a window less evenly.
func TestSeveralClientsShareALimit(t *testing.T) {
	var rows []row
	for _, clients := range []int{2, 5, 10} {
		for i, kind := range []struct {
			name       string
			limit      func(uint64) limit
			retryAfter func(time.Duration) time.Duration
		}{
			{"50 a second, burst 10", bucket(50, 10), nil},
			{"50 a second, burst 50", bucket(50, 50), nil},
			{"50 a second, burst 50, Retry-After", bucket(50, 50), roundedUp},
			{"60 in 10 s", window(60, 10*time.Second, false), nil},
		} {
			c := behind(kind.limit, kind.retryAfter, 5*time.Minute, 15*time.Minute)
			c.clients, c.workers = clients, 4
			r := row{name: fmt.Sprintf("least of greatest share of %d clients, %s", clients, kind.name), used: 1.0 / 3, refused: 0.05, isOften: true, seeds: 5}
			if r.used = 0.5; clients > 2 && i == 3 { // a window is shared by chance
				r.used = 0.05
			}
			r.measure = func(seed uint64) (float64, float64) {
				perSecond, refused := c.run(seed)
				return slices.Min(perSecond) / slices.Max(perSecond), refused
			}
			rows = append(rows, r)
		}
	}
	check(t, rows)
}

// TestRefusalsAtRandomDoNotSlowDown: with up to 15 % refused at random a crawl's first 2,000 pages
// come as fast as those of a plain loop that waits a second. With more, or with a Retry-After of
// a second after each refusal, they do not.
func TestRefusalsAtRandomDoNotSlowDown(t *testing.T) {
	var rows []row
	for _, aim := range []struct {
		share, plainLoop     float64 // pages a second of sixteen loops that wait for 1, 2, 4 up to 30 seconds
		used, withRetryAfter float64
	}{{0.01, 526, 1, 0.01}, {0.05, 209, 1, 0.001}, {0.15, 67.3, 1, 0.001}, {0.3, 21.3, 0.005, 0.005}} {
		measure := func(retryAfter func(time.Duration) time.Duration) func(uint64) (float64, float64) {
			return func(seed uint64) (used, refused float64) {
				random := atRandom(aim.share, seed, none)
				c := newWorld(seed).crawl(&service{limit: random, retryAfter: retryAfter, refusal: Unavailable}, 16)
				for c.served < 2000 && c.now.Sub(simStart) < time.Hour {
					c.run(c.now.Add(time.Second / 10))
				}
				return float64(c.served) / c.now.Sub(simStart).Seconds() / aim.plainLoop, c.refusedShare()
			}
		}
		name := fmt.Sprintf("%v at random, of a plain loop", aim.share)
		rows = append(rows,
			row{name, measure(nil), aim.used, 1, aim.share == 0.05, 21},
			row{name + ", Retry-After 1", measure(roundedUp), aim.withRetryAfter, 1, aim.share == 0.05, 21},
		)
	}
	check(t, rows)
}

// TestLimitsThatAreHarder are used less, or refuse more: a limit of requests in flight is
// learned as a rate, a Retry-After of a second costs that second, and each refusal of 60 a
// minute is one of few. Others change, or are joined by refusals at random.
func TestLimitsThatAreHarder(t *testing.T) {
	const s, minute = time.Second, time.Minute
	at := func(limit func(uint64) limit, best float64, from, to time.Duration) func(uint64) (float64, float64) {
		return behind(limit, nil, from, to).of(best)
	}
	late := func(limit func(uint64) limit, retryAfter func(time.Duration) time.Duration) trial {
		return behind(limit, retryAfter, minute, 10*minute)
	}
	jittered := late(unlimited, nil)
	jittered.service.inFlight, jittered.service.work = 4, between(2*time.Millisecond, 200*time.Millisecond)
	unavailable := behind(bucket(50, 10), nil, 0, 10*minute)
	unavailable.service.refusal = Unavailable
	to := func(from, to float64) func(uint64) limit { return bucket(from, 10, change{5 * minute, to}) }
	shed := func(rate, share float64) func(uint64) limit {
		return func(seed uint64) limit { return atRandom(share, seed, newBucket(rate, 10)) }
	}
	check(t, []row{
		{"60 in 10 s, the first ten seconds", at(window(60, 10*s, false), 6, 0, 10*s), 0.9, 0.29, true, 0},
		{"50 a second, halved, ten seconds", at(to(50, 25), 25, 5*minute, 310*s), 0.8, 0.1, true, 0},
		{"50 a second, doubled, the first minute", at(to(50, 100), 100, 5*minute, 6*minute), 0.5, 0.04, true, 0},
		{"50 a second, doubled, a minute later", at(to(50, 100), 100, 6*minute, 7*minute), 0.85, 0.06, false, 0},
		{"50 a second, and 0.01 at random", at(shed(50, 0.01), 50, 10*minute, 20*minute), 0.12, 0.12, false, 0},
		{"50 a second, and 0.05 at random", at(shed(50, 0.05), 50, 10*minute, 20*minute), 0.01, 0.25, true, 0},
		{"50 a second, 503", unavailable.of(50), 0.9, 0.15, true, 0},
		{"4 in flight that take 2 to 200 ms", jittered.of(4 / 0.102), 0.5, 0.05, false, 0},
		{"60 a minute", late(window(60, minute, false), nil).of(1), 0.9, 0.1, true, 0},
		{"2 a second, no burst, Retry-After", late(bucket(2, 1), roundedUp).of(2), 0.8, 0.05, false, 0},
		{"20 a second, no burst", late(bucket(20, 1), nil).of(20), 0.9, 0.05, true, 0},
	})
}
