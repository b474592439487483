package pace

import (
	"fmt"
	"testing"
	"time"
)

// TestABadRouteCostsNoReadOfAnother: beside a route that is always refused, or in all but a
// few requests, reads and registrations are sent as if it were not there, whether single
// calls or a walk request it.
func TestABadRouteCostsNoReadOfAnother(t *testing.T) {
	const length = 2 * time.Hour
	refusal := func(uint64) limit { return never }
	for name, bad := range map[string]struct {
		limit      func(uint64) limit
		retryAfter time.Duration
	}{
		"refused":            {refusal, 0},
		"Retry-After 1":      {refusal, time.Second},
		"Retry-After 60":     {refusal, time.Minute},
		"Retry-After 3600":   {refusal, time.Hour},
		"one in ten seconds": {bucket(0.1, 1), 0},
		"a hundred an hour":  {window(100, time.Hour, false), 0},
	} {
		for _, workers := range []int{0, 4} {
			for _, interval := range []time.Duration{time.Second, time.Minute} {
				t.Run(fmt.Sprintf("%s, %d walk, a read each %v", name, workers, interval), func(t *testing.T) {
					retryAfter := func(time.Duration) time.Duration { return bad.retryAfter }
					c := newWorld(1).newCaller(&service{limit: bad.limit(1), only: "bad", retryAfter: retryAfter})
					c.every(interval, Read, "good")
					latest := c.every(time.Minute, Write, "register")
					if c.every(time.Second, Read, "bad"); workers > 0 {
						c.walk("bad", workers)
					}
					c.run(simStart.Add(length))
					if want := int(float64(length/interval) * 0.95); c.accepted["good"] < want {
						t.Errorf("%d reads, want %d", c.accepted["good"], want)
					}
					if c.accepted["register"] < int(length.Minutes())-1 || *latest > 5*time.Second {
						t.Errorf("%d registrations in two hours, the latest sent after %v", c.accepted["register"], *latest)
					}
				})
			}
		}
	}
}

// TestRoutesShareALimit: routes behind a common limit use 84 % of it together, 5 % at most
// are refused, and nobody waits long for a crawl: each of twenty registrations is sent
// within two seconds.
func TestRoutesShareALimit(t *testing.T) {
	for name, test := range map[string]struct {
		limit      limit
		retryAfter func(time.Duration) time.Duration
		perSecond  float64
	}{
		"5 a second":              {newBucket(5, 10), nil, 5},
		"50 a second":             {newBucket(50, 10), nil, 50},
		"2 a second, no bursts":   {newBucket(2, 1), nil, 2},
		"60 in 10 s":              {newWindow(60, 10*time.Second, false), nil, 6},
		"60 in 10 s, Retry-After": {newWindow(60, 10*time.Second, false), roundedUp, 6},
	} {
		t.Run(name, func(t *testing.T) {
			c := newWorld(1).newCaller(&service{limit: test.limit, retryAfter: test.retryAfter})
			c.walk("walk", 16)
			c.every(15*time.Second, Poll, "open")
			c.every(3*time.Second, Read, "horse")
			latest := c.every(time.Minute, Write, "register")
			c.run(simStart.Add(time.Minute))
			c.served, c.refused, *latest = 0, 0, 0
			c.run(simStart.Add(21 * time.Minute))
			share := float64(c.served) / (test.perSecond * 1200)
			if share < 0.84 || c.refusedShare() > 0.05 || *latest > 2*time.Second {
				t.Errorf("%.1f %% of the limit, %.1f %% refused; the latest registration was sent after %v", 100*share, 100*c.refusedShare(), *latest)
			}
		})
	}
}

// TestARegistrationIsNotTheProbeOfA503 of another route: refused, its outcome would be
// unknown. It waits until that Retry-After ends or another route is accepted.
func TestARegistrationIsNotTheProbeOfA503(t *testing.T) {
	for name, test := range map[string]struct {
		refusal  Outcome
		accepted string        // a route that is requested then, if any
		sent     time.Duration // after the refusal
	}{
		"until the end of the Retry-After":       {Unavailable, "", 30 * time.Second},
		"until another route is accepted":        {Unavailable, "horse", 2 * time.Second}, // one request a second is known to be accepted
		"after a 429 it is a probe as any other": {Refused, "", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewRoutes(func() float64 { return 0 })
			send := func(now time.Time, route string) *Waiter {
				waiter := NewWaiter(Read, route)
				p.Join(&waiter)
				p.Send(now, &waiter)
				return &waiter
			}
			late := send(simStart, "horse") // its response comes after the refusal, and shows nothing
			p.Report(simStart, send(simStart, "open"), test.refusal, holds(30*time.Second))
			p.Report(simStart, late, Accepted, Hold{})
			registration := NewWaiter(Write, "register")
			registration.Once = true
			p.Join(&registration)
			for after := time.Duration(0); after <= time.Minute; after += time.Second {
				if now := simStart.Add(after); after == time.Second && test.accepted != "" {
					p.Report(now, send(now, test.accepted), Accepted, Hold{})
				}
				if next, _ := p.Next(simStart.Add(after)); next != nil {
					if after != test.sent {
						t.Errorf("sent after %v, want %v", after, test.sent)
					}
					return
				}
			}
			t.Error("it is not sent")
		})
	}
}

// TestACrawlIsBackAfterAnOutage: its first page comes within a minute of the end of an outage
// or of its last Retry-After, and within five minutes it is as fast as before, however long
// everything was refused.
func TestACrawlIsBackAfterAnOutage(t *testing.T) {
	for name, refusal := range map[string]struct {
		unavailable bool
		retryAfter  time.Duration
	}{
		"429": {}, "503": {unavailable: true}, "429, Retry-After 60": {retryAfter: time.Minute}, "503, Retry-After 1": {true, time.Second}, "429, Retry-After 3600": {retryAfter: time.Hour},
	} {
		for behind, test := range map[string]struct {
			limit     func(uint64) limit
			perSecond float64
		}{"no limit": {unlimited, 1 / 0.02}, "20 a second": {bucket(20, 10), 20}} {
			for _, length := range []time.Duration{3 * time.Minute, time.Hour, 10 * time.Hour} {
				for _, from := range []time.Duration{170 * time.Millisecond, 30 * time.Second} {
					if from > time.Second && !deep {
						continue
					}
					t.Run(fmt.Sprintf("%s for %v after %v, %s", name, length, from, behind), func(t *testing.T) {
						limit, began, end := test.limit(1), simStart.Add(from), simStart.Add(from+length)
						c := newWorld(1).crawl(&service{unavailable: refusal.unavailable, retryAfter: exact, limit: func(now time.Time) (bool, time.Duration) {
							if now.Before(began) || !now.Before(end) {
								ok, _ := limit(now)
								return ok, 0
							}
							return false, refusal.retryAfter
						}}, 1)
						c.run(began)
						known := c.served
						back := end
						if refusal.retryAfter > 0 { // at the end of the last Retry-After
							back = began.Add((length + refusal.retryAfter - 1).Truncate(refusal.retryAfter))
						}
						c.run(back.Add(time.Minute))
						if c.served <= known+2 {
							t.Error("no page within a minute")
						}
						c.run(back.Add(5 * time.Minute))
						before := c.served
						c.run(back.Add(330 * time.Second))
						if got := float64(c.served-before) / 30; got < 0.85*test.perSecond {
							t.Errorf("%.1f a second five minutes later, want %v", got, test.perSecond)
						}
					})
				}
			}
		}
	}
}
