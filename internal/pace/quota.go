package pace

import "time"

// quota is what the service announces: how many more requests it accepts until an
// instant. What it accepts afterwards is not known, so then one request at a time is
// sent, until a response announces another quota.
type quota struct {
	limit    int           // requests, of a whole quota
	left     int           // of those
	until    time.Time     // zero if nothing is announced
	window   time.Duration // the longest time until then that was announced
	inFlight int           // requests
	ended    int           // requests, since the beginning
	last     time.Time     // when the last one was sent
}

// ready reports whether a request may be sent, or else when that may change.
func (q *quota) ready(now time.Time, priority Priority) (ok bool, at time.Time) {
	switch {
	case q.until.IsZero():
		return true, now
	case !now.Before(q.until):
		hung := q.last.Add(hungAfter)
		return q.inFlight == 0 || !now.Before(hung), hung
	case q.left <= 0:
		return false, q.until
	case priority == Walk:
		at = q.last.Add(q.interval())
		return !now.Before(at), at
	}
	return true, now
}

// interval returns the time between two requests of a walk. It may use half of a quota at
// once. Then it sends evenly, a little slower than a sliding window gives back the earlier
// requests, so that a reserve is left to others, and pauses when half of that is used.
func (q *quota) interval() time.Duration {
	reserve := q.limit / reservedShare
	switch {
	case q.left > q.limit/2:
		return 0
	case q.left > reserve/2:
		return q.window / time.Duration(q.limit-reserve)
	default:
		return q.window / pausesPerWindow
	}
}

// spent returns until when no request is sent, or the zero time.
func (q *quota) spent() time.Time {
	if q.left > 0 {
		return time.Time{}
	}
	return q.until
}

func (q *quota) send(now time.Time) { q.left, q.inFlight, q.last = q.left-1, q.inFlight+1, now }

// announce records what the response to a request says. ended is how many requests had
// ended when it was sent. All that were in flight since then may not be counted yet.
func (q *quota) announce(now time.Time, ended, limit, left int, reset time.Duration) {
	reset = max(reset, time.Second) // 0 may be less than a second
	if limit != q.limit {
		q.window = 0
	}
	q.limit, q.left = limit, left-(q.inFlight-1)-(q.ended-ended)
	q.until, q.window = now.Add(reset), max(q.window, reset)
}

// report records the end of a request. A quota that its response should have announced
// anew is none.
func (q *quota) report(sent time.Time, outcome Outcome) {
	q.inFlight--
	q.ended++
	if outcome == Accepted && !sent.Before(q.until) {
		q.until = time.Time{}
	}
}
