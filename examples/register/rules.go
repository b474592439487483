package main

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// rules say which race will do.
type rules struct {
	level      int // zero: any that takes the horse
	minLength  int // furlongs; zero: any
	maxLength  int
	maxFee     horseracing.BigInt
	hippodrome string // name or type; empty: any
}

// setLength reads "6" or "6-10".
func (r *rules) setLength(text string) error {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	var errLow, errHigh error
	r.minLength, errLow = strconv.Atoi(low)
	r.maxLength, errHigh = strconv.Atoi(high)
	if errLow != nil || errHigh != nil || r.minLength < 1 || r.minLength > r.maxLength {
		return errors.New("a length is a number of furlongs such as 6, or a range such as 6-10")
	}
	return nil
}

func (r *rules) setMaxFee(text string) (err error) {
	r.maxFee, err = program.ParseTokens(text)
	return err
}

// pick returns the cheapest race that the horse can enter now; of equals the
// one that starts first. Nil: there is none.
func (r *rules) pick(races []horseracing.Race, horse *horseracing.Horse, now time.Time) *horseracing.Race {
	var best *horseracing.Race
	for i := range races {
		race := &races[i]
		if r.allow(race, horse, now) && (best == nil || compare(race, best) < 0) {
			best = race
		}
	}
	return best
}

func compare(a, b *horseracing.Race) int {
	return cmp.Or(
		a.EntryFee.Cmp(b.EntryFee),
		a.StartTime.Compare(b.StartTime.Time),
		cmp.Compare(a.MainRaceID, b.MainRaceID))
}

func (r *rules) allow(race *horseracing.Race, horse *horseracing.Horse, now time.Time) bool {
	isIn := slices.ContainsFunc(race.Participants, func(p horseracing.RaceParticipant) bool { return p.Number == horse.Number })
	return !isIn && race.RegistrationOpenAt(now) && race.FreePlaces() > 0 &&
		race.AcceptsLevel(horse.Level) &&
		(r.level == 0 || race.AcceptsLevel(r.level)) &&
		(r.maxLength == 0 || race.Length >= r.minLength && race.Length <= r.maxLength) &&
		race.EntryFee.Cmp(r.maxFee) <= 0 &&
		(r.hippodrome == "" || strings.EqualFold(race.Info.HippodromeName, r.hippodrome) || strings.EqualFold(race.Info.HippodromeType, r.hippodrome))
}
