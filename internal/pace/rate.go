package pace

import (
	"math"
	"time"
)

// rate is the learned rate of sending. After a refusal it is just below what
// is known, returns to that, and rises beyond: slowly at first, then ever
// faster, so that a limit that was raised is found.
type rate struct {
	curve
	previous curve // until the refusal before the last one
	next     time.Time
	last     time.Time // a request was sent
	burst    float64   // how many requests the service lets through beyond its rate; an estimate
	exceeded bool      // what is known was fitted to the last refusal, and not measured
	lowered  int       // times in a row that it was lowered to what was measured
	best     float64   // the highest one that was measured since a limit was certain
	peak     float64   // the highest known one of late that was exceeded; zero: none was yet
	floor    float64   // what is known is no less: so many a second were accepted, pauses included, before one was exceeded

	// Since the last recovery.
	accepted float64
	seconds  float64
	history  []sample // of earlier ones

	// Of the refusal that is not over.
	refusedAt float64 // the rate that was refused
	demanded  float64 // seconds: its Retry-After
	certain   float64 // seconds after which a probe was still refused
}

type sample struct{ accepted, seconds float64 }

// now returns the present rate, infinite while none is known.
func (r *rate) now() float64 { return r.after(0) }

// after returns the rate after so many more seconds.
func (r *rate) after(seconds float64) float64 {
	if r.known == 0 {
		return math.Inf(1)
	}
	return r.at(r.elapsed + seconds - r.returns)
}

// interval returns the time to the next request. Where that is long, the rate
// rises meanwhile.
func (r *rate) interval() time.Duration {
	seconds := 1 / r.now()
	if seconds > r.returns {
		seconds = bisect(seconds, func(s float64) float64 { return 1 - s*r.after(s) })
	}
	return time.Duration(seconds * float64(time.Second))
}

// sent takes note of a request that leaves now. It was limited where the rate
// was what held it back; a probe is sent after a refusal.
func (r *rate) sent(now time.Time, limited, probe bool) {
	gap := 0.0
	if !r.last.IsZero() {
		gap = now.Sub(r.last).Seconds()
	}
	r.last = now
	if r.known == 0 {
		if !probe {
			fade := math.Exp(-gap / r.fadeAfter)
			r.accepted *= fade
			r.seconds *= fade
		}
		r.seconds += gap
		return
	}
	if !limited && !probe {
		gap = min(gap, 1/r.now()) // nobody wanted to send
	}
	r.seconds += gap
	if limited {
		r.elapsed += gap
	}
	from := now
	if late := now.Sub(r.next); limited && late < r.interval()/50 {
		from = r.next // a timer is never on time
	}
	r.next = from.Add(r.interval())
}

// recovered is called when the service accepts again, a request that was sent
// at that time: nothing else was for pause seconds, and refused requests were
// refused. What is known of the rate changes only where the rate is to blame.
func (r *rate) recovered(sent time.Time, pause float64, refused int, blame bool) {
	if r.burst == 0 {
		r.burst = max(r.accepted-1, 0.1)
	}
	if blame && r.seconds > 0 && (r.accepted > 0 || r.known > 0) {
		r.learn(pause, float64(refused))
	}
	r.accepted, r.seconds, r.elapsed, r.certain = 0, 0, 0, 0
	if r.known > 0 {
		r.next = sent.Add(r.interval())
	}
}

func (r *rate) learn(pause, refused float64) {
	rare := r.accepted >= r.rare*refused && pause <= r.brief*r.seconds
	missed := r.demanded * r.known // requests, while nothing is sent
	costly := missed >= r.costly
	exact := costly || missed-r.burst >= r.lost // so the limit is worth calculating
	measured, small := r.measure(pause)
	fitted, fits := r.fit(exact)
	before := r.known
	switch {
	case r.floor > 0 && r.refusedAt <= r.floor:
		r.floor = 0
	case r.peak == 0 && r.demanded > 0 && !small:
		r.floor = max(r.floor, r.accepted/r.seconds)
	}
	switch {
	case before == 0:
		r.known = measured
		r.returns = r.untilTried(pause, refused)
	case fits:
		r.known = max(fitted, r.accepted/r.seconds)
		r.exceeded, r.lowered, r.floor = true, 0, 0
		r.peak = max(r.peak*(1-r.fade), before)
		r.returns = min((1+r.longer)*r.returns, r.untilExceeded(pause, refused, costly, exact))
	case rare:
		r.known *= 1 - r.small
	default:
		if small && r.returns > 2*r.fastReturn { // a confirmed rate is lowered step by step
			measured = max(measured, (1-r.nextDrop)*before)
			if r.lowered == 0 {
				measured = max(measured, (1-r.firstDrop)*before)
			}
		}
		r.exceeded, r.lowered = false, r.lowered+1
		r.known = min(max(measured, r.floor), (1-r.margin)*max(before, r.refusedAt))
		if r.known < (1-r.bigDrop)*before {
			r.returns = r.untilTried(pause, refused)
		}
	}
	r.undo(measured, before)
	if r.known*r.returns < 1 { // or a request would wait for long
		r.returns = min(r.returns, r.seldom)
	}
	r.rises = r.returns
	if costly {
		r.rises = min(r.rises, max(r.rise*min(pause, r.demanded), r.fastReturn))
	}
}

