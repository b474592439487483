// Package pace decides when a request may be sent. The limits of the service are not
// documented, so a learner learns them from refusals, as congestion control learns the
// bandwidth of a network: a refusal (429, 403 with a Retry-After, or 503) is a lost packet.
// Until the first refusal nothing waits.
//
// # The control loop
//
// The rate is that at which requests are sent, evenly. A cycle has three parts:
//
//   - Backoff, as after a timeout in TCP: a refusal stops all requests but one probe at a
//     time, with waits that double, until a probe is accepted.
//   - Cut, as AIMD, but to a measured rate and not by a fixed factor: what was accepted
//     between the ends of two backoffs, by that time, less a margin. A window and a bucket
//     accept just what they allow in it. If the rate had grown before it was refused, the
//     limit is between the two, and the cut goes less far. If it was refused early, before it
//     grew, others use the limit too, and the cut goes further.
//   - Growth, as the convex half of CUBIC, which probes for more (RFC 9438): slow at first,
//     without an end. It is in proportion to the root of the rate, so that of several clients
//     the slow ones catch up, and so slow that refusals and their backoffs cost a few percent.
//
// There are two exceptions, for refusals that do not depend on the rate. After seven
// backoffs, less all others, that an early refusal began and the first probe ended, the rate
// is not limited for a trial, which four refusals in ten end; a refusal still begins a
// backoff. And a backoff of more than two minutes is an outage, which does not cut the rate,
// unless the one before was long, too, as in a window of an hour. If each refusal was a 503
// without a Retry-After, a backoff of more than 5 s is an outage.
//
// # Routes
//
// There is a learner for each route and one that is common to all; both must allow a request.
// The common one hears of the first refusal in each backoff of a route, and of no other. So a
// limit of all routes is learned by both, a route that is refused for ever stops the others
// for one probe, and a limit of one route cuts the common rate, too. Therefore a single call
// is sent after 5 s without any request, whatever the learners say, and without a wait for
// them if each refusal was a 503 without a Retry-After.
//
// # Holds and turns
//
// A Retry-After, or an announced limit that is used up, holds its own route until then; the
// learners learn nothing from an announcement. Requests that may be sent go by priority:
// writes, reads, polls, walks. A single call waits at most for its MaxWait, which all its
// attempts share, and a patient request, such as a page of a walk, until its context ends.
package pace
