package pace

import (
	"math"
	"time"
)

// Outcome is what an attempt shows of the pace.
type Outcome uint8

const (
	Unclear     Outcome = iota // a failure that shows nothing of it
	Accepted                   // a response
	Refused                    // 429
	Unavailable                // 503 with Retry-After: refused too
)

// learner learns one limit from refusals, and says when the next request may be sent.
// It is handed the time, and does nothing by itself.
type learner struct {
	random         func() float64 // in [0, 1)
	first, longest time.Duration  // backoff

	// A hold: the time after a refusal in which one probe at a time is sent.
	held    bool
	heldAt  time.Time
	until   time.Time // no probe is sent before
	named   time.Time // until by a Retry-After
	backoff time.Duration
	probe   *sending  // in flight
	refused time.Time // the last probe that was refused was sent, or heldAt
	blamed  bool      // the rate, not the cap in flight, is blamed for the refusal
	episode int       // counts holds: what was sent before the first refusal teaches nothing

	// The cap in flight: as many as were in flight and accepted at the first refusal.
	inFlight  int
	most      int     // the cap, zero if none is known
	full      float64 // seconds with as many in flight
	fullTrust float64 // seconds until one more is tried
	tried     int     // requests until one more is proven

	// The rate.
	known            float64 // requests per second, zero if none is known
	highest          float64 // requests per second, accepted in a tenth of one
	tenth            time.Time
	inTenth          float64 // accepted since
	trust            float64 // seconds of sending until it is exceeded
	limited          float64 // seconds of sending since the last hold
	burst            float64 // requests that a full bucket accepts at once
	raised           bool    // known was calculated with it
	last, next       time.Time
	history, counted count     // from hold to hold, the older the less; of measured what it has
	early            int       // refusals within the trust, one after another
	measured, window count     // since the last hold, and since the last silence
	accepted         time.Time // the last one
	waited, crowded  bool      // the rate, or the cap, held back the next request

	belief // whether refusals depend on it
}

// count is how many requests were accepted, and the seconds in which they were wanted.
type count struct{ accepted, seconds float64 }

// sending is a request as a limit sees it.
type sending struct {
	by                *learner
	at                time.Time
	inFlight, episode int // when it was sent
	probe             bool
}

// ready reports whether a request may be sent, or else when that may change.
func (l *learner) ready(now time.Time) (ok bool, at time.Time) {
	switch {
	case now.Before(l.until) && l.held:
		return false, l.until
	case l.held && l.probe != nil && now.Sub(l.probe.at) < long: // a probe may hang
		return false, l.probe.at.Add(long)
	case l.held:
		return true, now
	case l.most > 0 && l.inFlight >= l.most:
		l.crowded = true
		return false, time.Time{}
	case now.Before(l.next):
		l.waited = true
		return false, l.next
	}
	return true, now
}

// perSecond returns the present rate, infinite if none is known.
func (l *learner) perSecond() float64 {
	switch {
	case l.known == 0:
		return math.Inf(1)
	case l.atRandom:
		return l.known * l.speed()
	}
	return min(l.known*(1+margin*(math.Exp2(max(0, l.limited-l.trust)/l.doubling())-2)), fastest*l.highest)
}

// doubling returns in how many seconds the excess doubles after the trust.
func (l *learner) doubling() float64 {
	return min(l.trust/doublings, max(shortestTrust, enough/l.known))
}

func (l *learner) send(now time.Time, s *sending) {
	gap := now.Sub(l.last).Seconds()
	switch {
	case l.held:
	case l.crowded:
		if l.full += gap; l.full >= l.fullTrust {
			l.most, l.full, l.tried = l.most+1, 0, enough
		}
	case l.waited:
		l.limited += gap
	case l.known > 0: // nobody wanted to send
		gap = min(gap, 1/l.perSecond())
	case gap > long.Seconds(): // a burst begins anew
		gap, l.measured, l.counted, l.window = 0, count{}, count{}, count{}
	}
	l.measured.seconds += gap
	l.window.seconds += gap
	if interval := time.Duration(float64(time.Second) / l.perSecond()); interval > 0 {
		l.next = later(l.next, now.Add(-interval/50)).Add(interval) // a timer is always a little late
	}
	if l.tried > 0 { // several at once could be refused for that alone
		l.next = later(l.next, now.Add(time.Duration(gap/2*float64(time.Second))))
	}
	l.last, l.waited, l.crowded = now, false, false
	l.inFlight++
	*s = sending{by: l, at: now, inFlight: l.inFlight, episode: l.episode, probe: l.held}
	if l.held {
		l.probe = s
	}
}

// report records the outcome of a request. For retryAfter nothing is to be sent.
func (l *learner) report(now time.Time, s *sending, outcome Outcome, retryAfter time.Duration) {
	l.inFlight--
	if outcome != Unclear && l.weigh(outcome == Refused) {
		l.change()
	}
	switch {
	case outcome == Refused && s.episode == l.episode:
		l.refuse(now, s, retryAfter)
	case outcome == Refused && l.held && !l.blamed: // it was on its way at the first refusal
		l.most = max(1, l.most-1)
	case outcome == Accepted:
		if now.Sub(l.tenth) >= time.Second/10 {
			l.tenth, l.inTenth = now, 0
		}
		l.inTenth++
		l.highest = max(l.highest, 10*l.inTenth)
		if s.inFlight == l.most {
			l.tried = max(0, l.tried-1)
		}
		if s.probe && s.episode == l.episode && !s.at.Before(l.until) {
			l.recover(s.at)
		}
		l.measured.accepted++
		l.window.accepted++
		l.accepted = now
	}
	if l.probe == s {
		l.probe = nil
	}
}

