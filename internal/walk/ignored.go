package walk

// Ignored is the error of a page that does not fit its request; its text is
// the evidence.
type Ignored string

func (e Ignored) Error() string { return string(e) }

const enoughEvidence = 8 // pages that show the top of the listing, whatever the offset

// isIgnored notices a service, or something on the way to it, that ignores the
// offset: it shows the top of the listing again and again. So may a listing at
// which many arrive, so the evidence is weighed: the same page again is much of
// it, but less the fewer arrivals would explain it, and a page of none but newer
// entries is little. An older page clears the service.
func (w *Offset[V]) isIgnored(at int64, page []Entry[V]) bool {
	if len(page) == 0 {
		return false
	}
	newest, again := page[0].Start, 0
	for _, e := range page {
		if contains(w.top, e.ID) {
			again++
		}
	}
	// As long as the top, for behind an offset a short listing shows less of it.
	same := again > len(w.top)/2 && len(page) >= len(w.top)
	if newest < w.newest || newest == w.newest && !same { // many may share the newest start
		w.proven, w.evidence = true, 0
		return false
	}
	w.newest, w.top = newest, page
	switch {
	case same:
		w.evidence += min(1, float64(at)/4)
	case at > 0:
		w.evidence += 0.1
	}
	if w.evidence < enoughEvidence {
		return false
	}
	w.evidence = 0
	return true
}
