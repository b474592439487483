package pace

import "time"

// Backoff, in time.
const (
	firstBackoff  = 100 * time.Millisecond // at most, while there is no estimate: a few round trips
	minBackoff    = 20 * time.Millisecond  // a round trip
	maxBackoff    = 5 * time.Second
	backoffGrowth = 1.5              // with each probe: the last wait is a third of all
	hungAfter     = 5 * time.Second  // a probe without a response: another one is sent
	lateAfter     = 5 * time.Second  // a waiter is reported as late
	idleAfter     = 5 * time.Second  // without a request: a burst begins anew
	isolationTime = 10 * time.Minute // of a route without a refusal: longer than a usual window
)

// The estimate, and how it is probed.
const (
	sampleRequests      = 20   // measure a rate, or a route's share, to 5 %
	cruiseMargin        = 0.01 // of the estimate, below it: a bucket fills again, at the cost of 1 %
	maxCut              = 2.0  // the estimate is divided by at most, with one refusal
	minCruise           = 4.0  // seconds until the estimate is exceeded
	maxMinCruise        = 40.0 // seconds, however slow the estimate or long the backoff
	minCruisePerBackoff = 3.0  // times as long as the last backoff, up to that
	maxCruisePerBackoff = 50.0 // times as long as the last backoff: refusals cost 2 % of the time
	doublingsPerCruise  = 8.0  // of the excess, while probing up for as long as a cruise
	historyWeight       = 0.7  // of a measurement, relative to that of the next one
	maxFlooredCuts      = 5    // in a row that go no lower than the history: then the limit was lowered
	minBurstKept        = 0.7  // of the burst, with each raise: with less, several clients share a limit less evenly
	windowGapRequests   = 5.0  // at the estimate: no bucket refuses probes for as long
)

// Load shedding, in requests unless it says otherwise.
const (
	minUselessCuts        = 7     // cuts that did not help, less those that did
	minAcceptedPerRefusal = 2.3   // behind a limit that other clients use there are fewer
	maxOddsRise           = 2.5   // times the odds of a refusal at the estimate: more depend on the rate
	maxDoubts             = 5.0   // refusals beyond those odds
	maxSpeedup            = 8.0   // times the rate that was accepted
	requestsOfProof       = 100.0 // accepted: the estimate is out of date
	requestsPerDoubling   = 3.0   // accepted, until the rate is doubled
	maxRestored           = 3.0   // times the estimate, when load shedding ends: the useless cuts are taken back
)

// An announced quota.
const (
	reservedShare   = 12 // one part in so many requests of a quota is left to what is not a walk
	pausesPerWindow = 4  // of a walk, while little is left
)

// Others.
const (
	maxChance = 0.00001 // that a common limit refused one route alone: else it is isolated
)