// change begins anew what depends on whether refusals are at random.
func (l *learner) change() {
	l.next, l.most = time.Time{}, 0
	if !l.atRandom && l.lasted() { // the known rate is out of date
		l.measured, l.counted, l.window, l.known, l.history = count{}, count{}, count{}, 0, count{}
	}
	l.sped = 0
}

func (l *learner) refuse(now time.Time, s *sending, retryAfter time.Duration) {
	spread := l.random() / 10 // clients that were refused together come back apart
	if l.atRandom {
		retryAfter = 0 // it binds its route alone
	}
	if l.held {
		l.backoff = max(min(time.Duration(float64(l.backoff)*growth), l.longest, long), leastBackoff)
		l.refused = s.at
		l.blamed = l.blamed || s.inFlight <= max(l.most, 1)
	} else {
		l.held, l.heldAt, l.refused = true, now, now
		l.episode++
		l.backoff = min(l.first, firstBackoff, l.longest)
		if l.known > 0 {
			l.backoff = max(min(time.Duration(float64(time.Second)/(l.known*l.speed())), l.longest, long), leastBackoff)
		}
		l.blamed = !l.isCap(s.inFlight)
		spread = -spread
	}
	if retryAfter > 0 {
		l.named = later(l.named, now.Add(retryAfter))
	}
	wait := time.Duration(float64(l.backoff) * (1 + spread))
	l.until = later(l.until, now.Add(max(wait, retryAfter)))
}

// isCap reports whether a cap in flight explains a refusal, and learns it.
func (l *learner) isCap(inFlight int) bool {
	switch {
	case l.tried > 0 && inFlight == l.most:
		l.most, l.fullTrust = l.most-1, 2*l.fullTrust
	case l.most > 0 || l.known > 0 || inFlight == 1:
		l.most, l.tried = 0, 0
		return false
	default:
		l.most, l.fullTrust = max(1, l.inFlight), 1 // less those that are refused too
	}
	l.full, l.tried = 0, 0
	return true
}

// recover ends a hold: a request that was sent at that time is accepted.
func (l *learner) recover(sent time.Time) {
	first, silent := l.known == 0, false
	if l.blamed && !l.atRandom && l.measured.seconds > 0 && l.measured.accepted+l.known > 0 {
		silent = l.learn(sent.Sub(l.heldAt).Seconds(), l.refused.Sub(l.heldAt).Seconds())
	}
	if l.measured.accepted >= enough || first || silent {
		l.measured, l.counted = count{}, count{}
	}
	if first || silent {
		l.window = count{}
	}
	if l.limited = 0; l.known > 0 {
		l.next = sent.Add(time.Duration(float64(time.Second) / l.perSecond()))
	}
	l.held = false
	l.episode++
}

// learn sets the rate after a pause of so many seconds, of which probes were refused
// for so long. It reports whether a window ended: no bucket refuses for that long.
func (l *learner) learn(pause, refused float64) (silent bool) {
	m := l.measured
	m.accepted = max(m.accepted, 1)
	sending := max(m.seconds-pause, pause/100) // the first burst may take no time
	// From one hold to the next a window accepts just what it allows, and so does a
	// bucket, except its burst if it was full.
	measured := max(m.accepted/m.seconds, (m.accepted-l.burst)/sending)
	past := l.remember()
	exceeded := l.perSecond()
	if l.known == 0 { // how much of the pause was needed is unknown
		exceeded = m.accepted / math.Sqrt(sending*m.seconds)
	}
	if silent = refused*exceeded > silence; silent {
		measured = l.window.accepted / l.window.seconds
	}
	switch tooSoon := l.known > 0 && l.limited < l.trust; {
	case refused == 0 || l.named.After(l.heldAt): // the first probe was accepted, or came late anyway
		l.judge(tooSoon)
	case !tooSoon || silent: // probes were refused one after another, as few are at random
		l.judge(false)
	}
	if l.known == 0 || l.limited >= l.trust {
		l.early = 0
	}
	switch {
	case l.known == 0:
		l.known = exceeded
		if silent && m.accepted >= enough { // the window ended between two probes
			l.known = m.accepted / (sending + math.Sqrt(refused*pause))
		}
		l.burst = max(0, m.accepted-l.known*sending)
	case l.limited < l.trust: // too soon: the known rate was too high
		if l.early++; l.early <= mostEarly { // else the limit was lowered, and the past does not count
			measured = max(measured, past)
		}
		l.known = min(l.known, max(measured, l.known/2))
		l.trust /= 2
		if l.raised {
			l.burst *= 2
		}
		l.raised = false
	case silent:
		l.known = measured
		l.trust *= 2
	default: // the limit is between the known rate and the one that was refused, since a bucket was emptied first
		slope := (exceeded - l.known*(1-2*margin)) * math.Ln2 / l.doubling()
		l.burst *= max(l.known/exceeded, 0.5)
		emptied := exceeded - math.Sqrt(2*slope*l.burst)
		l.raised = emptied > max(l.known, measured)
		l.known = max(l.known, measured, emptied)
		l.trust *= 2
	}
	l.known = min(l.known, fastest*l.highest)
	shortest := min(max(shortestTrust, enough/l.known, 3*pause), 10*shortestTrust)
	l.trust = max(shortest, min(l.trust, pause*dear))
	return silent
}

// remember adds what was measured since the last hold to the history, and returns the
// rate that was accepted in all of it.
func (l *learner) remember() float64 {
	l.history = count{
		aged*l.history.accepted + l.measured.accepted - l.counted.accepted,
		aged*l.history.seconds + l.measured.seconds - l.counted.seconds,
	}
	l.counted = l.measured
	if l.history.seconds == 0 {
		return 0
	}
	return l.history.accepted / l.history.seconds
}

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
