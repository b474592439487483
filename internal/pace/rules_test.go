package pace

import (
	"cmp"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The tests of the rules in doc.go, in their order.

func join(now time.Time, e *Routes, route string, priority Priority) *Waiter {
	w := &Waiter{Kind: Kind{route, priority, priority == Walks, 0}}
	e.Join(now, w)
	return w
}

// sendNow sends a request without waiting.
func (p *Routes) sendNow(now time.Time, route string, priority Priority) *Waiter {
	w := join(now, p, route, priority)
	p.Send(now, w)
	return w
}

// exchange sends so many requests in the time until now, evenly, and reports one outcome for each.
func (l *learner) exchange(from, to time.Time, n int, outcome Signal) {
	for i := range n {
		now := from.Add(to.Sub(from) * time.Duration(i) / time.Duration(n))
		l.send(now)
		l.report(now, now, outcome, false)
	}
}

// newLearner returns a learner that is limited to a rate, and a second later refused there.
func newLearner(rate float64) *learner {
	l := newFree()
	l.limit = &curve{epoch: simStart, base: rate, k: 1}
	l.last = simStart
	return l
}

// newFree returns a learner without a limit.
func newFree() *learner { return &learner{random: func() float64 { return 0.5 }} }

func wantRate(t *testing.T, what string, got, want float64) {
	t.Helper()
	within(t, what+": a second", 0.99*want, got, 1.01*want)
}

// within fails unless a value is from least to most.
func within[V cmp.Ordered](t rapid.TB, what string, least, got, most V) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: %v, want %v to %v", what, got, least, most)
	}
}

func equal[V comparable](t rapid.TB, what string, want, got V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func TestRule1NothingWaitsBeforeARefusal(t *testing.T) {
	e := NewRoutes(nil)
	for i := range 1000 {
		w := join(simStart, e, fmt.Sprint(i%3), Walks)
		if next, _ := e.Next(simStart); next != w {
			t.Fatalf("request %d waits", i)
		}
		e.Send(simStart, w)
		e.Report(simStart, w, []Signal{Accepted, Unclear}[i%2], Hold{})
	}
}

// TestRule2OneProbeAtATime: each is sent after three fifths of the time since the refusal, give or
// take a tenth. The others wait for what comes of it, and if nothing does, for five seconds.
func TestRule2OneProbeAtATime(t *testing.T) {
	for _, jitter := range []float64{0, 0.5, 1} {
		e, now := NewRoutes(func() float64 { return jitter }), simStart
		e.Report(now, e.sendNow(now, "GET /", Walks), Refused, Hold{})
		for join(now, e, "GET /", Walks); now.Sub(simStart) < 10*time.Minute; join(now, e, "GET /", Walks) {
			want := max(20*time.Millisecond, min(now.Sub(simStart)*3/5, 50*time.Second)) * time.Duration(90+20*jitter) / 100
			_, at := e.Next(now)
			if wait := at.Sub(now); (wait - want).Abs() > time.Millisecond {
				t.Fatalf("%v after the refusal a probe waits for %v, want %v", now.Sub(simStart), wait, want)
			}
			now = at
			probe := e.sendNow(now, "GET /", Walks)
			_, again := e.Next(now)
			equal(t, "a probe in flight stops the others for", 5*time.Second, again.Sub(now))
			e.Report(now, probe, Refused, Hold{})
		}
	}
}

// TestRule3TheFirstRateIsWhatWasAccepted per second in a burst of a second, and until a probe is
// accepted. There is none with less than thirty responses, and none is below one in five seconds.
func TestRule3TheFirstRateIsWhatWasAccepted(t *testing.T) {
	for _, test := range []struct {
		accepted, refused int
		paused            time.Duration
		want              float64
	}{
		{59, 1, 9 * time.Second, 6},
		{28, 1, 9 * time.Second, 2.9}, {27, 1, 9 * time.Second, math.Inf(1)},
		{9, 20, 99 * time.Second, 0.2},
	} {
		l, refused := newFree(), simStart.Add(time.Second)
		accepted := refused.Add(test.paused)
		l.exchange(simStart, refused, test.accepted, Accepted)
		l.exchange(refused, refused.Add(time.Second), test.refused, Refused)
		l.exchange(accepted, accepted, 1, Accepted)
		equal(t, fmt.Sprintf("%+v: a second", test), test.want, l.perSecond(accepted))
	}
}

// Slow polls of a route before a crawl do not count for the crawl's first rate.
func TestRule3TheFirstRateIsThatOfTheLastSeconds(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 4 * time.Second} {
		c := newWorld(1).newCaller(&service{limit: newBucket(50, 50)})
		c.every(interval, Polls, "page")
		c.run(simStart.Add(time.Hour))
		polled := c.accepted["page"]
		c.walk("page", 4)
		c.run(simStart.Add(time.Hour + time.Minute))
		within(t, fmt.Sprintf("polls each %v: requests in the first minute of the crawl", interval), 2400, c.accepted["page"]-polled, math.MaxInt)
	}
}

