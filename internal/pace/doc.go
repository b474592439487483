// Package pace decides when a request may be sent. The limits of the service are not
// documented, so the package learns them from refusals, as congestion control learns the
// bandwidth of a network from lost packets. A refusal is a response with status 429, with
// status 403 and a Retry-After, or with status 503 as rule 7 says. Other failures, such as a
// 502 or a reset, do not change the pace.
//
//  1. Until the first refusal, nothing waits.
//  2. A refusal begins a backoff: one probe at a time is sent until one is accepted. Each
//     probe waits for three fifths of the time since the refusal: at most 50 seconds, and at least
//     20 ms and the interval between requests at the present rate. Each such wait is then
//     varied by up to a tenth. A Retry-After can make it longer (rule 9), but not
//     shorter. After five seconds without a response the next probe may be sent.
//  3. Accepted and refused requests are counted. The count begins anew after five seconds
//     without a request, and every five seconds while all requests are accepted. When a
//     backoff ends and the count is at least thirty, the first rate is set: the accepted
//     requests divided by the time since the count began, backoffs included. From then on
//     requests are sent evenly. Because the first rate is a guess, slow start follows: the
//     rate doubles in the time that thirty requests take at the first rate, doubles again in
//     the next such time, and so on. The next refusal ends slow start. As the rate had passed
//     the limit some time before, it is cut twice.
//  4. Each later backoff cuts the rate to 85 % (beta of RFC 9438), or to the rate at which
//     requests were accepted since the last cut, if that is less and thirty or more were sent
//     since. A cut leaves at least half of the rate. No rate is below one request in six
//     seconds.
//  5. Then the rate grows by the curve of CUBIC (RFC 9438): quickly at first, slowly around
//     the plateau, and faster again beyond it. The plateau is the rate after the cut,
//     divided by beta. A cut to 85 % therefore has the refused rate as its plateau. The rate is
//     back at the plateau after K = ∛(plateau · (1 − beta) / C) seconds, or in the time that
//     thirty requests take at the plateau, if that is longer. Time without requests counts, too, unlike in section 5.8 of
//     RFC 9438. When the curve reaches a hundred times the plateau, the limit is forgotten,
//     and rule 1 holds again.
//  6. A backoff of more than 100 seconds does not change the rate: it was an outage, or a
//     limit per hour was used up.
//  7. A 429 is always a refusal, and so is a 503 with a Retry-After. A 503 without a Retry-After
//     is a failure like any other, until more than a quarter of the last requests got one; then
//     it is a refusal. For a single call a 503 without a Retry-After always remains a failure,
//     which the call retries after a backoff of its own.
//  8. There is one learner for each route and one for all routes, and both must allow a
//     request. The learner of all routes learns from the first refusal in each backoff of a
//     route. There is one exception: if the last ninety requests of another route were
//     accepted, and the newest of them was sent less than 100 seconds ago, the limit belongs
//     to the refused route alone.
//  9. Until a Retry-After has passed, or while an announced limit is used up, its route is
//     held: no request of the route is sent, not even a probe. A write also waits for the
//     Retry-After of a 503 to another route, because after a 503 its own outcome would be
//     unknown. It does not wait if a later request was accepted. For the same reason it keeps the rate
//     of the route that got the last 503, too, and counts for it.
//  10. Of the requests that may be sent, the one with the highest priority goes first: writes,
//     then single reads, then polls, then walks. Among requests of one priority, the one that
//     has waited longest goes first. If nothing was sent for five seconds, a single call is sent
//     despite rules 2 to 8. A single call waits for its MaxWait at most. A page of a walk or of
//     a follower waits until its context ends; its call gives up after an hour of refusals.
//
// [Scheduler] has the goroutines and the clock, [Routes] the queues and rules 8 to 10, and the
// learner in learner.go rules 1 to 7. The tests in rules_test.go are named after the rules, and
// tables_test.go shows what a client gets behind each kind of limit.
package pace
