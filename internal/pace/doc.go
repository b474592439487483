// Package pace decides when a request may be sent. The limits of the service are
// undocumented, so they are learned from refusals: status 429, or 503. Without a
// refusal nothing waits, unless a limit that the service announces is used up.
//
// # The control loop
//
// A learner is a congestion control over the rate of a token bucket of one token:
//
//   - Backoff, as after a timeout of TCP: a refusal stops all but one probe at a time,
//     with waits that double, until a probe is accepted.
//   - Cut: then the rate is what was accepted from one backoff to the next, by the time (a
//     window and a bucket accept just what they allow meanwhile), less 3 %. If the rate was
//     clearly exceeded, it is raised towards the refused rate, as in BIC. If it was not,
//     others use the limit too, or it was lowered: the rate is cut by 6 % more, as in AIMD.
//   - Growth: as the convex half of CUBIC (https://www.rfc-editor.org/rfc/rfc9438), until a
//     request is refused. The growth is as the root of the rate, so that of several clients
//     who has less catches up. It takes sixty times as long as the waits of the last backoff,
//     and 20 s at least, so that few are refused.
//
// A cap in flight is learned as a rate.
//
// # Load shedding
//
// If seven cuts were each refused again soon, the refusals do not depend on the rate. Then it
// is not limited, for a trial of sixty accepted requests, twice as many the next time, or
// until four in ten are refused.
//
// # Routes
//
// There is a queue and a learner for each route, and a learner for all. Both must allow a
// request, by priority. A Retry-After holds its own route. A route that is refused again
// and again is refused by its own learner: the common one sees the first refusal.
//
// # Announced limits
//
// A limit that a response announces is a Retry-After of its route: if nothing is left, the
// route waits until it is reset. A walk stops while a twelfth is left. The learners know
// nothing of it.
package pace
