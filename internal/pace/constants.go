package pace

import "time"

// The numbers of the engine.
const (
	firstBackoff = 100 * time.Millisecond // at most, while no rate is known
	maxBackoff   = 5 * time.Second

	margin         = 0.025 // how far below the known rate sending goes on after a refusal
	steepness      = 30    // how many times the known rate are added in the time of trust
	shortestTrust  = 4     // seconds until the known rate is exceeded, at least
	uncertain      = 20    // requests until then, at least
	patient        = 3     // pauses as long as the last one until then, at least
	longestTrust   = 40    // seconds until then, at most
	perPause       = 40    // but as many Retry-Afters, once the known rate is confirmed
	growth         = 1.5
	jitter         = 0.1
	maxPassed      = 9
	maxWaits       = 4
	lately         = 50
	unlikely       = 0.001
	manyInRow      = 5
	longRetryAfter = 5 * time.Second
	rejoinAfter    = 10 * time.Minute
	brief          = 0.05  // of the time: a refusal that costs no more is no reason to be much slower
	small          = 0.005 // how much slower
	silence        = 5     // no bucket refuses probes for the time of so many requests
	doubt          = 0.34  // how much smaller the burst is held to be each time that known is exceeded
	idle           = 5     // seconds without a request after which a burst begins anew

	firstRaise   = 2  // seconds with all places taken before one more is tried
	slowestRaise = 30 // the same, after several were refused
	proof        = 2  // requests accepted for each place, until one more counts as known
)
