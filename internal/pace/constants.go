package pace

import "time"

// Waits.
const (
	minWait       = 20 * time.Millisecond  // the shortest wait before a probe: a round trip
	firstWait     = 100 * time.Millisecond // before the first probe while no rate is known: a burst has its responses by then
	probeInterval = 5 * time.Second        // the longest wait before a probe, for its response, and until a single call is sent anyway
	longestWait   = 54 * time.Second       // the same before a probe in a long backoff: a crawl is back within a minute
	longBackoff   = 2 * time.Minute        // longer than the wait for a window of a minute: at first taken for an outage
)

// The rate. To be refused less, raise waitsPerGrowth, or shortestGrowth if refusals have a
// Retry-After; to find a raised limit sooner, lower shortestGrowth.
const (
	sampleSize     = 20   // accepted requests that measure a rate to a few percent
	margin         = 0.03 // requests are sent at the measured rate less this share, by which it may be wrong
	earlyCut       = 0.06 // by this share the rate is cut further after an early refusal: others use the limit, too
	raise          = 0.3  // the cut stops at this share of the way from the measured to the refused rate: a burst hides a part of the limit
	shortestGrowth = 20.0 // the least value of learner.growth, in seconds
	waitsPerGrowth = 60.0 // times the waits of the last backoff, at most longBackoff: short waits cost a few percent
	uselessCuts    = 7    // early refusals, less others, until they seem to be at random: a limit is found by fewer
)
