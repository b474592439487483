package pace

import "math"

// shedding is whether refusals depend on the rate.
//
// Below a limit few requests are refused, so a cut of the estimate helps. If it does not,
// several times in a row, the service sheds load: it refuses a share of all requests, and
// the rate is not limited as long as that share does not rise with it.
type shedding struct {
	sheds       bool
	uselessCuts int     // less those that helped
	share       counts  // of the requests since there are such, except those in lately
	lately      counts  // of the requests since there are doubts
	sped        float64 // requests accepted since the service sheds load
	paused      bool    // the last refusal had a Retry-After, which bounds what is sent
	proven      float64 // requests per second, accepted since then
	doubts      float64 // grow with each refusal, and shrink with each acceptance while no more are refused than before
}

// counts is how many requests were accepted, and how many refused.
type counts struct{ accepted, refused float64 }

// noteCut records a cut: it was of no use, or a limit explains it.
func (s *shedding) noteCut(useless bool) {
	if useless {
		s.uselessCuts++
	} else {
		s.uselessCuts = max(0, s.uselessCuts-1)
	}
}

// weigh records the outcome of a request. It reports whether sheds changes.
func (s *shedding) weigh(refused bool) bool {
	if s.uselessCuts == 0 && !s.sheds {
		s.share, s.lately = counts{}, counts{}
	}
	one := 0.0
	if refused {
		one = 1
	}
	s.lately.accepted += 1 - one
	s.lately.refused += one
	if s.sheds {
		s.sped += 1 - one
		s.doubts = max(0, s.doubts+one-s.highestShare())
	}
	if s.doubts == 0 { // else they would become the share to which they are compared
		s.share.accepted += s.lately.accepted
		s.share.refused += s.lately.refused
		s.lately = counts{}
	}
	if !s.sheds {
		s.sheds = s.uselessCuts >= minUselessCuts && s.share.accepted > minAcceptedPerRefusal*s.share.refused
		return s.sheds
	}
	if s.doubts < maxDoubts {
		return false
	}
	*s = shedding{sped: s.sped, proven: s.proven}
	return true
}

// highestShare returns the share of refusals from which on they depend on the rate. doubts
// is the cumulative sum of what is beyond it (CUSUM,
// https://en.wikipedia.org/wiki/CUSUM).
func (s *shedding) highestShare() float64 {
	refused := maxOddsRise * s.share.refused
	return refused / (s.share.accepted + refused)
}

// speedup returns how many times the estimate is sent.
func (s *shedding) speedup() float64 {
	if s.paused {
		return math.Exp2(s.sped / requestsPerDoubling)
	}
	return min(math.Exp2(s.sped/requestsPerDoubling), maxSpeedup)
}
