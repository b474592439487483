package pace

import (
	"math"
	"net/http"
	"slices"
	"time"
)

// To see what a change of one of these costs: go test -v -run 'KindsOf|Harder|SeveralClients' ./internal/pace
const (
	beta      = 0.85                  // a cut leaves this share of the rate (RFC 9438)
	scale     = 0.00025               // CUBIC's C: how the rate grows, in requests a second per cubed second
	sample    = 30                    // requests that show a rate or a share; no rate doubles, or is back after a cut, with fewer
	roundTrip = 20 * time.Millisecond // the shortest wait before a probe
	patience  = 5 * time.Second       // until another probe may be sent, a single call is sent anyway, or a pause ends a burst; the longest interval between requests
	longest   = 10 * patience         // the longest wait before a probe
	outage    = 20 * patience         // after a longer backoff the rate is not changed
	slowest   = 0.2                   // requests a second; the curve after a cut begins at beta of it, one in six seconds
	forgotten = 100                   // a rate that grew so many times is not limited any more
)

// Signal is what the pace can learn from an attempt. Each value is the most common of the
// statuses that it stands for.
type Signal int

const (
	Unclear     Signal = 0                          // a failure from which nothing can be learned
	Accepted    Signal = http.StatusOK              // any response except failures and refusals, so a 404, too
	Refused     Signal = http.StatusTooManyRequests // or 403 with a Retry-After
	Unavailable Signal = http.StatusServiceUnavailable
)

// learner learns one limit from refusals, and determines when the next request may be sent.
// It gets the time, and does nothing by itself. It is in one of three phases:
//
//   - free, at first and once its limit is forgotten: nothing waits;
//   - limited: requests are sent evenly, at the rate of limit;
//   - backing off: one probe at a time is sent, and the rate stands still.
type learner struct {
	random func() float64 // in [0, 1)
	limit  *curve         // nil until a rate is learned; one that is forgotten is infinite

	// In every phase:
	count
	last    time.Time // when the last request was sent
	refusal Signal    // the last one
	inARow  int       // requests that were accepted since then

	next    time.Time // while it is limited: when the next request may be sent
	backoff *backoff  // nil unless it is backing off
}

// count counts the outcomes of the last requests: since the last pause, or since the count was
// used for a rate or a cut.
type count struct {
	began             time.Time
	accepted, refused float64
	paused            time.Duration // in backoffs
}

func (c *count) total() float64 { return c.accepted + c.refused }

// backoff is the time between a refusal and the next acceptance.
type backoff struct {
	began time.Time
	until time.Time // when the next probe may be sent
	probe time.Time // when the probe in flight was sent, the zero time if there is none
}

// curve is the rate since it was cut, in requests a second.
type curve struct {
	epoch     time.Time // when it was cut, plus the outages since
	base      float64   // what the rate is after k, CUBIC's W_max; in slow start the first rate
	k         float64   // seconds until the rate is base again, or in slow start until it is twice the base
	slowStart bool
}

// at returns the rate, which is infinite once the limit is forgotten.
func (c *curve) at(now time.Time) float64 {
	t := now.Sub(c.epoch).Seconds() / c.k
	growth := 1 + (1-beta)*math.Pow(t-1, 3)
	if c.slowStart {
		growth = math.Exp2(t)
	}
	if growth > forgotten {
		return math.Inf(1)
	}
	return c.base * growth
}

// perSecond returns the rate of sending. In a backoff it is the rate that was refused.
func (l *learner) perSecond(now time.Time) float64 {
	if l.limit == nil {
		return math.Inf(1)
	}
	if l.backoff != nil {
		now = l.backoff.began
	}
	return l.limit.at(now)
}

// earliest returns when the next request may be sent, as far as it is known. One that does not wait
// endlessly is sent once none was for the time of patience.
func (l *learner) earliest(isEndless bool) time.Time {
	at := l.next
	if b := l.backoff; b != nil {
		at = later(b.until, b.probe.Add(patience))
	}
	if !isEndless {
		at = earlier(at, l.last.Add(patience))
	}
	return at
}

