// Package pace decides when a request may be sent. The limits of the service are
// undocumented, so they are learned from refusals: status 429, or 503 with
// Retry-After. Without a refusal nothing waits, except behind a quota that the service
// announces.
//
// # The idea
//
// Requests wait in a line for each route, by rank, and the first ones of all lines
// compete, so that only a Retry-After goes over all that wait. A learner for all routes,
// and one more for each route that is limited apart, says when the next one may go. A
// [Gate] has the callers wait, and asks the caller's own [Limiter].
//
// A learner has a known rate and a time of trust in it. It sends evenly, 1 % below the
// known rate, while it trusts it; then faster, the excess doubling eight times in as long
// again, but at most once in the time of twenty requests, until a request is refused. Then it holds: one probe at a time is sent, after a
// Retry-After or a growing backoff, until one is accepted.
//
// What was accepted from one hold to the next, by the time, is a measurement: exact for a
// window, and for a bucket that was empty at both ends.
//
//   - Refused within the trust: the known rate falls to the measurement, by half at most,
//     and the trust is halved. The first five times in a row it falls no lower than what
//     was accepted over the last few holds: a sliding window returns each earlier burst
//     one window later, so that a single measurement swings.
//   - Refused later: the limit is below the refused rate by what a bucket held: while the
//     rate rises by s each second, an excess of e empties e²/2s. The trust doubles.
//   - Probes were refused for longer than a bucket refuses them: a window ended, and the
//     limit is what was accepted from one such silence to the next.
//
// The trust is at most fifty times as long as the last hold: what refusals cost is 2 %
// of the time, whether a hold lasts 20 ms or a minute. The known rate is at most twice the
// highest that was accepted, and a backoff at least 20 ms, so nothing spins behind a
// service that refuses for ever.
//
// The first refusal with several in flight is taken for a cap in flight: as many as were
// accepted of those. A refusal with no more in flight refutes it.
//
// # A quota
//
// The service may announce how many requests it accepts until an instant. No more are
// sent: each response says how many are left, and those in flight are taken off. A walk
// leaves a tenth to the other requests. After that instant one request goes at a time,
// until a response announces the next quota. The learners know nothing of it.
//
// # Refusals at random
//
// A service that sheds load refuses a share of all requests, however slowly this client
// sends. Taken for a limit, each refusal would lower the rate, and it would never rise
// again. So the learner notices that slowing down does not help: below a real limit few
// requests are refused, but here the known rate was too high six times more often than it
// was exceeded, each time although the first probe was accepted, and fewer than a quarter
// of the requests are refused. Then it tries whether speeding up hurts: from the known
// rate on, the rate doubles with every three accepted requests. While as many are refused
// as before, a refusal teaches nothing: a moment later one probe is sent, and then all go
// on. A Retry-After binds its own route. When the odds of a refusal rise to two and a half
// times as much, it is a limit again: the known one if that was soon, else it is learned
// anew.
//
// # A route apart
//
// A route gets a learner of its own when chance does not explain that only it is refused:
// the product of its shares of the latest requests, and of the others' share where only
// others were accepted in between, falls below one in a hundred thousand. Or at once, if it is
// refused with a Retry-After of five seconds or more and another route is accepted then.
// Its refusals teach its own learner alone, until ten minutes pass without one. A request
// needs leave of both learners. No request of a route is sent before its Retry-After.
//
// A request that is not sent again after a 503, because its outcome is unknown, is no
// trial of another route's 503: it waits until that Retry-After ends, or a request of a
// third route, sent after the refusal, is accepted.
package pace
