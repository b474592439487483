package world

import "slices"

// omega is the tier of a request that names none.
const omega = 5

// tierNames are the tiers of the fake, by id. Documented are 5 as
// Omega, and that there is a Beta; the rest is the fake's own.
var tierNames = []string{1: "Alpha", 2: "Beta", 3: "Gamma", 4: "Delta", omega: "Omega"}

func knownTier(id int64) bool { return id >= 1 && id < int64(len(tierNames)) }

// tierOf returns the id of the tier with that name, or 0 if there is none.
func tierOf(name string) int {
	if name == "" {
		return 0
	}
	return max(0, slices.Index(tierNames, name))
}
