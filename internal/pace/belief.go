package pace

import "math"

// belief is whether refusals depend on the rate.
//
// Below a limit few requests are refused, so the known rate is seldom too high several
// times in a row. If it is, slowing down does not help: the refusals are taken for
// random, and the rate is not limited, as long as the share that is refused does not
// rise with it.
type belief struct {
	atRandom bool
	inVain   int     // refusals too soon, less others: slowing down did not help
	accepted float64 // requests, since there are such
	refused  float64 // of the same
	sped     float64 // requests accepted since refusals are taken for random
	doubts   float64 // grow with each refusal, and shrink with each acceptance while no more are refused than before
}

// judge records a refusal: slowing down was in vain, or a limit explains it.
func (b *belief) judge(inVain bool) {
	if inVain {
		b.inVain++
	} else if b.inVain > 0 {
		b.inVain--
	}
}

// weigh records the outcome of a request. It reports whether the belief changes.
func (b *belief) weigh(refused bool) bool {
	if b.inVain <= 0 && !b.atRandom {
		b.accepted, b.refused = 0, 0
	}
	one := 0.0
	if refused {
		one = 1
	}
	if b.doubts == 0 { // what is counted while it doubts would confirm the belief
		b.accepted += 1 - one
		b.refused += one
	}
	if !b.atRandom {
		b.atRandom = b.inVain >= vain && b.accepted > 2*b.refused
		return b.atRandom
	}
	b.sped += 1 - one
	b.doubts = max(0, b.doubts+one-moreOdds*b.refused/(b.accepted+moreOdds*b.refused))
	if b.doubts < convinced {
		return false
	}
	if *b = (belief{sped: b.sped}); !b.lasted() {
		b.inVain = -again
	}
	return true
}

// lasted reports whether refusals were taken for random for long, not just on trial.
func (b *belief) lasted() bool { return b.sped >= proven }

// speed returns by how much the known rate is exceeded.
func (b *belief) speed() float64 { return math.Exp2(b.sped / speeding) }