// undo takes back what was learned from refusals that have nothing to do with
// the rate: less and less was accepted, and nothing speaks for a limit. Behind
// one, no less is accepted at a lower rate, or several probes in a row are
// refused, or there is a Retry-After.
func (r *rate) undo(measured, before float64) {
	if r.demanded > 0 || r.certain*before > r.silence {
		r.best = measured
		return
	}
	if r.known < r.undoBelow*r.best {
		r.known, r.returns = r.undoTo*r.best, r.fastReturn
		r.best, r.history, r.exceeded = 0, nil, false
	}
}

// measure returns the rate at which requests were accepted, from one recovery
// to the next: at both, a bucket is as good as empty, and a window begins. The
// pause in between counts as far as it was necessary, which is certain only
// until a probe is refused. Of the rest so much counts as a burst needs to
// collect, or half, in logarithms, where little more than a burst was accepted.
// small reports whether few requests were measured.
func (r *rate) measure(pause float64) (measured float64, small bool) {
	least := max(r.seconds-pause+r.certain, r.leastPart*r.seconds)
	s := sample{r.accepted, math.Sqrt(least * r.seconds)}
	if full := r.burst + 1; r.accepted > r.bursts*full {
		s.seconds = min(r.seconds, least*r.accepted/(r.accepted-full))
	}
	total := s
	for i := len(r.history) - 1; i >= 0 && (total.accepted < r.enough || total.seconds < r.pauses*r.certain); i-- {
		total.accepted += r.history[i].accepted
		total.seconds += r.history[i].seconds
	}
	if len(r.history) == r.samples {
		r.history = r.history[:copy(r.history, r.history[1:])]
	}
	r.history = append(r.history, s)
	measured = max(total.accepted, 0.5) / total.seconds
	if total.accepted >= r.enough {
		r.best = max(r.best, measured)
	}
	return measured, s.accepted < r.enough
}

// fit estimates the limit from when the burst was used up, on the way to what
// is known and beyond, if the burst was collected in the pause before. It does
// not fit where a rate near what is known does not explain the refusal.
func (r *rate) fit(exact bool) (fitted float64, fits bool) {
	if r.known == 0 {
		return 0, false
	}
	last, previous := r.curve, r.previous
	r.previous = last
	if r.certain*r.known > r.silence { // it has nothing to do with a burst
		return 0, false
	}
	early := r.refusedAt < r.known
	if early && r.exceeded {
		if exact && last.beyond(r.lowest*r.refusedAt) > 0 { // or it shows nothing
			fitted, r.burst = r.fitBoth(last, previous)
			return fitted, true
		}
		fitted = bisect(r.known, func(rate float64) float64 { return last.beyond(rate) - previous.beyond(rate) })
		r.burst = min(max(last.beyond(fitted), 0.1), 2*r.burst+r.step)
		if fitted > 0 {
			return fitted, fitted >= (1-r.margin)*r.known
		}
	}
	fitted = bisect(r.now(), func(rate float64) float64 { return last.beyond(rate) - r.burst })
	switch {
	case early:
		return fitted, fitted >= (1-r.margin)*r.known
	case fitted >= (1-r.margin)*r.known:
		r.burst *= 1 - r.doubt
		return fitted, true
	}
	r.burst /= 2 // it is smaller: fewer were sent beyond what is known
	if exact {
		r.burst = min(r.burst, max(last.beyond(r.known), 0.01))
	}
	return r.known, true
}

// fitBoth returns the rate, and the burst, that explain two refusals best: as
// many requests were sent beyond that rate before the one as before the other.
// Of several such bursts it takes the one most like the known one.
func (r *rate) fitBoth(last, previous curve) (fitted, burst float64) {
	least := math.Inf(1)
	for part := 1.0; part > r.lowest; part -= 0.001 {
		a, b := last.beyond(part*r.refusedAt), previous.beyond(part*r.refusedAt)
		mean := (a + b) / 2
		unlike := math.Log((mean + 0.1) / (r.burst + 0.1))
		if cost := (a-b)*(a-b)/(1+r.noise*mean*mean) + r.inertia*unlike*unlike; cost < least {
			fitted, burst, least = part*r.refusedAt, mean, cost
		}
	}
	return fitted, max(burst, 0.01)
}

// untilTried returns the time until a rate that was measured is tried anew: the
// longer, the more a refusal costs.
func (r *rate) untilTried(pause, refused float64) float64 {
	return min(max(r.fastReturn, r.uncertain*refused/r.known, min(r.paused*pause, r.maxPaused)), r.maxReturn)
}

// untilExceeded returns the same for a rate that was fitted. Where refusals are
// costly it is tried sooner if it was much higher of late.
func (r *rate) untilExceeded(pause, refused float64, costly, exact bool) float64 {
	until := max(r.slowReturn, min(r.confirmed*refused/r.known, r.maxReturn))
	if exact {
		until = max(until, r.confident*min(pause, r.demanded))
	}
	if costly {
		until *= min(max(r.known/r.peak, r.soonest), 1)
	}
	return until
}
