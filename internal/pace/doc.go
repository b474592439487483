// Package pace decides when a request may be sent. The limits of the service are
// undocumented, so they are learned from refusals: status 429, or 503 with
// Retry-After. Without a refusal nothing waits.
//
// # The parts
//
// An [Engine] learns one limit. [Routes] has one engine for all routes, and one more
// before it for each route that is set apart. Both are handed the time, and do nothing
// by themselves, so that hours can be simulated in milliseconds. A [Gate] has callers
// wait until Routes, and the caller's own [Limiter], let them go.
//
// # A refusal
//
// After a refusal nothing is sent until its Retry-After ends, or for a short
// backoff. Then one request at a time is sent as a probe, until one is accepted:
// the recovery. What was sent before the refusal and is refused after it teaches
// nothing.
//
// If several requests were in flight and no rate is known yet, the first refusal
// is taken for a cap on requests in flight: one less than there were. If a request
// is refused with no more in flight, it was no such cap, but a rate.
//
// # The rate
//
// There is a known rate, and a time of trust in it. Requests are sent evenly, 1 %
// below the known rate, until the time of trust is over. From then on the rate
// rises, slowly at first, its excess doubling every few seconds, until a request
// is refused.
//
// What was accepted from one recovery to the next, divided by the time, is a
// measurement: exact for a window, and for a bucket that was never full. For a
// bucket that was full, the burst that it accepts is subtracted first.
//
//   - Refused within the time of trust: the known rate was too high. It falls to the
//     measurement, by half at most, and the trust is halved.
//   - Refused later: the limit lies between the known rate and the one that was
//     refused. A bucket was emptied by what was sent beyond its rate. While the rate
//     rises by s each second, that is e²/2s for an excess of e, so the limit is the
//     refused rate less √(2·s·burst). The known rate rises to it, or to the
//     measurement, if that is higher, and the trust doubles.
//
// The burst is at first what was accepted before the first refusal. It is not known
// well, so after each late refusal it is taken to be smaller: by as much as the
// refused rate was higher than the known one, by half at most. If that leads to a
// rate which is refused too soon, it is doubled.
//
// If probes were refused for longer than any bucket would refuse them, a window
// has ended, and the limit is what was accepted from one such silence to the next.
//
// The time of trust grows with what a refusal costs: from 4 to 40 seconds, times the
// seconds of Retry-After.
//
// # A route set apart
//
// A service may refuse one route alone. A route is set apart if chance does not
// explain that only it is refused: five times in a row, each with another route
// accepted in between, or so often in relation to its share of the requests that
// the odds are a thousand to one. Probes take turns between routes, so that this
// shows soon. A long Retry-After binds its route alone at first: the others are tried
// at once. If one is accepted, the refused route is set apart, otherwise all wait.
// Requests of a route set apart wait for its own engine, and then in the common line;
// their refusals teach its own engine alone. After ten minutes without one the route
// rejoins the others.
//
// # Who goes first
//
// What changes something, then single reads, then polls, then walks. A request that
// a [Limiter] delays keeps its place. A wait in line ends with an error when a
// Retry-After of its route is longer than the caller waits, or when nothing was
// accepted for as long.
package pace
