// Package pace decides when a request may be sent. The limits of the service are not
// documented, so the package learns them from refusals, as congestion control learns the
// bandwidth of a network from lost packets. A refusal is a response with status 429, 403 with
// a Retry-After, or 503. Until the first refusal, requests wait only if a limit that the
// service announces is used up.
//
// # The control loop
//
// A learner learns one limit. After the first refusal it lets requests through evenly, at a
// rate that it adapts in cycles of three parts:
//
//   - Backoff, as after a timeout in TCP: after a refusal, nothing is sent except one probe at
//     a time. The wait before a probe doubles each time, up to a maximum, until a probe is
//     accepted.
//   - Cut: when the backoff ends, the rate is set to a measured one, unlike in AIMD, which
//     cuts it by a fixed factor. The learner divides the number of requests that were accepted
//     since the end of the backoff before by the time since then, and subtracts a margin. A
//     limit by windows or by a bucket accepts just what it allows in this time. If the rate
//     had grown before the refusal, the limit is between the measured and the refused rate, so
//     the cut is smaller. If the refusal came before the rate had grown, other clients
//     probably use the same limit, so the common learner cuts further.
//   - Growth, as in the convex half of CUBIC (RFC 9438): the rate rises slowly at first, then
//     faster and without a bound, until a request is refused. Growth is proportional to the
//     square root of the rate, so that the slower of several clients catch up. It is so slow
//     that refusals and their backoffs take a few percent of the time.
//
// Two rules are for refusals that do not depend on the rate:
//
//   - Refusals at random. They often come before the rate has grown, and the first probe after
//     them is accepted. The learner counts such backoffs, and subtracts one for each other
//     backoff. When the count reaches seven, a trial begins, in which the rate is not limited,
//     although a refusal still begins a backoff. If about four in ten requests of the trial
//     are refused, it ends early.
//   - Outages. A backoff of more than two minutes is taken for an outage, which does not change
//     the rate. If the one before was as long, and twenty requests or more were accepted in
//     between, it is taken for a limit with a long window, such as an hour. If all refusals of a
//     backoff were a 503 without a Retry-After, 5 s are enough to take it for an outage.
//
// # Routes
//
// Each route has a learner, and there is a common one for all routes. A request is sent when
// both allow it. The common learner gets the first refusal in each backoff of a route,
// but not of the others. This has three effects. If all routes share one limit, both learners
// learn it. If a route is refused for ever, the other routes wait only for one probe. And if
// one route has a limit of its own, the common rate is cut, although it need not be.
//
// So that the last effect does not hold up single calls, such a call is sent at the latest when
// no request was sent for 5 s, whatever the learners say. If all refusals of the backoff were a
// 503 without a Retry-After, it does not wait for the learners at all.
//
// # Holds and turns
//
// The Retry-After of a refusal holds its route until the time that it names, and an announced
// limit that is used up holds its route until it is reset. The learners do not learn from
// announcements.
//
// Of the requests that may be sent, the one with the highest priority is sent first: writes,
// then single reads, then polls, then walks. A single call waits at most its MaxWait, which all
// its attempts share. A patient request, such as a page of a walk, waits until its context ends.
package pace