// TestRule3TheFirstRateDoubles in the time of thirty requests, until a refusal cuts it twice.
func TestRule3TheFirstRateDoubles(t *testing.T) {
	l := newFree()
	l.accepted, l.began = 60, simStart.Add(-10*time.Second)
	l.start(simStart)
	for i := range 3 {
		wantRate(t, "later", l.perSecond(simStart.Add(time.Duration(i)*5*time.Second)), float64(6*int(1)<<i))
	}
	refused := simStart.Add(10 * time.Second)
	l.exchange(refused, refused, 1, Refused)
	l.exchange(refused.Add(time.Millisecond), refused, 1, Accepted)
	wantRate(t, "after the refusal", l.perSecond(refused.Add(time.Millisecond)), 24*0.85*0.85)
}

// TestRule4ACutIsToBetaOrToWhatWasAccepted, and a response to a request that was sent before it
// does not cut again.
func TestRule4ACutIsToBetaOrToWhatWasAccepted(t *testing.T) {
	for _, test := range []struct {
		accepted int // requests before the refusal, at 50 a second
		paused   time.Duration
		want     float64
	}{
		{27, time.Second, 50 * 0.85}, {28, time.Second, 50 * 0.5}, // 29 responses are too few to know
		{490, time.Second, 50 * 0.85},
		{490, 3 * time.Second, 50 * 490.0 / (491 + 150)},
		{490, 99 * time.Second, 50 * 0.5}, {490, 101 * time.Second, 50}, // rule 6
	} {
		l := newLearner(50)
		refused := simStart.Add(time.Second)
		l.exchange(simStart, refused, test.accepted, Accepted)
		l.exchange(refused, refused, 1, Refused)
		for i := range 2 { // what was counted for the first cut does not count for the second
			probe := refused.Add(test.paused)
			l.exchange(probe, probe, 1, Accepted)
			wantRate(t, fmt.Sprintf("cut %d after %d requests and %v", i, test.accepted, test.paused), l.perSecond(probe), test.want)
			l.report(probe, refused, Refused, false)
			equal(t, "the backoff that a late refusal begins", nil, l.backoff)
			if test.accepted < sample || test.paused > outage {
				break
			}
			refused, test.paused, test.want = probe.Add(time.Millisecond), time.Second, test.want*0.85
			l.exchange(refused, refused, 1, Refused)
		}
	}
}

func TestRule5TheRateIsBackAfterK(t *testing.T) {
	for rate, k := range map[float64]time.Duration{50: 31072 * time.Millisecond, 1: 30 * time.Second, 0.5: time.Minute} {
		l := newLearner(rate)
		l.cut(simStart, rate) // with too few requests to know more
		wantRate(t, "after the cut", l.perSecond(simStart), rate*beta)
		wantRate(t, "after half of K", l.perSecond(simStart.Add(k/2)), rate*(1-(1-beta)/8))
		wantRate(t, "after K", l.perSecond(simStart.Add(k)), rate)
		wantRate(t, "after twice K", l.perSecond(simStart.Add(2*k)), rate*(2-beta))
		equal(t, "after ten times K: a second", math.Inf(1), l.perSecond(simStart.Add(10*k)))
	}
	least := newLearner(0.1)
	least.cut(simStart, 0.1)
	wantRate(t, "the least", least.perSecond(simStart), 0.2*beta)
}

