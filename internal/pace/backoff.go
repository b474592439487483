package pace

import (
	"net/http"
	"time"
)

// backoff is the time after a refusal: one probe at a time is sent, with growing waits
// before it, until one is accepted.
type backoff struct {
	backingOff   bool
	began        time.Time
	until        time.Time     // no probe is sent before
	retryAt      time.Time     // until by a Retry-After
	wait         time.Duration // before the next probe
	probe        *flight       // the one that is in flight, or nil
	lastRefused  time.Time     // when the last refused probe was sent, or when the backoff began if none was
	refusal      Outcome       // the last one
	outage       bool          // all that was refused is 503 without Retry-After
	rateExceeded bool          // the refusal is taken for one of a rate, not of a cap in flight
	episode      int           // incremented when a backoff begins or ends: what was sent before the first refusal teaches nothing
}

// refuse begins a backoff, or lengthens it after a probe.
func (l *learner) refuse(now time.Time, f *flight, outcome Outcome, retryAfter time.Duration) {
	l.refusal = outcome
	l.outage = outcome == Unavailable && retryAfter == 0 && (l.outage || !l.backingOff)
	if l.sheds && !l.backingOff && retryAfter == 0 {
		return
	}
	l.paused = retryAfter > 0
	spread := 1 + l.random()/10 // clients that were refused together come back apart
	if l.backingOff {
		l.wait = max(min(seconds(l.wait.Seconds()*backoffGrowth), l.longest, maxBackoff), minBackoff)
		l.lastRefused = f.at
		l.rateExceeded = l.rateExceeded || f.inFlight <= max(l.maxInFlight, 1)
	} else {
		l.backingOff, l.began, l.lastRefused = true, now, now
		l.episode++
		l.wait = min(l.first, firstBackoff, l.longest)
		if l.rate > 0 {
			l.wait = max(min(seconds(1/(l.rate*l.speedup())), l.longest, maxBackoff), minBackoff)
		}
		l.rateExceeded = l.outage || !l.learnCap(f.inFlight, l.inFlight, l.rate > 0)
		spread = 2 - spread
	}
	if retryAfter > 0 {
		l.retryAt = later(l.retryAt, now.Add(retryAfter))
	}
	l.until = later(l.until, now.Add(seconds(l.wait.Seconds()*spread)))
}

// status returns that of the last refusal.
func (b *backoff) status() int {
	if b.refusal == Unavailable {
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

// endBackoff ends a backoff: a request that was sent at that time is accepted.
func (l *learner) endBackoff(sent time.Time) {
	first, gap := l.rate == 0, false
	learns := l.rateExceeded && !l.sheds && !(l.outage && sent.Sub(l.began) > maxBackoff)
	if learns && l.sinceBackoff.seconds > 0 && l.sinceBackoff.accepted+l.rate > 0 {
		gap = l.learn(sent)
	}
	if first || gap {
		l.sinceGap = sample{}
	}
	if l.sinceBackoff.accepted >= sampleRequests || first || gap {
		l.sinceBackoff = sample{}
	}
	if l.sending = 0; l.rate > 0 {
		l.next = sent.Add(seconds(1 / l.perSecond()))
	}
	l.backingOff = false
	l.episode++
}

// learn updates the estimate at the end of a backoff. It reports whether a window gap
// was seen.
func (l *learner) learn(sent time.Time) (gap bool) {
	c := l.measure(sent.Sub(l.began).Seconds(), l.lastRefused.Sub(l.began).Seconds())
	switch {
	case c.refused == 0 || l.retryAt.After(l.began): // the first probe was accepted, or came late anyway
		l.noteCut(c.early)
	case !c.early: // probes were refused one after another, as few are by load shedding
		l.noteCut(false)
	}
	l.update(c)
	return c.gap
}

// inFlightCap is a limit of requests in flight: as many as were in flight and accepted at
// the first refusal. Like a rate it is probed: after a time with as many in flight one
// more is sent (AIMD, https://www.rfc-editor.org/rfc/rfc5681#section-3.1).
type inFlightCap struct {
	maxInFlight int     // zero if no cap is known
	fullFor     float64 // seconds with as many in flight
	fullCruise  float64 // seconds until one more is tried
	unproven    int     // requests until one more is proven
}

// fill adds seconds with as many in flight as the cap allows.
func (c *inFlightCap) fill(seconds float64) {
	if c.fullFor += seconds; c.fullFor >= c.fullCruise {
		c.maxInFlight, c.fullFor, c.unproven = c.maxInFlight+1, 0, sampleRequests
	}
}

// learnCap reports whether a cap in flight explains the refusal of a request that was sent as
// one of so many, and learns it. others are in flight still.
func (c *inFlightCap) learnCap(inFlight, others int, rateKnown bool) bool {
	switch {
	case c.unproven > 0 && inFlight == c.maxInFlight:
		c.maxInFlight, c.fullCruise = c.maxInFlight-1, 2*c.fullCruise
	case c.maxInFlight > 0 || rateKnown || inFlight == 1:
		c.maxInFlight, c.unproven = 0, 0
		return false
	default:
		c.maxInFlight, c.fullCruise = max(1, others), 1 // less those that are refused too
	}
	c.fullFor, c.unproven = 0, 0
	return true
}
