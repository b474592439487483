package pace

import "time"

// The numbers of the package.
const (
	// After a refusal.
	firstBackoff = 100 * time.Millisecond // at most, while no rate is known: a few round trips
	maxBackoff   = 5 * time.Second        // between two probes: so long after a window begins anew nothing may be sent at most
	growth       = 1.5                    // of the backoff with each probe: the last wait is a third of all
	jitter       = 0.1                    // of the backoff: clients that were refused together come back apart

	// The rate.
	margin        = 0.01 // below the known rate, as a part of it: a bucket fills again, at the cost of 1 %
	doublings     = 8.0  // of the excess, in as long as the rate was trusted: 3.5 times the known rate is reached by then
	enough        = 20   // requests: they measure a rate to 5 %
	shortestTrust = 4.0  // seconds: with a Retry-After of a second a fifth of the time is lost, while little is known
	longestTrust  = 40.0 // seconds: the same costs 2.5 %, and a limit that rose is found within a minute and a half
	patience      = 3.0  // pauses as long as the last one: at most a quarter of the time is lost in them
	silence       = 5.0  // requests at the known rate: no bucket refuses probes for as long

	// Who goes first.
	maxWaits   = 4               // of a Limiter at once: few, since a permit goes to whoever is first when it comes, and enough for one that is 10 ms away
	noticeable = 5 * time.Second // the shortest wait that is reported to the caller

	// A route set apart.
	recent         = 50               // requests of which a route's share is taken: some seconds of a usual client
	unlikely       = 0.001            // the odds that a common limit refused one route alone
	manyInRow      = 5                // refusals of a route, each with another accepted in between
	longRetryAfter = 5 * time.Second  // the other routes are tried meanwhile: a shorter one is waited out by all
	rejoinAfter    = 10 * time.Minute // without a refusal: longer than a usual window
)
