package pace

// isolator decides which route is limited on its own: the one that alone is refused,
// when chance does not explain that a common limit did so.
type isolator struct {
	recent  []*route // those of the last requests
	refused *route   // that of the last refusal
	chance  float64  // that a common limit refused it alone since another one was refused
	same    bool     // it was accepted since
	others  bool     // another one was
}

// send records that a request of r is sent.
func (i *isolator) send(r *route) {
	if i.recent = append(i.recent, r); len(i.recent) > sampleRequests {
		i.recent = i.recent[1:]
	}
}

// accept records that a request of r is accepted.
func (i *isolator) accept(r *route) {
	i.same, i.others = i.same || r == i.refused, i.others || r != i.refused
}

// isUnlikely reports whether chance does not explain that only r, which is refused now,
// was refused of late. informed is whether that request was sent after the first refusal.
func (i *isolator) isUnlikely(r *route, informed bool) bool {
	if i.refused != r {
		i.refused, i.chance, i.same, i.others = r, 1, false, false
	}
	if informed {
		mine := 0
		for _, sent := range i.recent {
			if sent == r {
				mine++
			}
		}
		share := float64(mine) / float64(len(i.recent))
		if i.chance *= share; i.others && !i.same { // only others were accepted since
			i.chance *= 1 - share
		}
		i.same, i.others = false, false
	}
	return i.chance < maxChance
}
