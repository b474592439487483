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
	inVain   int      // refusals too soon, less others: slowing down did not help
	share    outcomes // of the requests since there are such, except those in lately
	lately   outcomes // of the requests since there are doubts
	sped     float64  // requests accepted since refusals are taken for random
	doubts   float64  // grow with each refusal, and shrink with each acceptance while no more are refused than before
}

// outcomes is how many requests were accepted, and how many refused.
type outcomes struct{ accepted, refused float64 }

// judge records a refusal: slowing down was in vain, or a limit explains it.
func (b *belief) judge(inVain bool) {
	if inVain {
		b.inVain++
	} else {
		b.inVain = max(0, b.inVain-1)
	}
}

// weigh records the outcome of a request. It reports whether the belief changes.
func (b *belief) weigh(refused bool) bool {
	if b.inVain == 0 && !b.atRandom {
		b.share, b.lately = outcomes{}, outcomes{}
	}
	one := 0.0
	if refused {
		one = 1
	}
	b.lately.accepted += 1 - one
	b.lately.refused += one
	if b.atRandom {
		b.sped += 1 - one
		b.doubts = max(0, b.doubts+one-moreOdds*b.share.refused/(b.share.accepted+moreOdds*b.share.refused))
	}
	if b.doubts == 0 { // else they would become the share to which they are compared
		b.share.accepted += b.lately.accepted
		b.share.refused += b.lately.refused
		b.lately = outcomes{}
	}
	if !b.atRandom {
		b.atRandom = b.inVain >= vain && b.share.accepted > crowd*b.share.refused
		return b.atRandom
	}
	if b.doubts < convinced {
		return false
	}
	*b = belief{sped: b.sped}
	return true
}

// lasted reports whether refusals were taken for random for long, not just on trial.
func (b *belief) lasted() bool { return b.sped >= proven }

// speed returns by how much the known rate is exceeded.
func (b *belief) speed() float64 { return math.Exp2(b.sped / speeding) }
