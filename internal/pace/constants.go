package pace

import "time"

// Waits.
const (
	minWait     = 20 * time.Millisecond  // before a probe: a round trip
	firstWait   = 100 * time.Millisecond // before the first probe while no rate is known: a burst has its responses by then
	maxWait     = 5 * time.Second        // before a probe, for its response, and until a single call is sent anyway; after a longer pause a burst begins anew
	longestWait = 54 * time.Second       // before a probe in a long backoff: a crawl is back within a minute
	longBackoff = 2 * time.Minute        // longer than the wait for a window of a minute: at first taken for an outage
)

// The rate. To refuse less, raise waitsPerGrowth; to find a raised limit sooner, lower
// shortestGrowth.
const (
	sampleSize     = 20   // accepted requests that measure a rate to a few percent
	margin         = 0.03 // of the measured rate, below which it is sent: what the measurement may be wrong by
	earlyCut       = 0.06 // of the rate, if it was refused before it grew: others use the limit, too
	raise          = 0.3  // of the way from the measured to the refused rate: a bucket's burst hides a part of the limit
	shortestGrowth = 20.0 // seconds until the rate is exceeded clearly
	waitsPerGrowth = 60.0 // times the waits of the last backoff: refusals cost less than 2 % of the time
	uselessCuts    = 7    // until the refusals seem to be at random: a limit is found by fewer
)
