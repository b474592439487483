package pace

import "time"

// The numbers of the package.
const (
	firstBackoff  = 100 * time.Millisecond // at most, while no rate is known: a few round trips
	leastBackoff  = 20 * time.Millisecond  // a round trip
	long          = 5 * time.Second        // a wait: of a backoff at most, of a Retry-After that need not bind all routes, of a caller who is told
	growth        = 1.5                    // of the backoff with each probe: the last wait is a third of all
	fastest       = 2.0                    // times the highest rate that was accepted: the known rate at most
	margin        = 0.01                   // below the known rate, as a part of it: a bucket fills again, at the cost of 1 %
	aged          = 0.7                    // a measurement's weight in the history, of the next one's
	mostEarly     = 5                      // refusals in a row within the trust that the history outweighs
	doublings     = 8.0                    // of the excess, in as long as the rate was trusted
	enough        = 20                     // requests: they measure a rate, or a route's share, to 5 %
	shortestTrust = 4.0                    // seconds until the known rate is exceeded
	dear          = 50.0                   // times as long as the pause of a refusal the known rate is trusted at most: it costs 2 %
	silence       = 5.0                    // requests at the known rate: no bucket refuses probes for as long
	unlikely      = 0.00001                // the odds that a common limit refused one route alone
	vain          = 6                      // times that slowing down did not help, in all: refusals are at random
	crowd         = 3.0                    // requests accepted for each refused one: behind a limit that other clients use there are fewer
	moreOdds      = 2.5                    // of a refusal: the share that is refused rises with the rate
	convinced     = 5.0                    // refusals beyond that share end the belief
	speeding      = 3.0                    // requests accepted while refusals are at random double the rate
	proven        = 100.0                  // of those: the known rate is out of date
	maxWaits      = 4                      // for the Limiter, at once: one that is 10 ms away grants 400 requests a second
	rejoinAfter   = 10 * time.Minute       // without a refusal: longer than a usual window
)
