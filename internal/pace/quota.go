package pace

import "time"

// quota is what the service announces: how many more requests it accepts until an
// instant. What it accepts afterwards is not known, so then one request at a time is
// sent, until a response announces another quota. Once half of a quota was used, walks
// are sent evenly, so that it lasts.
type quota struct {
	limit    int       // requests, of a whole quota
	left     int       // of those
	until    time.Time // zero if nothing is announced
	inFlight int       // requests, which the service may not have counted yet
	last     time.Time // when the last one was sent
	spread   bool      // half of a quota was used
}

// reserve returns how many requests are kept for those that go before a priority: a
// twentieth of the quota, if it is a walk, which has many.
func (q *quota) reserve(priority Priority) int {
	if priority == Walk {
		return q.limit / 20
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
	case q.left <= q.reserve(priority):
		return false, q.until
	case q.spread && priority == Walk:
		next := q.last.Add(q.until.Sub(now) / time.Duration(q.left))
		return !now.Before(next), next
	}
	return true, now
}

// spent returns until when no request of a priority is sent, or the zero time.
func (q *quota) spent(priority Priority) time.Time {
	if q.left > q.reserve(priority) {
		return time.Time{}
	}
	return q.until
}

func (q *quota) send(now time.Time) { q.left, q.inFlight, q.last = q.left-1, q.inFlight+1, now }

// announce records what the response to a request says. It may not count requests in
// flight, and responses may come in another order than requests, so within a quota the
// fewest count.
func (q *quota) announce(now, sent time.Time, limit, left int, reset time.Duration) {
	left -= q.inFlight - 1
	until := now.Add(max(reset, time.Second)) // 0 may be less than a second
	switch {
	case left <= 0:
		q.left, q.until = 0, later(q.until, until)
	case sent.Before(q.until):
		q.left = min(q.left, left)
	default:
		q.left, q.until = left, until
	}
	q.limit, q.spread = limit, limit == q.limit && q.spread || left < limit/2
}

// report records the end of a request. A quota that its response should have announced
// anew is none.
func (q *quota) report(sent time.Time, outcome Outcome) {
	q.inFlight--
	if outcome == Accepted && !sent.Before(q.until) {
		q.until = time.Time{}
	}
}
