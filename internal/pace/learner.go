package pace

import (
	"math"
	"net/http"
	"time"
)

// Outcome is what the pace can learn from an attempt.
type Outcome uint8

const (
	Unclear     Outcome = iota // a failure from which nothing can be learned
	Accepted                   // a response
	Refused                    // status 429, or 403 with a Retry-After
	Unavailable                // 503, which is a refusal, or an outage if it has no Retry-After
)

// learner learns one limit from refusals, and says when the next request may be sent.
// It is handed the time, and does nothing by itself.
type learner struct {
	random   func() float64 // in [0, 1)
	earlyCut float64        // share of the rate: zero for a route, so that a limit of all is not cut twice

	rate        float64   // requests a second, as of the last cut; zero before the first cut
	growing     time.Time // when the rate started to grow
	growth      float64   // seconds in which it grows by its square root
	past, cycle sample    // cycle is since the end of a backoff, past is before it: the older, the less it counts
	last, next  time.Time // when the last request was sent, and when the next may be
	newest, old int       // numbers of requests: the last, and the last before a backoff began or ended; refusals up to it are ignored

	backingOff bool
	since      time.Time     // when the backoff began
	refused    time.Time     // when the last refusal came; a request sent earlier does not end the backoff
	until      time.Time     // when the next probe may be sent
	wait       time.Duration // before the next probe
	waited     time.Duration // the sum of wait over all probes of this backoff
	probed     time.Time     // when the probe in flight was sent, the zero time if there is none
	isEarly    bool          // the rate was refused before it grew
	isOutage   bool          // every refusal was a 503 without Retry-After
	wasLong    bool          // the backoff before this one was long
	refusal    Outcome       // the last one

	useless     int     // backoffs of an early refusal that the first probe ended, less all others; at least zero
	unpaced     bool    // the rate is not limited, for a trial
	trial       float64 // how many requests must be accepted until the trial ends
	tried, lost float64 // accepted and refused since it began
}

// sample is how many requests were accepted, in how many seconds.
type sample struct{ accepted, seconds float64 }

// from returns when the next request may be sent, as far as it is known. One that is not
// patient does not wait in an outage, and otherwise for at most probeInterval after the last request.
func (l *learner) from(patient bool) time.Time {
	from := l.next
	if l.backingOff {
		from = later(l.until, l.probed.Add(probeInterval))
	}
	if !patient {
		if l.backingOff && l.isOutage {
			return time.Time{}
		}
		if soon := l.last.Add(probeInterval); soon.Before(from) {
			from = soon
		}
	}
	return from
}

// perSecond returns the rate of sending: just below what was accepted, growing as the convex
// half of CUBIC's curve. The growth is as the root of the rate, so that of several clients who
// has less catches up. In a backoff it is the rate that was refused.
func (l *learner) perSecond(now time.Time) float64 {
	if l.rate == 0 || l.unpaced {
		return math.Inf(1)
	}
	if l.backingOff {
		now = l.since
	}
	return l.rate*(1-margin) + math.Sqrt(l.rate)*math.Pow(now.Sub(l.growing).Seconds()/l.growth, 3)
}

// send records that a request is sent.
func (l *learner) send(now time.Time, number int) {
	gap := now.Sub(l.last).Seconds()
	switch {
	case l.backingOff:
		l.probed = now
	case l.rate > 0:
		gap = min(gap, 1/l.rate) // longer only if nobody wanted to send
	case gap > probeInterval.Seconds(): // after such a pause a burst begins anew
		l.cycle, gap = sample{}, 0
	}
	l.cycle.seconds += gap
	if interval := seconds(1 / l.perSecond(now)); interval > 0 {
		turn := later(l.next, now.Add(-interval/50)) // a timer is always a little late
		if turn.After(now) {                         // a single call did not wait for its turn
			turn = now
		}
		l.next = turn.Add(interval)
	}
	l.last, l.newest = now, number
}

// report records the outcome of a request. isSilent is whether a refusal names no time.
func (l *learner) report(now, sent time.Time, number int, outcome Outcome, isSilent bool) {
	if sent.Equal(l.probed) {
		l.probed = time.Time{}
	}
	switch outcome {
	case Accepted:
		if l.backingOff && sent.After(l.refused) { // a probe, or a single call that did not wait for it
			l.endBackoff(sent)
		}
		l.cycle.accepted++
		l.tried++
		l.unpaced = l.unpaced && l.tried < l.trial
	case Refused, Unavailable:
		l.refusal = outcome
		if l.lost++; l.unpaced && l.lost > sampleSize/4+l.tried*2/3 { // four in ten: it is a limit after all
			l.unpaced, l.trial = false, 0
		}
		mayBeOutage := outcome == Unavailable && isSilent
		switch {
		case number <= l.old: // sent at a rate that is cut already
		case l.backingOff:
			l.isOutage = l.isOutage && mayBeOutage
			l.lengthenBackoff(now)
		default:
			l.isOutage = mayBeOutage
			l.beginBackoff(now)
		}
	}
}

