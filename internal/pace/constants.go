package pace

import "time"

// The numbers of the package.
const (
	// After a refusal.
	firstBackoff = 100 * time.Millisecond // at most, while no rate is known: about five round trips
	maxBackoff   = 5 * time.Second        // between two probes: what the end of a refusal costs at most, and as long as a person waits
	growth       = 1.5                    // of the backoff: half of the time since the refusal may be lost
	jitter       = 0.1                    // of the backoff: clients that were refused together come back apart

	// The rate.
	margin        = 0.01 // how far below the known rate requests are sent: a bucket fills again, at the cost of 1 %
	doublings     = 8.0  // of the excess in the time of trust: it ends at 2.5 times the known rate
	enough        = 20   // requests that measure a rate to 5 %
	shortestTrust = 4.0  // seconds: a refusal in each costs a second of Retry-After in five
	longestTrust  = 40.0 // seconds: a second of Retry-After costs 2.5 %, and a limit that rose is found within a minute
	patience      = 3.0  // pauses as long as the last one
	silence       = 5.0  // requests' time in which every probe is refused: no bucket stays empty so long

	// Who goes first.
	maxPassed  = 9               // requests of other ranks before one that waits: a rank that waits gets a tenth
	noticeable = 5 * time.Second // a wait of which the caller is told
	maxWaits   = 4               // of a Limiter at once: few, as a permit is for whoever is first when it comes; enough for one that is 10 ms away

	// A route set apart.
	recent         = 50               // requests of which a route's share is taken
	unlikely       = 0.001            // the chance that a common limit refuses one route alone
	manyInRow      = 5                // refusals of a route, each with another accepted in between
	longRetryAfter = 5 * time.Second  // is asked about: whether it is for all routes
	rejoinAfter    = 10 * time.Minute // without a refusal: longer than any usual window
)