// TestRule2AShortRetryAfterDoesNotShortenTheBackoff: behind a service that refuses everything, a day takes as
// many requests as without one, and a window that counts refusals too is used again soon.
func TestRule2AShortRetryAfterDoesNotShortenTheBackoff(t *testing.T) {
	for _, retryAfter := range []time.Duration{0, time.Millisecond, time.Second, 30 * time.Second} {
		c := newWorld(1).crawl(&service{limit: never, retryAfter: always(retryAfter)}, 4)
		c.run(simStart.Add(24 * time.Hour))
		within(t, fmt.Sprintf("requests in a day, Retry-After %v", retryAfter), 1700, c.refused, 1800)
		var sent []time.Time
		counts := func(now time.Time) (bool, time.Duration) {
			sent = append(sent, now)
			for now.Sub(sent[0]) > time.Minute {
				sent = sent[1:]
			}
			return len(sent) <= 30, 0
		}
		c = newWorld(1).crawl(&service{limit: counts, retryAfter: always(retryAfter)}, 4)
		c.run(simStart.Add(time.Hour))
		within(t, fmt.Sprintf("pages in the second hour, Retry-After %v", retryAfter), 1000, c.serves(time.Hour), 1800)
	}
}

// TestRule6ACrawlIsBackAfterAnOutage: its first page comes within a minute of the end of an outage
// or of its last Retry-After, and within five minutes it is as fast as before, however long
// everything was refused.
func TestRule6ACrawlIsBackAfterAnOutage(t *testing.T) {
	skipIfShort(t)
	test := func(t *testing.T, l limit, perSecond float64, refusal Signal, retryAfter, from, length time.Duration) {
		began, end := simStart.Add(from), simStart.Add(from+length)
		outage := func(now time.Time) (bool, time.Duration) {
			if !now.Before(began) && now.Before(end) {
				return false, retryAfter
			}
			ok, _ := l(now)
			return ok, 0
		}
		c := newWorld(1).crawl(&service{refusal: refusal, retryAfter: exact, limit: outage}, 1)
		c.run(began)
		back := end
		if retryAfter > 0 { // at the end of the last Retry-After
			back = began.Add((length + retryAfter - 1).Truncate(retryAfter))
		}
		within(t, "pages within a minute", 3, c.serves(back.Add(time.Minute).Sub(began)), math.MaxInt)
		c.run(back.Add(5 * time.Minute))
		within(t, "a second, five minutes later", 0.85*perSecond, float64(c.serves(30*time.Second))/30, math.Inf(1))
	}
	for _, refusal := range []Signal{Refused, Unavailable} {
		for _, retryAfter := range []time.Duration{0, time.Second, time.Minute, time.Hour} {
			for _, length := range []time.Duration{3 * time.Minute, time.Hour, 10 * time.Hour} {
				for _, from := range []time.Duration{170 * time.Millisecond, 30 * time.Second} {
					t.Run(fmt.Sprintf("%d, Retry-After %v, for %v after %v", refusal, retryAfter, length, from), func(t *testing.T) {
						test(t, none, 1/0.02, refusal, retryAfter, from, length)
						test(t, newBucket(20, 10), 20, refusal, retryAfter, from, length)
					})
				}
			}
		}
	}
}

