package walk

// Ignored is the error of a page that does not fit its request. Its text reports how.
type Ignored string

func (e Ignored) Error() string { return string(e) }

const enoughEvidence = 8 // pages with the top of the listing, whatever the offset

// isIgnored reports whether the service, or something on the network path,
// ignores the offset and returns the top of the listing again and again. Many
// arrivals look the same for a while, so evidence adds up: one for the same page
// again, less if few arrivals would explain it, and a tenth for a page of newer
// entries alone. An older page proves that the offset is heeded.
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
	// As long as the top: behind an offset a short listing returns less of it.
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
