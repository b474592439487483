package pace

import (
	"math"
	"time"
)

// rate is the learned rate of sending. After a refusal it is just below what
// is known, returns to that, and rises beyond: slowly at first, then ever
// faster, so that a limit that was raised is found.
type rate struct {
	*tuning
	curve
	previous curve // until the refusal before the last one
	next     time.Time
	last     time.Time // a request was sent
	burst    float64   // how many requests the service lets through beyond its rate; an estimate
	exceeded bool      // what is known was fitted to a refusal near what was known before, or beyond it
	lowered  int       // times in a row that it was lowered
	best     float64   // the highest one that was measured since a limit was certain

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
	return r.at(r.tuning, r.elapsed+seconds-r.returns)
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
	measured, small := r.measure(pause)
	fitted := r.fit()
	before := r.known
	switch {
	case before == 0:
		r.known = measured
		r.returns = r.untilTried(pause, refused)
	case r.refusedAt >= before || fitted >= (1-r.margin)*before:
		r.known, r.exceeded, r.lowered = max(fitted, r.accepted/r.seconds), true, 0
		r.returns = min((1+r.longer)*r.returns, r.untilExceeded(pause, refused))
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
		r.known = min(measured, (1-r.margin)*before)
		if r.known < (1-r.bigDrop)*before {
			r.returns = r.untilTried(pause, refused)
		}
	}
	r.undo(measured, before)
	if r.known*r.returns < 1 { // or a request would wait for long
		r.returns = min(r.returns, r.seldom)
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
		r.best, r.history = 0, nil
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

// fit returns the rate beyond which the burst was used up, on the way to what
// is known and beyond, if the burst was collected in the pause before. Where
// what is known came that way too, and was too much, the burst was another:
// that which gives the same rate for both.
func (r *rate) fit() float64 {
	if r.known == 0 {
		return 0
	}
	last, before := r.curve, r.previous
	r.previous = last
	if r.exceeded && r.refusedAt < r.known {
		fitted := bisect(r.known, func(rate float64) float64 {
			return last.beyond(r.tuning, rate) - before.beyond(r.tuning, rate)
		})
		r.burst = min(max(last.beyond(r.tuning, fitted), 0.1), 2*r.burst+r.step)
		if fitted > 0 {
			return fitted
		}
	}
	fitted := bisect(r.now(), func(rate float64) float64 { return last.beyond(r.tuning, rate) - r.burst })
	switch {
	case r.refusedAt < r.known:
	case fitted < (1-r.margin)*r.known: // it is smaller
		r.burst /= 2
		return r.known
	default:
		r.burst *= 1 - r.doubt
	}
	return fitted
}

// untilTried and untilExceeded return the time until the known rate is tried anew:
// the longer, the more a refusal costs.
func (r *rate) untilTried(pause, refused float64) float64 {
	return min(max(r.fastReturn, r.uncertain*refused/r.known, min(r.paused*pause, r.maxPaused)), r.maxReturn)
}

func (r *rate) untilExceeded(pause, refused float64) float64 {
	return max(r.slowReturn, r.confident*min(pause, r.demanded), min(r.confirmed*refused/r.known, r.maxReturn))
}

// curve is the rate between a recovery and the next refusal, a cube of the time
// to the return to what is known, and another one of the time from it.
type curve struct {
	known   float64 // requests a second; zero: none
	returns float64 // seconds until the rate is back at what is known
	elapsed float64 // seconds in which the rate was what held requests back
}

// at returns the rate so many seconds after its return.
func (c curve) at(t *tuning, seconds float64) float64 {
	steepness := t.steepness
	if seconds < 0 {
		steepness = t.margin
	}
	return c.known * (1 + steepness*math.Pow(seconds/c.returns, 3))
}

// beyond returns how many requests were sent beyond that rate, while it was
// exceeded.
func (c curve) beyond(t *tuning, rate float64) float64 {
	steepness := t.steepness
	if rate < c.known {
		steepness = t.margin
	}
	from := max(math.Cbrt((rate/c.known-1)/steepness), -1) * c.returns
	to := c.elapsed - c.returns
	if from >= to {
		return 0
	}
	return (c.known-rate)*(to-from) + (to*(c.at(t, to)-c.known)-from*(c.at(t, from)-c.known))/4
}

// bisect returns where f, positive below, becomes zero.
func bisect(high float64, f func(float64) float64) float64 {
	low := 0.0
	for range 40 {
		if middle := (low + high) / 2; f(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
