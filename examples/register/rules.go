package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// rules select the races that a horse is entered into.
type rules struct {
	minLevel   int // a race must take these levels; zero: any that takes the horse
	maxLevel   int
	minLength  int // furlongs; zero: any
	maxLength  int
	maxFee     horseracing.BigInt
	perDay     horseracing.BigInt // the budget of a day
	inAll      horseracing.BigInt
	freePlaces int
	atOnce     int    // races that a horse is in at a time
	hippodrome string // name or type; empty: any
}

func defaultRules() rules {
	r := rules{freePlaces: 1, atOnce: 1}
	r.maxFee, _ = program.ParseTokens("5")
	r.perDay, _ = program.ParseTokens("10")
	r.inAll, _ = program.ParseTokens("100")
	return r
}

func tokens(amount *horseracing.BigInt) func(string) error {
	return func(text string) (err error) {
		*amount, err = program.ParseTokens(text)
		return err
	}
}

// setLength reads "6" or "6-10".
func (r *rules) setLength(text string) (err error) {
	if r.minLength, r.maxLength, err = parseRange(text); err != nil {
		return errors.New("a length is a number of furlongs such as 6, or a range such as 6-10")
	}
	return nil
}

// setLevels reads "4" or "3-8".
func (r *rules) setLevels(text string) (err error) {
	if r.minLevel, r.maxLevel, err = parseRange(text); err != nil {
		return errors.New("levels are a number from 1 to 1000 such as 4, or a range such as 3-8")
	}
	return nil
}

func parseRange(text string) (low, high int, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	low, err1 := strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || low < 1 || low > high || high > 1000 {
		return 0, 0, errors.New("not a range")
	}
	return low, high, nil
}

// against returns why the horse must not be entered into the race; empty: it
// may. The budget and what the horse is entered in are the journal's to check.
func (r *rules) against(race *horseracing.Race, horse *horseracing.Horse, now time.Time) string {
	info := race.Info
	switch {
	case race.Has(horse.Number):
		return "the horse is in it already"
	case !race.RegistrationOpenAt(now):
		return "registration is closed"
	case race.FreePlaces() < r.freePlaces:
		return fmt.Sprintf("%d free places, fewer than %d", race.FreePlaces(), r.freePlaces)
	case !race.AcceptsLevel(horse.Level):
		return fmt.Sprintf("it takes levels %s, and the horse has level %d", program.Levels(race), horse.Level)
	case r.minLevel > 0 && !(race.AcceptsLevel(r.minLevel) && race.AcceptsLevel(r.maxLevel)):
		return fmt.Sprintf("it takes levels %s, not all of %d-%d", program.Levels(race), r.minLevel, r.maxLevel)
	case r.maxLength > 0 && (race.Length < r.minLength || race.Length > r.maxLength):
		return fmt.Sprintf("%d furlongs, not %d-%d", race.Length, r.minLength, r.maxLength)
	case race.EntryFee.Cmp(r.maxFee) > 0:
		return fmt.Sprintf("the fee of %s is above %s", program.Price(race.EntryFee), program.Price(r.maxFee))
	case r.hippodrome != "" && !strings.EqualFold(info.HippodromeName, r.hippodrome) && !strings.EqualFold(info.HippodromeType, r.hippodrome):
		return "it is run at " + info.HippodromeName
	}
	return ""
}

// compare orders races: the cheapest first, of equals the one that starts first.
func compare(a, b *horseracing.Race) int {
	return cmp.Or(
		a.EntryFee.Cmp(b.EntryFee),
		a.StartTime.Compare(b.StartTime.Time),
		cmp.Compare(a.MainRaceID, b.MainRaceID))
}
