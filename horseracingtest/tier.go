package horseracingtest

import "slices"

// omega is the tier that is meant where a request names none.
const omega = 5

// tierNames are the tiers of the fake, by id. Documented are 5 as
// Omega, and that there is a Beta; the rest is the fake's own.
var tierNames = []string{1: "Alpha", 2: "Beta", 3: "Gamma", 4: "Delta", omega: "Omega"}

func knownTier(id int64) bool { return id >= 1 && id < int64(len(tierNames)) }

// tierOf is the id of the tier of that name; 0: there is none.
func tierOf(name string) int {
	if name == "" {
		return 0
	}
	return max(0, slices.Index(tierNames, name))
}
