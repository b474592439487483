// Package pace decides when a request may be sent. The limits of the service are
// undocumented, so they are learned from refusals: status 429, or 503. Without a refusal
// nothing waits, unless the service announces a quota.
//
// # The control loop
//
// Requests wait in a queue for each route, by priority. A [Scheduler] lets them go when a
// learner allows it, and asks the caller's own [Limiter]. A learner is a congestion
// control (AIMD, https://www.rfc-editor.org/rfc/rfc5681, with a plateau as in CUBIC,
// https://www.rfc-editor.org/rfc/rfc9438) over a rate instead of a window:
//
//   - Cruise: requests are sent evenly, 1 % below the estimate of the limit.
//   - Probing up: after the cruise the excess over the estimate doubles eight times in as
//     long again, until a request is refused.
//   - Backoff: one probe at a time is sent, after a growing wait, until one is accepted.
//
// What was accepted from one backoff to the next, by the time, measures the limit: exactly
// for a window, and for a bucket that was empty at both ends. A refusal within the cruise
// cuts the estimate to the measurement, by half at most, and halves the cruise. The first
// five times in a row it goes no lower than what the last few backoffs measured together: a
// sliding window returns each earlier burst one window later, so that one measurement
// swings. A later refusal raises the estimate towards the refused rate, less
// what a bucket held, and doubles the cruise. If probes are refused for longer than a
// bucket refuses them (a window gap), the limit is what was accepted since the last gap, and
// the cruise is at least as long as the backoff.
//
// The cruise is at most fifty times as long as the last backoff, so that refusals cost 2 %
// of the time, whether a backoff lasts 20 ms or a minute. To find a raised limit sooner,
// lower maxCruisePerBackoff: more requests are refused.
//
// The first refusal with several requests in flight is taken for a cap in flight: as many
// as were accepted of those. A refusal with no more in flight refutes it.
//
// # Quota
//
// The service may announce how many requests it accepts until an instant. No more are
// sent. A walk may use half of them at once. Then it sends them evenly over the longest time
// that was announced, and leaves some to others. After that instant one request goes at a
// time, until a response announces the next quota. The learners know nothing of it.
//
// # Load shedding
//
// A service that sheds load refuses a share of all requests, however slowly this client
// sends. Taken for a limit, each refusal would lower the rate for good. It is noticed by
// cuts that do not help: seven more refusals within a cruise than after it, each followed by
// a first probe that is accepted, while fewer than 30 % of the requests are refused.
// Then the rate doubles with every three accepted requests, up to eight times what was
// accepted, and a refusal teaches nothing, until the odds of one rise to two and a half
// times as much. The estimate is then what was accepted meanwhile, at most three times as
// much as before, so that a limit and load shedding together do not lower it for good.
//
// # Isolated routes
//
// A route gets a learner of its own if chance does not explain that only it is refused: its
// shares of the latest requests, multiplied over its refusals, fall below one in a hundred
// thousand. It is isolated until ten minutes pass without a refusal.
//
// A Retry-After holds its own route alone. The common backoff grows as without one, so that
// another route is probed soon. A request that is not sent again after a 503, because its
// outcome is unknown, is no probe of another route's 503: it waits until that Retry-After
// or the backoff ends.
package pace
