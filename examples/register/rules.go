package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// rules select the races that a horse is entered into.
type rules struct {
	maxFee               horseracing.BigInt
	minLength, maxLength int // furlongs
	freePlaces           int
	atOnce               int // races that a horse is in at the same time
}

// against returns why the horse must not be entered into the race, or "".
func (r *rules) against(race *horseracing.Race, horse *horseracing.Horse, otherRaces int, now time.Time) string {
	switch {
	case race.Has(horse.Number):
		return "the horse is in it already"
	case !race.RegistrationOpenAt(now):
		return "registration is closed"
	case race.FreePlaces() < r.freePlaces:
		return fmt.Sprintf("%s free, fewer than %d", count(race.FreePlaces(), "place"), r.freePlaces)
	case !race.AcceptsLevel(horse.Level):
		return fmt.Sprintf("it takes levels %s, and the horse has level %d", program.Levels(race), horse.Level)
	case race.Length < r.minLength || race.Length > r.maxLength:
		return fmt.Sprintf("%s, not %d to %d", count(race.Length, "furlong"), r.minLength, r.maxLength)
	case race.EntryFee.Cmp(r.maxFee) > 0:
		return fmt.Sprintf("the fee of %s is above %s", program.Price(race.EntryFee), program.Price(r.maxFee))
	case otherRaces >= r.atOnce:
		return fmt.Sprintf("the horse is in %s (-at-once %d)", count(otherRaces, "other race"), r.atOnce)
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