// TestRule7A503IsAFailureUntilAQuarterMetOne, unless it has a Retry-After. A 429 never is.
func TestRule7A503IsAFailureUntilAQuarterMetOne(t *testing.T) {
	for _, test := range []struct {
		accepted, refused int
		outcome           Signal
		mustWait, want    bool // a backoff begins
	}{
		{0, 7, Unavailable, false, false}, {0, 8, Unavailable, false, true},
		{90, 30, Unavailable, false, false}, {85, 30, Unavailable, false, true},
		{90, 1, Unavailable, true, true}, {90, 1, Refused, false, true},
	} {
		l := &learner{random: func() float64 { return 0 }}
		l.exchange(simStart, simStart, test.accepted, Accepted)
		for range test.refused {
			l.send(simStart)
			l.report(simStart, simStart, test.outcome, test.mustWait)
		}
		equal(t, fmt.Sprintf("%+v: a backoff", test), test.want, l.backoff != nil)
	}
	c := newWorld(1).newCaller(&service{limit: atRandom(0.3, 1, none), refusal: Unavailable})
	c.every(time.Second, Reads, "races")
	c.walk("races", 1)
	c.run(simStart.Add(time.Hour))
	within(t, "calls and pages in an hour of which three in ten are refused", 2000, c.served, math.MaxInt)
}

// TestRule8ARouteThatIsAcceptedNinetyTimesInARow keeps the backoff of another from the common
// learner, for a hundred seconds.
func TestRule8ARouteThatIsAcceptedNinetyTimesInARow(t *testing.T) {
	for _, test := range []struct {
		accepted int
		since    time.Duration
		refused  string
		want     bool // the common learner backs off
	}{{90, 99 * time.Second, "bad", false}, {90, 101 * time.Second, "bad", true}, {89, 0, "bad", true}, {90, 0, "good", true}} {
		p := NewRoutes(func() float64 { return 0 })
		for range test.accepted {
			p.Report(simStart, p.sendNow(simStart, "good", Reads), Accepted, Hold{})
		}
		now := simStart.Add(test.since)
		p.Report(now, p.sendNow(now, test.refused, Reads), Refused, Hold{})
		equal(t, fmt.Sprintf("%+v", test), test.want, p.common.backoff != nil)
	}
}

// The error of a call that waits too long names the rate of the route, if that is the limit.
func TestRule8ALimitOfOneRouteIsNamedWithItsRate(t *testing.T) {
	p := NewRoutes(func() float64 { return 0.5 })
	w := join(simStart, p, "slow", Reads)
	w.route.limit = &curve{epoch: simStart, base: 120 / beta, k: 1e6}
	equal(t, "the error", "not sent, because 1 requests wait, of which the service accepts 120 a second", p.expired(simStart, w).Error())
	equal(t, "the rate of all routes, of which nothing is known", 0, p.State(simStart).PerSecond)
	p.common.limit = w.route.limit
	wantRate(t, "the rate of all routes", p.State(simStart).PerSecond, 120)
}

// TestRule8RoutesShareALimit: routes behind a common limit use 84 % of it together, 5 % at most
// are refused, and nobody waits long for a crawl: each of twenty registrations is sent
// within two seconds.
func TestRule8RoutesShareALimit(t *testing.T) {
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
			c.every(15*time.Second, Polls, "open")
			c.every(3*time.Second, Reads, "horse")
			latest := c.every(time.Minute, Writes, "register")
			c.run(simStart.Add(time.Minute))
			c.served, c.refused, *latest = 0, 0, 0
			c.run(simStart.Add(21 * time.Minute))
			within(t, "the used share of the limit", 0.84, float64(c.served)/(test.perSecond*1200), math.Inf(1))
			within(t, "the refused share", 0, c.refusedShare(), 0.05)
			within(t, "time until the latest registration was sent", 0, *latest, 2*time.Second)
		})
	}
}

