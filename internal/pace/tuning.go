package pace

import "time"

// tuning holds the numbers that the engine was measured with. None of them is
// critical: any of them changed by half costs little.
type tuning struct {
	// Backoff.
	firstBackoff time.Duration // at most, while the pace is unknown
	maxBackoff   time.Duration
	growth       float64       // of the backoff, with each probe that is refused
	jitter       float64       // of a backoff
	probeOverdue time.Duration // then another probe may go

	// Places.
	firstRaise  float64 // seconds for which all places are taken before one more is tried
	slowestRise float64 // the same, after several trials were refused
	spread      float64 // seconds until what is tried is tried at full speed
	ahead       float64 // how much shorter than even the time between two requests is when more are tried
	further     float64 // the same, at full speed
	proof       float64 // accepted beyond the cap, for each place, until it is raised
	attempts    int     // that are remembered
	byChance    float64 // likelier than this, a refusal has nothing to do with the number in flight
	smoothing   float64 // of the time that a request takes: so many count

	// What the rate does between two refusals.
	margin     float64 // how far below the known rate sending goes on after a refusal
	steepness  float64 // beyond it: so many times the known rate are added in the time of the rise
	fastReturn float64 // seconds until the known rate is reached again, while it is uncertain
	slowReturn float64 // the same, when it was confirmed
	maxReturn  float64 // for the sake of few refusals it takes no longer
	seldom     float64 // nor than so many seconds at a rate at which no request would be sent in that time

	// How a refusal is weighed.
	enough    float64 // accepted requests that make a measurement
	rare      float64 // one refusal in so many requests is no reason to be slower
	brief     float64 // nor is one that costs no more of the time
	bursts    float64 // so many are accepted in a measurement that is no mere burst
	doubt     float64 // how much smaller the burst is held to be each time that what is known was exceeded
	step      float64 // requests; when it turns out to be larger, twice as large and so much larger at most
	samples   int     // that are remembered
	fadeAfter float64 // seconds that count while no limit is known
	small     float64 // how much slower a rate becomes at least that is exceeded rarely
	firstDrop float64 // how much slower a confirmed one becomes at most by few requests
	nextDrop  float64 // the same, when that was not enough
	bigDrop   float64 // that leaves it uncertain
	leastPart float64 // of the time that a measurement has at least
	pauses    float64 // that a measurement is long at least
	longer    float64 // how much the time of return grows with each refusal beyond it
	uncertain float64 // the time between two refusals, in requests for each refused one
	confirmed float64 // the same, when the rate was confirmed
	paused    float64 // the time of return, in pauses, of at most maxPaused
	maxPaused float64 // seconds
	costly    float64 // a refusal is costly whose Retry-After lasts as long as so many requests
	lost      float64 // the limit is calculated, too, where it lasts so many longer than a burst makes up for
	confident float64 // where the limit is calculated: the time of return, in pauses
	rise      float64 // after a costly refusal: the time in which the rate rises by the steepness, in pauses
	fade      float64 // how much less the highest known rate is held to be each time that one is exceeded
	soonest   float64 // the least part of the time of return where the rate is far below that
	lowest    float64 // the part of a refused rate down to which two refusals are explained together
	noise     float64 // how inexact a count of the requests beyond a rate is, squared
	inertia   float64 // of the known burst, where two refusals allow several
	undoBelow float64 // the part of the highest measured rate at which refusals have nothing to do with it, perhaps
	undoTo    float64 // so many times that is tried then
	silence   float64 // a limit is certain, and no burst explains it, when for so many requests' time every probe is refused
}

func defaults() tuning {
	return tuning{
		firstBackoff: 100 * time.Millisecond,
		maxBackoff:   5 * time.Second,
		growth:       0.5,
		jitter:       0.1,
		probeOverdue: 5 * time.Second,

		firstRaise:  2,
		slowestRise: 30,
		spread:      2,
		ahead:       0.05,
		further:     0.2,
		proof:       2,
		attempts:    64,
		byChance:    0.001,
		smoothing:   8,

		margin:     0.025,
		steepness:  30,
		fastReturn: 4,
		slowReturn: 20,
		seldom:     30,
		maxReturn:  40,

		enough:    10,
		rare:      40,
		brief:     0.04,
		bursts:    2,
		doubt:     0.34,
		step:      0.3,
		samples:   32,
		fadeAfter: 5,
		small:     0.005,
		firstDrop: 0.15,
		nextDrop:  0.4,
		bigDrop:   0.2,
		leastPart: 0.01,
		pauses:    2,
		longer:    1,
		uncertain: 20,
		confirmed: 120,
		paused:    5,
		maxPaused: 10,
		costly:    4,
		lost:      1.9,
		confident: 45,
		rise:      15,
		fade:      0.05,
		soonest:   0.5,
		lowest:    0.8,
		noise:     0.03,
		inertia:   0.2,
		undoBelow: 0.25,
		undoTo:    3,
		silence:   9,
	}
}
