package walk

import (
	"cmp"
	"slices"
)

// sortPage returns the entries of a page that can be placed, newest first and
// each once, and the others. On one instant they keep their order.
func sortPage[V any](page []Entry[V]) (placed, unplaced []Entry[V]) {
	seen := make(map[string]bool, len(page))
	for _, e := range page {
		switch {
		case e.ID == "":
			unplaced = append(unplaced, e)
		case !seen[e.ID]:
			seen[e.ID] = true
			placed = append(placed, e)
		}
	}
	slices.SortStableFunc(placed, func(a, b Entry[V]) int { return cmp.Compare(b.Start, a.Start) })
	return placed, unplaced
}

// dropRead returns the entries of a page that the walk has not read before: pages
// overlap.
func dropRead[V any](page []Entry[V], wasRead func(Entry[V]) bool) []Entry[V] {
	return slices.DeleteFunc(slices.Clone(page), wasRead)
}
