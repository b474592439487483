package pace

import (
	"math"
	"net/http"
	"time"
)

// Outcome is what an attempt shows of the pace.
type Outcome uint8

const (
	Unclear     Outcome = iota // a failure that shows nothing of it
	Accepted                   // a response
	Refused                    // 429
	Unavailable                // 503, refused too; without Retry-After it may be an outage
)

// learner learns one limit from refusals, and says when the next request may be sent.
// It is handed the time, and does nothing by itself.
type learner struct {
	random         func() float64 // in [0, 1)
	first, longest time.Duration  // wait before a probe
	earlyCut       float64

	rate        float64   // requests a second that were accepted lately, zero if there was no refusal
	try         float64   // seconds from a backoff until the rate is clearly exceeded
	past, cycle sample    // up to the last backoff, the older the less; since then
	last, next  time.Time // a request was sent; may be sent
	accepted    time.Time // the last response

	backingOff   bool
	changed      time.Time     // a backoff began or ended
	newest, old  int           // the last request; the last one before that change, from which on a refusal teaches something
	until        time.Time     // no probe is sent before
	wait, waited time.Duration // before the next probe; before all of this backoff
	probed       time.Time     // the probe in flight was sent, zero if there is none
	exceeded     float64       // the rate that was refused
	early        bool          // it was refused although it was hardly exceeded
	refusal      Outcome       // the last one
	outage       bool          // all that was refused is 503 without Retry-After

	useless     int     // cuts, one after another
	unpaced     bool    // refusals do not seem to depend on the rate, so they do not cut it
	trial       float64 // requests that are accepted meanwhile
	tried, lost float64 // accepted and refused of those
}

// sample is how many requests were accepted, in how many seconds.
type sample struct{ accepted, seconds float64 }

// from returns when the next request may be sent, as far as it is known.
func (l *learner) from(patient bool) time.Time {
	switch {
	case !l.backingOff:
		return l.next
	case l.outage && !patient:
		return time.Time{}
	case l.probed.IsZero():
		return l.until
	}
	return later(l.until, l.probed.Add(maxWait))
}

// perSecond returns the rate of sending: just below what was accepted, growing as the convex
// half of CUBIC's curve. The growth is as the root of the rate, so that of several clients who
// has less catches up.
func (l *learner) perSecond(now time.Time) float64 {
	if l.rate == 0 || l.unpaced {
		return math.Inf(1)
	}
	return l.rate*(1-margin) + math.Sqrt(l.rate)*math.Pow(now.Sub(l.changed).Seconds()/l.try, 3)
}

// send records that a request is sent.
func (l *learner) send(now time.Time, number int) {
	gap := now.Sub(l.last).Seconds()
	switch {
	case l.backingOff:
		l.probed = now
	case l.rate > 0:
		gap = min(gap, 1/l.rate) // longer only if nobody wanted to send
	case gap > idleAfter.Seconds():
		l.cycle, gap = sample{}, 0
	}
	l.cycle.seconds += gap
	if interval := seconds(1 / l.perSecond(now)); interval > 0 {
		l.next = later(l.next, now.Add(-interval/50)).Add(interval) // a timer is always a little late
	}
	l.last, l.newest = now, number
}

// report records the outcome of a request. silent is whether a refusal has no Retry-After.
func (l *learner) report(now, sent time.Time, number int, outcome Outcome, silent bool) {
	if sent.Equal(l.probed) {
		l.probed = time.Time{}
	}
	switch outcome {
	case Accepted:
		l.accepted = now
		if l.backingOff && !sent.Before(l.until) {
			l.endBackoff(sent)
		}
		l.cycle.accepted++
		l.tried++
		l.unpaced = l.unpaced && l.tried < l.trial
	case Refused, Unavailable:
		l.refusal = outcome
		if l.lost++; l.unpaced && l.lost > sampleSize/4+l.tried*2/3 { // it is a limit after all
			l.unpaced, l.trial = false, 0
		}
		if number > l.old {
			l.refuse(now, outcome == Unavailable && silent)
		}
	}
}

// refuse begins a backoff, or lengthens it after a probe.
func (l *learner) refuse(now time.Time, outage bool) {
	spread := 1 + l.random()/10 // clients that were refused together come back apart
	if l.outage = outage && (l.outage || !l.backingOff); l.backingOff {
		l.wait *= 2
	} else {
		spread = 2 - spread
		l.early = l.rate > 0 && now.Sub(l.changed).Seconds() < l.try/3
		l.exceeded = l.perSecond(now)
		l.backingOff, l.changed, l.old, l.waited = true, now, l.newest, 0
		if l.wait = min(firstWait, l.first); l.rate > 0 {
			l.wait = seconds(1 / l.rate)
		}
	}
	l.wait = max(minWait, min(l.wait, maxWait, l.longest))
	l.waited += l.wait
	l.until = now.Add(seconds(l.wait.Seconds() * spread))
}

// endBackoff ends a backoff: a request that was sent at that time is accepted.
func (l *learner) endBackoff(sent time.Time) {
	backoff := sent.Sub(l.changed)
	l.backingOff, l.changed, l.old, l.next = false, sent, l.newest, time.Time{}
	switch first := l.waited == l.wait; {
	case l.outage && backoff > maxWait:
		l.cycle = sample{} // it teaches nothing
		return
	case l.unpaced:
		return
	case !l.early || !first:
		l.useless = max(0, l.useless-1)
	default:
		l.useless++
	}
	if l.useless == uselessCuts {
		l.unpaced, l.trial, l.tried, l.lost = true, max(3*sampleSize, 2*l.trial), 0, 0
		l.useless, l.past, l.cycle = 0, sample{}, sample{}
		return
	}
	l.learn(backoff)
	l.next = sent.Add(seconds(1 / l.perSecond(sent)))
}

// learn cuts the rate to what was accepted. From the end of one backoff to the end of the next
// a window accepts just what it allows, and so does a bucket, except its burst.
func (l *learner) learn(backoff time.Duration) {
	total := sample{l.past.accepted/2 + l.cycle.accepted, l.past.seconds/2 + l.cycle.seconds}
	if total.accepted == 0 || total.seconds == 0 {
		return
	}
	if sending := total.seconds - backoff.Seconds(); l.rate == 0 && total.accepted < sampleSize { // how much of the backoff was needed is unknown
		total.seconds = math.Sqrt(max(sending, total.seconds/100) * total.seconds)
	}
	l.rate = total.accepted / total.seconds
	if l.early {
		l.rate *= l.earlyCut
	} else {
		if l.cycle.accepted >= sampleSize {
			l.rate = max(l.rate, l.cycle.accepted/l.cycle.seconds)
		}
		if l.exceeded > l.rate && !math.IsInf(l.exceeded, 1) { // the limit is between them
			l.rate += raise * (l.exceeded - l.rate)
		}
	}
	if l.cycle.accepted >= sampleSize {
		l.past, l.cycle = total, sample{}
	}
	l.try = max(shortestTry, sampleSize/l.rate/l.rate, min(waitsPerTry*l.waited.Seconds(), longestTry), 4*backoff.Seconds())
}

// status returns that of the last refusal.
func (l *learner) status() int {
	if l.refusal == Unavailable {
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// earlier returns the earlier time; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