// TestRule9AnAnnouncedLimitHoldsItsRoute alone, and what a walk leaves is others'.
func TestRule9AnAnnouncedLimitHoldsItsRoute(t *testing.T) {
	e, reset := NewRoutes(nil), simStart.Add(time.Hour)
	next := func(now time.Time, want *Waiter, wantAt time.Time) {
		t.Helper()
		if w, at := e.Next(now); w != want || w == nil && !at.Equal(wantAt) {
			t.Errorf("%+v is next, at %v, want %+v at %v", w, at, want, wantAt)
		}
	}
	e.Report(simStart, e.sendNow(simStart, "a", Walks), Accepted, Hold{Walks: time.Hour}) // little is left
	walk := join(simStart, e, "a", Walks)
	next(simStart, nil, reset)
	late := e.sendNow(simStart, "a", Reads)
	e.Report(simStart, e.sendNow(simStart, "a", Reads), Accepted, holds(time.Hour)) // nothing is left
	e.Report(simStart, late, Accepted, holds(time.Minute))                          // which changes nothing
	read, other := join(simStart, e, "a", Reads), join(simStart, e, "b", Walks)
	next(simStart, other, simStart)
	e.Leave(other)
	next(simStart, nil, reset)
	equal(t, "held until", reset, e.State(simStart).Until)
	next(reset, read, reset)
	e.Leave(read)
	next(reset, walk, reset)
}

// TestRule2AFailureOfAProbeDoesNotHurryTheNext: with a rate of two a second and fifty requests
// in flight, a 429 and then failures of another kind are not sent faster than the rate.
func TestRule2AFailureOfAProbeDoesNotHurryTheNext(t *testing.T) {
	l := newFree()
	l.limit = &curve{epoch: simStart.Add(-time.Second), base: 2, k: 30}
	l.report(simStart, simStart, Refused, false)
	sent := 0
	for now := simStart; now.Before(simStart.Add(5 * time.Second)); now = now.Add(10 * time.Millisecond) {
		if !now.Before(l.earliest(true)) {
			l.send(now)
			l.report(now, now, Unclear, false)
			sent++
		}
	}
	within(t, "requests in five seconds", 0, sent, 11)
}

// TestRule2ALateOutcomeIsNotThatOfTheProbe: after five seconds without one, another probe was sent.
func TestRule2ALateOutcomeIsNotThatOfTheProbe(t *testing.T) {
	l, first, second := newFree(), simStart.Add(time.Second), simStart.Add(6*time.Second)
	l.report(simStart, simStart, Refused, false)
	l.send(first)
	l.send(second)
	l.report(second, first, Unclear, false)
	equal(t, "the next probe", second.Add(5*time.Second), l.earliest(true))
}

// TestRule9AWriteKeepsThePaceOfA503 of another route, except while that route sends probes, and except for a
// limit that is that route's own.
func TestRule9AWriteKeepsThePaceOfA503(t *testing.T) {
	for accepted, isOwn := range map[int]bool{1: false, 90: true} {
		p, now := NewRoutes(func() float64 { return 0.5 }), simStart
		report := func(route string, priority Priority, outcome Signal) {
			now = now.Add(time.Second)
			p.Report(now, p.sendNow(now, route, priority), outcome, Hold{})
		}
		report("races", Walks, Unavailable)
		p.routes["races"].backoff = &backoff{began: now, until: now.Add(time.Hour)}
		for range accepted {
			report("horse", Reads, Accepted)
		}
		report("races", Walks, Unavailable)
		w := join(now, p, "register", Writes)
		next, _ := p.Next(now)
		equal(t, fmt.Sprintf("%d accepted: the write need not wait", accepted), w, next)
		p.routes["races"].backoff = nil
		p.unavailable.route = nil
		for range accepted {
			report("horse", Reads, Accepted)
		}
		report("races", Walks, Unavailable)
		p.routes["races"].backoff = nil
		equal(t, fmt.Sprintf("%d accepted: a limit of its own", accepted), isOwn, p.politeTo(w) == nil)
		equal(t, "the route whose pace a read keeps, too", nil, p.politeTo(join(now, p, "register", Reads)))
		equal(t, "and a write of that route", nil, p.politeTo(join(now, p, "races", Writes)))
	}
}

