package pace

import "time"

// hold is the time after a refusal in which nothing is sent, and then one
// probe at a time until one is accepted.
type hold struct {
	held    bool
	until   time.Time
	named   time.Time     // by a Retry-After
	backoff time.Duration // the last one
	probe   *Ticket       // in flight
}

// open reports whether a request may be sent, or else when that may change.
func (h *hold) open(now time.Time) (bool, time.Time) {
	switch {
	case !h.held:
		return true, now
	case now.Before(h.until):
		return false, h.until
	case h.probe != nil && now.Sub(h.probe.sent) < maxBackoff: // a probe may hang
		return false, h.probe.sent.Add(maxBackoff)
	}
	return true, now
}

// refuse begins or extends a hold: until retryAfter, or else for a backoff of
// first, which grows up to longest with each probe that is refused.
func (h *hold) refuse(now time.Time, retryAfter, first, longest time.Duration, probe bool, random float64) {
	wait := retryAfter
	switch {
	case probe && h.held: // a Retry-After may be too short
		h.backoff = min(time.Duration(float64(h.backoff)*growth), longest)
		wait = max(wait, time.Duration(float64(h.backoff)*(1+jitter*random)))
	case !h.held:
		h.backoff = min(first, longest)
		if retryAfter <= 0 {
			wait = time.Duration(float64(h.backoff) * (1 - jitter*random))
		}
	}
	h.held = true
	if named := now.Add(retryAfter); retryAfter > 0 && named.After(h.named) {
		h.named = named
	}
	if until := now.Add(wait); until.After(h.until) {
		h.until = until
	}
}

// release ends the hold: a probe was accepted.
func (h *hold) release() { *h = hold{until: h.until, named: h.named} }

// earlier returns the earlier time; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
