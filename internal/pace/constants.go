package pace

import "time"

// Waits.
const (
	firstWait     = 100 * time.Millisecond // before the first probe while no rate is known
	minWait       = 20 * time.Millisecond  // before a probe: a round trip
	maxWait       = 5 * time.Second        // before a probe, and for its response
	longestWait   = 54 * time.Second       // before a probe of a walk in a long backoff: it is back within a minute
	longBackoff   = 90 * time.Second       // at first taken for an outage, and not for a window
	longestWindow = 65 * time.Minute       // of a usual limit, and a probe more
	idleAfter     = time.Second            // without a request, while no rate is known: nobody wanted one
)

// The rate. To refuse less, raise waitsPerTry; to find a raised limit sooner, lower it and
// shortestTry.
const (
	sampleSize  = 20    // accepted requests measure a rate
	margin      = 0.03  // of the measured rate, below it
	raise       = 0.3   // of the way from the measured to the refused rate
	shortestTry = 20.0  // seconds until the rate is exceeded clearly
	longestTry  = 120.0 // seconds, unless the backoff was a quarter of it
	waitsPerTry = 60.0  // times as long as the waits of the last backoff
	uselessCuts = 7     // one after another: the refusals do not depend on the rate
)
