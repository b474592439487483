package horseracing

import (
	"errors"
	"fmt"
	"slices"
)

// resolveTiers returns the tiers that a query selects, sorted and each once, and the
// payload of its Resume, if that is set. A query that names no tier has those of the
// cursor; without either it selects tier zero, which stands for the service's default.
// The problem is nil if the query is valid.
func resolveTiers(kind cursorKind, tier TierID, tiers []TierID, resume Cursor) (selected []TierID, payload []string, problem error) {
	selected = []TierID{tier}
	if len(tiers) > 0 {
		selected = slices.Compact(slices.Sorted(slices.Values(tiers)))
	}
	saved, isValid := selected, true
	if !resume.IsZero() {
		saved, payload, isValid = resume.payload(kind)
	}
	isNamed := tier != 0 || len(tiers) > 0
	same := func(a, b TierID) bool { return a.orDefault() == b.orDefault() }
	switch {
	case tier != 0 && len(tiers) > 0:
		problem = errors.New("both Tier and Tiers are set")
	case slices.Contains(tiers, 0):
		problem = errors.New("a tier in Tiers is zero")
	case selected[0] < 0:
		problem = fmt.Errorf("tier %d is negative", selected[0])
	case len(selected) > maxTiers:
		problem = fmt.Errorf("there are %d tiers in Tiers, more than %d", len(selected), maxTiers)
	case !isValid, isNamed && !slices.EqualFunc(saved, selected, same):
		problem = errors.New("the cursor in Resume is of another listing or of other tiers")
	case isNamed:
		return selected, payload, nil
	default:
		return saved, payload, nil
	}
	return selected, nil, problem
}

const maxTiers = 100