// TestRule9ARegistrationIsNotTheProbeOfA503 of another route: refused, its outcome would be
// unknown. It waits until that Retry-After ends or another route is accepted.
func TestRule9ARegistrationIsNotTheProbeOfA503(t *testing.T) {
	for _, test := range []struct {
		refusal  Signal
		accepted bool      // another route, a second later
		until    time.Time // zero if it may be sent
	}{
		{Unavailable, false, simStart.Add(30 * time.Second)},
		{Unavailable, true, time.Time{}},
		{Refused, false, simStart.Add(18 * time.Millisecond)}, // after a 429 it is a probe like any other
	} {
		p := NewRoutes(func() float64 { return 0 })
		another := p.sendNow(simStart, "race", Walks)
		late := p.sendNow(simStart, "horse", Reads) // its response comes after the refusal, and shows nothing
		refused := p.sendNow(simStart, "open", Reads)
		p.Report(simStart, refused, test.refusal, holds(30*time.Second))
		equal(t, "the wait of the refused call", 30*time.Second, refused.Wait)
		p.Report(simStart, another, test.refusal, Hold{}) // says nothing of the time
		p.Report(simStart, late, Accepted, Hold{})
		join(simStart, p, "register", Writes)
		_, at := p.Next(simStart)
		if now := simStart.Add(time.Second); test.accepted {
			p.Report(now, p.sendNow(now, "horse", Reads), Accepted, Hold{})
			_, at = p.Next(now)
		}
		equal(t, fmt.Sprintf("%+v: held until", test), test.until, at)
	}
}

// TestRule10WhoGoesFirst: by priority, and within one in order, whatever the routes.
func TestRule10WhoGoesFirst(t *testing.T) {
	l, now := NewRoutes(nil), simStart
	enter := func(route string, priority Priority) *Waiter {
		now = now.Add(time.Millisecond)
		return join(now, l, route, priority)
	}
	walk, poll, read := enter("a", Walks), enter("b", Polls), enter("a", Reads)
	writes := []*Waiter{enter("c", Writes), enter("b", Writes), enter("a", Writes), enter("d", Writes), enter("c", Writes)}
	for i, want := range append(writes, read, poll, walk) {
		got, _ := l.Next(simStart)
		equal(t, fmt.Sprintf("the %d.", i), want, got)
		l.Leave(want)
	}
	enter("a", Reads)
	retried := &Waiter{Kind: Kind{"a", Reads, false, 0}, waited: time.Second}
	l.Join(now, retried)
	got, _ := l.Next(simStart)
	equal(t, "what its call has waited counts", retried, got)
}

// TestRule9AWriteMeetsFew503s: in percent at most twice as many as reads and one, behind a gateway that refuses with
// 503, while three readers send as fast as they may.
func TestRule9AWriteMeetsFew503s(t *testing.T) {
	skipIfShort(t)
	for name, l := range map[string]func() limit{
		"one a second":          func() limit { return newBucket(1, 1) },
		"two a second, burst 9": func() limit { return newBucket(2, 9) },
		"60 a minute, sliding":  func() limit { return newWindow(60, time.Minute, true) },
	} {
		for seed := range uint64(12) {
			svc, writes := &service{limit: l(), retryAfter: roundedUp, refusal: Unavailable}, 0
			c := newWorld(seed).newCaller(svc)
			var write func()
			write = func() {
				c.call(Writes, "register", func(time.Time) {
					writes++
					c.after(19*time.Second+time.Duration(c.random.Int64N(int64(2*time.Second))), write)
				})
			}
			write()
			c.walk("races", 3)
			c.run(simStart.Add(4 * time.Hour))
			refused := writes - c.accepted["register"]
			ofWrites := 100 * float64(refused) / float64(writes)
			ofReads := 100 * float64(svc.refused-refused) / float64(svc.refused+svc.served-writes)
			if ofWrites > 2*ofReads+1 || ofReads > 4.5 || writes < 600 {
				t.Errorf("%s, seed %d: %.1f %% of %d writes, %.1f %% of the reads", name, seed, ofWrites, writes, ofReads)
			}
		}
	}
}
