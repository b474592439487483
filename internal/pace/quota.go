package pace

import "time"

// quota is what the service announces: how many more requests it accepts until an
// instant. What it accepts afterwards is not known, so then one request at a time is
// sent, until a response announces another quota. Once half of a quota was used, walks
// are sent evenly.
type quota struct {
	limit    int           // requests, of a whole quota
	left     int           // of those
	until    time.Time     // zero if nothing is announced
	window   time.Duration // the longest time until then that was announced
	rolling  bool          // that instant moves on, as it does for a sliding window
	spread   bool          // half of a quota was used
	inFlight int           // requests, which the service may not have counted yet
	last     time.Time     // when the last one was sent
}

// reserve returns how many requests are kept for those that go before a priority: a
// twentieth of the quota, if it is a walk, which has many.
func (q *quota) reserve(priority Priority) int {
	if priority == Walk {
		return q.limit / reservedShare
	}
	return 0
}

// ready reports whether a request may be sent, or else when that may change.
func (q *quota) ready(now time.Time, priority Priority) (ok bool, at time.Time) {
	switch {
	case q.until.IsZero():
		return true, now
	case !now.Before(q.until):
		hung := q.last.Add(hungAfter)
		return q.inFlight == 0 || !now.Before(hung), hung
	case now.Before(q.spent(priority)):
		return false, q.until
	case q.spread && priority == Walk:
		next := q.last.Add(q.interval(now))
		return !now.Before(next), next
	}
	return true, now
}

// interval returns the time between two requests of a walk, with which a quota lasts. A
// sliding window gives back each request after its length, so what is left does not count.
func (q *quota) interval(now time.Time) time.Duration {
	switch {
	case !q.rolling:
		return q.until.Sub(now) / time.Duration(q.left)
	case q.left <= q.reserve(Walk):
		return q.window / pausesPerWindow
	default:
		return q.window / time.Duration(q.limit-q.limit/sparedShare)
	}
}

// spent returns until when no request of a priority is sent, or the zero time.
func (q *quota) spent(priority Priority) time.Time {
	if q.left > q.reserve(priority) || q.left > 0 && q.rolling {
		return time.Time{}
	}
	return q.until
}

func (q *quota) send(now time.Time) { q.left, q.inFlight, q.last = q.left-1, q.inFlight+1, now }

// announce records what the response to a request says. It may not count requests in
// flight, and responses may come in another order than requests, so within a quota the
// fewest count.
func (q *quota) announce(now, sent time.Time, limit, left int, reset time.Duration) {
	if limit != q.limit {
		q.limit, q.window, q.rolling, q.spread = limit, 0, false, false
	}
	left -= q.inFlight - 1
	reset = max(reset, time.Second) // 0 may be less than a second
	until, moved := now.Add(reset), sent.Add(reset).Sub(q.until)
	within := sent.Before(q.until)
	if within && moved > 2*time.Second && moved < q.window/2 && limit > 0 { // more than by rounding, less than to another window
		q.rolling = true
	}
	switch {
	case left <= 0:
		q.left, q.until = 0, later(q.until, until)
	case within && !q.rolling:
		q.left = min(q.left, left)
	default:
		q.left, q.until = left, until
	}
	q.window = max(q.window, reset)
	q.spread = q.spread || left < limit/2
}

// report records the end of a request. A quota that its response should have announced
// anew is none.
func (q *quota) report(sent time.Time, outcome Outcome) {
	q.inFlight--
	if outcome == Accepted && !sent.Before(q.until) {
		q.until = time.Time{}
	}
}
