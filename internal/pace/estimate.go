package pace

import "math"

// estimate is the rate that a limit allows, as far as it is known, and how the rate of
// sending follows it.
type estimate struct {
	rate      float64 // requests per second, zero if there is no estimate
	cruise    float64 // seconds of sending until it is exceeded
	sending   float64 // seconds of sending since the last backoff
	burst     float64 // requests that a full bucket accepts at once
	raised    bool    // rate was calculated with burst
	earlyCuts int     // refusals within a cruise, one after another

	sinceBackoff sample // since the last backoff; a short one continues the one before
	sinceGap     sample // since the last window gap
	history      sample // of all cycles, the older the less
}

// sample is how many requests were accepted, and the seconds in which they were wanted.
type sample struct{ accepted, seconds float64 }

// cycle is what was measured from the end of one backoff to the end of the next.
type cycle struct {
	accepted                  float64 // requests
	sending, backoff, refused float64 // seconds: of sending, of backoff, until the last refused probe
	measured, exceeded        float64 // requests per second: accepted, and sent when one was refused
	early, gap                bool    // refused within the cruise; a window ended
}

// perSecond returns the rate of sending: the estimate less a margin, after the cruise more,
// the excess growing exponentially. A slow start after a plateau, as CUBIC's curve has it
// (https://www.rfc-editor.org/rfc/rfc9438#section-4.1), and BBR's probing up after a cruise
// (https://www.ietf.org/archive/id/draft-ietf-ccwg-bbr-01.html#section-5.3.3).
func (e *estimate) perSecond() float64 {
	if e.rate == 0 {
		return math.Inf(1)
	}
	doublings := max(0, e.sending-e.cruise) / e.doubling()
	return e.rate * (1 + cruiseMargin*(math.Exp2(doublings)-2))
}

// doubling returns in how many seconds the excess doubles: probing up takes as long as the
// cruise, and at most one doubling in the time in which a refusal would be noticed.
func (e *estimate) doubling() float64 {
	return min(e.cruise/doublingsPerCruise, max(minCruise, sampleRequests/e.rate))
}

// measure returns the cycle that ends with a backoff of so many seconds, of which probes
// were refused for so long. From one backoff to the next a window accepts just what it
// allows, and so does a bucket, except its burst if it was full.
func (e *estimate) measure(backoff, refused float64) cycle {
	c := cycle{accepted: max(e.sinceBackoff.accepted, 1), backoff: backoff, refused: refused}
	c.sending = max(e.sinceBackoff.seconds-backoff, backoff/100) // the first burst may take no time
	c.measured = max(c.accepted/e.sinceBackoff.seconds, (c.accepted-e.burst)/c.sending)
	c.early = e.rate > 0 && e.sending < e.cruise
	if c.exceeded = e.perSecond(); e.rate == 0 { // how much of the backoff was needed is unknown
		c.exceeded = c.accepted / math.Sqrt(c.sending*e.sinceBackoff.seconds)
	}
	if c.gap = refused*c.exceeded > windowGapRequests; c.gap {
		c.measured = e.sinceGap.accepted / e.sinceGap.seconds
	}
	return c
}

// update learns from a cycle. The estimate is multiplicatively decreased and the cruise
// halved if it was refused early, and doubled otherwise, so that refusals become rare.
func (e *estimate) update(c cycle) {
	e.history = sample{
		accepted: historyWeight*e.history.accepted + e.sinceBackoff.accepted,
		seconds:  historyWeight*e.history.seconds + e.sinceBackoff.seconds,
	}
	switch {
	case e.rate == 0:
		e.begin(c)
	case c.early:
		e.cut(c.measured)
	case c.gap:
		e.rate = c.measured
		e.cruise *= 2
	default:
		e.raise(c)
	}
	if !c.early {
		e.earlyCuts = 0
	}
	shortest := min(max(minCruise, sampleRequests/e.rate, minCruisePerBackoff*c.backoff), maxMinCruise)
	if c.gap { // a window does not end sooner
		shortest = max(shortest, c.backoff)
	}
	e.cruise = max(shortest, min(e.cruise, c.backoff*maxCruisePerBackoff))
}

// begin makes the first estimate.
func (e *estimate) begin(c cycle) {
	e.rate = c.exceeded
	if c.gap && c.accepted >= sampleRequests { // the window ended between two probes
		e.rate = c.accepted / (c.sending + math.Sqrt(c.refused*c.backoff))
	}
	e.burst = max(0, c.accepted-e.rate*c.sending)
}

// cut lowers the estimate to what was measured, at most by half, as AIMD does. The first
// times in a row it goes no lower than the history, an exponentially weighted average: a
// sliding window returns each earlier burst one window later, so that a single measurement
// swings.
func (e *estimate) cut(measured float64) {
	if e.earlyCuts++; e.earlyCuts <= maxFlooredCuts {
		measured = max(measured, e.history.accepted/e.history.seconds)
	}
	e.rate = min(e.rate, max(measured, e.rate/maxCut))
	e.cruise /= 2
	if e.raised {
		e.burst *= 2
	}
	e.raised = false
}

// raise raises the estimate. The limit is between it and the rate that was refused, since a
// bucket was emptied first: if the rate grows by s each second, an excess of e empties
// e²/2s (the integral of s·t until e = s·t).
func (e *estimate) raise(c cycle) {
	slope := (c.exceeded - e.rate*(1-2*cruiseMargin)) * math.Ln2 / e.doubling()
	e.burst *= max(e.rate/c.exceeded, minBurstKept)
	emptied := c.exceeded - math.Sqrt(2*slope*e.burst)
	e.raised = emptied > max(e.rate, c.measured)
	e.rate = max(e.rate, c.measured, emptied)
	e.cruise *= 2
}
