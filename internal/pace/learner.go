package pace

import "time"

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
	first, longest time.Duration  // backoff

	backoff
	inFlightCap
	estimate
	shedding

	inFlight                int
	last, next              time.Time // a request was sent; may be sent
	accepted                time.Time // the last response
	boundByRate, boundByCap bool      // the next request
}

// flight is a request as a limit sees it.
type flight struct {
	at                time.Time
	inFlight, episode int // when it was sent
	probe             bool
}

// ready reports whether a request may be sent, or else when that may change.
func (l *learner) ready(now time.Time, patient bool) (ok bool, at time.Time) {
	switch {
	case l.backingOff && l.outage && !patient:
		return true, now
	case l.backingOff && now.Before(l.until):
		return false, l.until
	case l.backingOff && l.probe != nil && now.Sub(l.probe.at) < hungAfter:
		return false, l.probe.at.Add(hungAfter)
	case l.backingOff:
		return true, now
	case l.maxInFlight > 0 && l.inFlight >= l.maxInFlight:
		l.boundByCap = true
		return false, time.Time{}
	case now.Before(l.next):
		l.boundByRate = true
		return false, l.next
	}
	return true, now
}

// send records that a request is sent.
func (l *learner) send(now time.Time, f *flight) {
	gap := l.count(now.Sub(l.last).Seconds())
	if interval := seconds(1 / l.perSecond()); interval > 0 {
		l.next = later(l.next, now.Add(-interval/50)).Add(interval) // a timer is always a little late
	}
	if l.unproven > 0 { // several at once could be refused for that alone
		l.next = later(l.next, now.Add(seconds(gap/2)))
	}
	l.last, l.boundByRate, l.boundByCap = now, false, false
	l.inFlight++
	*f = flight{at: now, inFlight: l.inFlight, episode: l.episode, probe: l.backingOff}
	if l.backingOff {
		l.probe = f
	}
}

// count adds the seconds since the last request to what is measured, unless nobody
// wanted to send one. It returns how many count.
func (l *learner) count(gap float64) float64 {
	switch {
	case l.backingOff:
	case l.boundByCap:
		l.fill(gap)
	case l.boundByRate:
		l.sending += gap
	case l.rate > 0:
		gap = min(gap, 1/l.perSecond())
	case gap > idleAfter.Seconds():
		l.sinceBackoff, l.sinceGap = sample{}, sample{}
		return 0
	}
	l.sinceBackoff.seconds += gap
	l.sinceGap.seconds += gap
	return gap
}

// report records the outcome of a request. For retryAfter nothing is to be sent.
func (l *learner) report(now time.Time, f *flight, outcome Outcome, retryAfter time.Duration) {
	l.inFlight--
	if outcome != Unclear && l.weigh(outcome != Accepted) {
		l.switchShedding()
	}
	switch {
	case outcome == Unclear:
	case outcome == Accepted:
		l.accept(now, f)
	case f.episode == l.episode:
		l.refuse(now, f, outcome, retryAfter)
	case l.backingOff && !l.rateExceeded: // it was in flight at the first refusal
		l.maxInFlight = max(1, l.maxInFlight-1)
	}
	if l.probe == f {
		l.probe = nil
	}
}

// switchShedding begins or ends the time in which refusals are taken for load shedding. At
// its end the estimate is what was accepted meanwhile, or is made anew if that was long.
func (l *learner) switchShedding() {
	l.next, l.maxInFlight = time.Time{}, 0
	switch {
	case l.sheds:
		l.sinceBackoff = sample{}
	case l.sped >= requestsOfProof:
		l.rate, l.sinceGap, l.history = 0, sample{}, sample{}
	default:
		l.rate = max(l.rate, min(l.proven, maxRestored*l.rate))
	}
	l.sped, l.proven = 0, 0
}

func (l *learner) accept(now time.Time, f *flight) {
	l.accepted = now
	if f.inFlight == l.maxInFlight {
		l.unproven = max(0, l.unproven-1)
	}
	if f.probe && f.episode == l.episode && !f.at.Before(l.until) {
		l.endBackoff(f.at)
	}
	l.sinceBackoff.accepted++
	l.sinceGap.accepted++
	if l.sheds && l.sinceBackoff.accepted >= sampleRequests {
		l.proven = max(l.proven, l.sinceBackoff.accepted/l.sinceBackoff.seconds)
		l.sinceBackoff = sample{}
	}
}

// perSecond returns the present rate, infinite if there is no estimate.
func (l *learner) perSecond() float64 {
	if l.sheds {
		return max(l.rate, l.proven) * l.speedup()
	}
	return l.estimate.perSecond()
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
