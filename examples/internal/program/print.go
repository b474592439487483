package program

import (
	"fmt"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// Tokens returns an amount in whole tokens, exactly and with thousands
// separators: 0.25, 1,234. A token has 18 decimal places here, which is usual
// where amounts are as large as these; the service does not document it.
func Tokens(amount horseracing.BigInt) string {
	whole, fraction, isFraction := strings.Cut(amount.FormatUnits(18), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if isFraction {
		whole += "." + fraction
	}
	return whole
}

// Wins returns which horse wins a race, the fastest or the slowest.
func Wins(race *horseracing.Race) string {
	switch race.Type {
	case horseracing.RaceTypeBestTime:
		return "fastest"
	case horseracing.RaceTypeWorstTime:
		return "slowest"
	}
	return string(race.Type)
}

// Levels returns the levels that a race takes.
func Levels(race *horseracing.Race) string {
	switch {
	case race.MaxLevel == 0 && race.MinLevel == 0:
		return "any"
	case race.MaxLevel == 0:
		return fmt.Sprintf("%d and up", race.MinLevel)
	}
	return fmt.Sprintf("%d-%d", race.MinLevel, race.MaxLevel)
}

// Places returns the places of a race that are free, of all.
func Places(race *horseracing.Race) string {
	return fmt.Sprintf("%d of %d free", race.FreePlaces(), race.Places)
}

// Tier returns the name of a tier, of which only Omega's is documented.
func Tier(id horseracing.TierID) string {
	if id == horseracing.TierOmega {
		return string(horseracing.TierNameOmega)
	}
	return fmt.Sprint(id)
}