// send records that a request is sent.
func (l *learner) send(now time.Time) {
	interval := seconds(1 / l.perSecond(now))
	if b := l.backoff; b != nil {
		b.probe, b.until = now, later(b.until, now.Add(min(interval, patience))) // failed probes do not exceed the rate
	} else if isFree := interval == 0 && l.inARow >= sample; now.Sub(l.last) > patience || isFree && now.Sub(l.began) > patience {
		l.count = count{began: now} // after a pause, and so that a first rate is that of the last seconds
	}
	l.last, l.next = now, later(l.next, now.Add(-interval/50)).Add(interval) // a timer is always a little late
}

// report records the signal of a request. mustWait is whether a refusal has a Retry-After.
func (l *learner) report(now, sent time.Time, signal Signal, mustWait bool) {
	isProbe := l.backoff != nil && sent.After(l.backoff.began)
	if isProbe && sent.Equal(l.backoff.probe) {
		l.backoff.probe = time.Time{}
	}
	switch {
	case signal == Unclear || l.limit != nil && sent.Before(l.limit.epoch): // or at a rate that is cut already
	case signal == Accepted:
		l.inARow++
		if l.accepted++; isProbe {
			l.resume(sent)
		}
	default:
		l.refused++
		l.refusal, l.inARow = signal, 0
		isFailure := l.backoff == nil && signal == Unavailable && !mustWait && 4*l.refused <= max(l.total(), sample)
		if isFailure && l.total() >= 4*sample { // the last requests count
			l.count = count{began: now}
		}
		if isProbe || l.backoff == nil && !isFailure {
			if l.backoff == nil {
				l.backoff = &backoff{began: now}
			}
			l.wait(now)
		}
	}
}

// wait makes the next probe wait for three fifths of the time since the backoff began. A Retry-After
// that is longer holds the route. By the random part, clients that were refused together return apart.
func (l *learner) wait(now time.Time) {
	wait := max(roundTrip, min(seconds(1/l.perSecond(now)), patience), min(now.Sub(l.backoff.began)*3/5, longest))
	l.backoff.until = now.Add(seconds(wait.Seconds() * (0.9 + l.random()/5)))
}

// resume ends a backoff. The probe that was accepted was sent at the given time.
func (l *learner) resume(sent time.Time) {
	rate, length := l.perSecond(sent), sent.Sub(l.backoff.began)
	l.backoff, l.paused = nil, l.paused+length
	switch {
	case length > outage: // or one of many backoffs in a limit of an hour
		l.count = count{began: sent}
		if l.limit != nil {
			l.limit.epoch = l.limit.epoch.Add(length)
		}
	case !math.IsInf(rate, 1):
		l.cut(sent, rate)
	case l.total() >= sample:
		l.start(sent)
	}
	l.next = sent.Add(seconds(1 / l.perSecond(sent)))
}

// start ends the free phase with a slow start from the rate that was accepted.
func (l *learner) start(now time.Time) {
	rate := max(l.accepted/now.Sub(l.began).Seconds(), slowest)
	l.limit = &curve{epoch: now, base: rate, k: sample / rate, slowStart: true}
	l.count = count{began: now}
}

// cut lowers a rate that was refused by beta, or to what was accepted if that is less and enough
// to know.
func (l *learner) cut(now time.Time, rate float64) {
	if l.limit.slowStart { // it passed the limit a while ago
		rate *= beta
	}
	if total := l.total(); total >= sample {
		share := l.accepted / (total + l.paused.Seconds()*rate)
		rate *= min(1, max(share, 0.5)/beta)
		l.count = count{began: now}
	}
	rate = max(rate, slowest)
	l.limit = &curve{epoch: now, base: rate, k: max(math.Cbrt((1-beta)*rate/scale), sample/rate)}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// earlier returns the earlier time; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
