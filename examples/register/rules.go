package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// against returns why a horse that is in other open races must not be entered into the
// race, or "". The ledger checks the fee.
func against(race *horseracing.Race, horse *horseracing.Horse, others, atOnce int, now time.Time) string {
	switch {
	case race.Has(horse.Number):
		return "the horse is in it already"
	case !race.RegistrationOpenAt(now):
		return "registration is closed"
	case race.FreePlaces() == 0:
		return "it is full"
	case !race.AcceptsLevel(horse.Level):
		return fmt.Sprintf("it takes levels %s, and the horse has level %d", program.Levels(race), horse.Level)
	case others >= atOnce:
		return fmt.Sprintf("the horse is in %s (-at-once %d)", count(others, "other race"), atOnce)
	}
	return ""
}

// compare orders races: the cheapest first, of equals the one that starts first.
func compare(a, b horseracing.Race) int {
	return cmp.Or(a.EntryFee.Cmp(b.EntryFee), a.StartTime.Compare(b.StartTime.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
}

// count returns "1 place" or "2 places".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