// beginBackoff stops all requests except probes, because one was refused.
func (l *learner) beginBackoff(now time.Time) {
	l.isEarly = l.rate > 0 && now.Sub(l.growing).Seconds() < l.growth/3
	l.backingOff, l.since, l.old, l.waited = true, now, l.newest, 0
	if l.wait = firstWait; l.rate > 0 {
		l.wait = seconds(1 / l.rate)
	}
	l.scheduleProbe(now, 1-l.random()/10) // clients that were refused together come back apart
}

// lengthenBackoff doubles the wait, because a probe was refused.
func (l *learner) lengthenBackoff(now time.Time) {
	l.wait *= 2
	l.scheduleProbe(now, 1+l.random()/10)
}

// scheduleProbe sets when the next probe may be sent. The longest wait is probeInterval, or a
// sixth of the backoff so far if that is longer.
func (l *learner) scheduleProbe(now time.Time, spread float64) {
	most := max(probeInterval, min(now.Sub(l.since)/6, longestWait))
	l.wait = max(minWait, min(l.wait, most))
	l.waited += l.wait
	l.refused, l.until = now, now.Add(seconds(l.wait.Seconds()*spread))
}

// endBackoff ends a backoff, because a request that was sent at that time is accepted, and
// decides what it teaches.
func (l *learner) endBackoff(sent time.Time) {
	length := sent.Sub(l.since)
	isLong, wasLong, isFirstProbe := length > longBackoff, l.wasLong, l.waited == l.wait
	l.backingOff, l.old, l.next, l.wasLong = false, l.newest, time.Time{}, isLong
	switch {
	case l.isOutage && length > probeInterval, isLong && (!wasLong || l.cycle.accepted < sampleSize), length > time.Hour+longBackoff: // it teaches nothing
		l.cycle, l.growing = sample{}, l.growing.Add(length)
		return
	case l.unpaced: // nor does one in a trial
		return
	case l.isEarly && isFirstProbe:
		l.useless++
	default:
		l.useless = max(0, l.useless-1)
	}
	if l.useless == uselessCuts { // a trial begins, twice as long as the last one
		l.unpaced, l.trial, l.tried, l.lost = true, max(3*sampleSize, 2*l.trial), 0, 0
		l.useless, l.past, l.cycle = 0, sample{}, sample{}
		return
	}
	l.learn(length)
	l.growing = sent
	l.next = sent.Add(seconds(1 / l.perSecond(sent)))
}

// learn sets the rate to what was accepted. From the end of one backoff to the end of the next
// a window accepts just what it allows, and so does a bucket, except its burst.
func (l *learner) learn(backoff time.Duration) {
	total := sample{l.past.accepted/2 + l.cycle.accepted, l.past.seconds/2 + l.cycle.seconds}
	if total.accepted == 0 || total.seconds == 0 {
		return
	}
	if sending := total.seconds - backoff.Seconds(); l.rate == 0 && total.accepted < sampleSize {
		// How much of the first backoff was needed is unknown: the limit is between what was
		// accepted by the time of sending and by all the time, whose orders of magnitude differ.
		total.seconds = math.Sqrt(max(sending, total.seconds/100) * total.seconds)
	}
	refused := l.perSecond(l.since)
	l.rate = total.accepted / total.seconds
	if l.isEarly { // as in AIMD: others use the limit, too, or it was lowered
		l.rate *= 1 - l.earlyCut
	} else {
		if l.cycle.accepted >= sampleSize {
			l.rate = max(l.rate, l.cycle.accepted/l.cycle.seconds)
		}
		if refused > l.rate && !math.IsInf(refused, 1) { // the limit is between them
			l.rate += raise * (refused - l.rate)
		}
	}
	if l.cycle.accepted >= sampleSize {
		l.past, l.cycle = total, sample{}
	}
	l.growth = max(
		shortestGrowth,
		sampleSize/(l.rate*l.rate), // the slower, the more requests, since each refusal is one of few
		min(waitsPerGrowth*l.waited.Seconds(), longBackoff.Seconds()), // so that the waits cost a small part of the time
		4*backoff.Seconds(), // a backoff lasts for the rest of a window: the longer the rest, the slower the growth
	)
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
