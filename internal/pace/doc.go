// Package pace decides when a request may be sent. The limits of the service are not
// documented, so the package learns them from refusals, as congestion control learns the
// bandwidth of a network from lost packets. A refusal is a response with status 429, with
// status 403 and a Retry-After, or with status 503 as rule 7 says. Failures of other kinds, such
// as a 502 or a reset, teach nothing.
//
//  1. Until the first refusal, nothing waits.
//  2. A refusal begins a backoff: one probe at a time is sent, each after three fifths of the
//     time since the refusal (give or take a tenth, at most 50 seconds), until one is accepted. A
//     probe without a response is given up after five seconds.
//  3. The first backoff after thirty responses sets the rate to what was accepted per second,
//     the backoffs included. From then on requests are sent evenly. This rate is a guess from a
//     burst, so it doubles in the time that thirty requests take at it, and again in the same
//     time, until the next refusal (slow start), which cuts twice.
//  4. Each later backoff cuts the rate to 85 % (beta of RFC 9438), or to what was accepted of the
//     requests since the last cut if that is less and they are thirty or more, at most by half.
//     No rate is below one request in five seconds.
//  5. Then the rate grows by the curve of CUBIC (RFC 9438): quickly towards the rate that was
//     refused, which it reaches after K = ∛(rate · (1 − beta) / C) seconds, slowly around it,
//     and faster again beyond it. K is the time of thirty requests at least. Time without
//     requests counts, too, unlike in section 5.8 of RFC 9438. A hundred times the rate is no
//     limit any more: it is forgotten, and rule 1 holds.
//  6. A backoff of more than 100 seconds is an outage, or the rest of a limit of an hour, and
//     teaches nothing.
//  7. A 429 is a refusal, always, and so is a 503 with a Retry-After. A 503 without one is a
//     failure like any other, until more than a quarter of the last requests met one; then it
//     is a refusal. For a single call it remains a failure, which the call waits for and retries.
//  8. This is done for each route and once more for all, and both must allow a request. The
//     learner of all routes hears of the first refusal in each backoff of a route, but not if
//     another route was accepted ninety times in a row, the last time within 100 seconds: then
//     the limit is that route's own.
//  9. A Retry-After, or an announced limit that is used up, holds its route until then, and no
//     probe of it is sent before. A write also waits for the Retry-After of a 503 to another
//     route, unless a later request was accepted: if it is refused so, its outcome is unknown.
//  10. Of the requests that may be sent, the one with the highest priority goes first: writes,
//     single reads, polls, walks; of one priority, the one that has waited longest. A single call
//     is sent anyway when nothing was for five seconds, and waits for its MaxWait at most; a walk
//     waits until its context ends.
//
// [Scheduler] has the goroutines and the clock, [Routes] the queues and rules 8 to 10, and the
// learner in learner.go rules 1 to 7. The tests in rules_test.go are named after the rules, and
// tables_test.go shows what a client gets behind each kind of limit.
package pace
