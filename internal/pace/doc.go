// Package pace decides when a request may be sent. The limits of the service are not
// documented, so the package learns them from refusals, as congestion control learns the
// bandwidth of a network from lost packets. A refusal is a response with status 429, 403 with
// a Retry-After, or 503.
//
//  1. Until the first refusal, nothing waits.
//  2. A refusal begins a backoff: one probe at a time is sent, each after three fifths of the
//     time since the refusal, until one is accepted.
//  3. The first backoff after thirty responses sets the rate to what was accepted per second,
//     the backoffs included. From then on requests are sent evenly. This rate is a guess from a
//     burst, so it doubles after thirty requests, and again, until the next refusal (slow
//     start), which cuts twice.
//  4. Each later backoff cuts the rate to 85 %, or to what was accepted of the last thirty
//     requests or more if that is less, at most by half.
//  5. Then the rate grows by the curve of CUBIC (RFC 9438): quickly towards the rate that was
//     refused, which it reaches after K = ∛(rate · (1 − beta) / C) seconds, slowly around it,
//     and faster again beyond it. K is thirty requests at least. A hundred times the rate is no
//     limit any more: it is forgotten.
//  6. A backoff of more than 100 seconds is an outage, or the rest of a limit of an hour, and
//     teaches nothing.
//  7. A 429 is a refusal, always. A 503 without a Retry-After is a failure like any other, until
//     more than a quarter of the last requests met one; then it is a refusal, too.
//  8. This is done for each route and once more for all, and both must allow a request. The
//     learner of all routes hears of the first refusal in each backoff of a route, but not if
//     another route was accepted ninety times in a row: then the limit is that route's own.
//  9. A Retry-After, or an announced limit that is used up, holds its route until then, and no
//     probe of it is sent before. A write also waits for the Retry-After of a 503 to another
//     route, unless a later request was accepted: if it is refused so, its outcome is unknown.
//  10. Of the requests that may be sent, the one with the highest priority goes first: writes,
//     single reads, polls, walks. A single call is sent anyway when nothing was for five
//     seconds, and waits for its MaxWait at most; a walk waits until its context ends.
//
// [Scheduler] has the goroutines and the clock, [Routes] the queue and rules 8 to 10, and the
// learner in learner.go rules 1 to 7. The tests in rules_test.go are named after the rules, and
// tables_test.go shows what a client gets behind each kind of limit.
package pace
