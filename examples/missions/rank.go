package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// demand is what a race must be like to count for a mission.
type demand struct {
	stated     bool   // false: the mission does not state it
	indirect   bool   // no race counts: the mission is to complete the others
	furlongs   int    // zero: any
	hippodrome string // type; empty: any
	place      bool   // the horse must finish well, too
}

// demandOf reads a mission. Which race counts follows from its kind and its
// members; what has been done so far cannot be read, since the shape of progress
// is undocumented.
func demandOf(m *horseracing.HorseMission, hippodromes []string) demand {
	d := demand{stated: true}
	switch m.Mission {
	case horseracing.MissionKindRunXRaces:
	case horseracing.MissionKindTakePrizePlaceInXRaces:
		d.place = true
	case horseracing.MissionKindRunXFurlongRace, horseracing.MissionKindRunXRacesYFurlong:
		if m.Furlongs == nil {
			return demand{}
		}
		d.furlongs = *m.Furlongs
	case horseracing.MissionKindRunAllOnZHippodrome:
		if m.Hippodrome == nil || *m.Hippodrome < 0 || *m.Hippodrome >= len(hippodromes) || hippodromes[*m.Hippodrome] == "" {
			return demand{}
		}
		d.hippodrome = hippodromes[*m.Hippodrome]
	case horseracing.MissionKindAllDaily, horseracing.MissionKindAllWeekly:
		d.indirect = true
	default:
		return demand{}
	}
	return d
}

func (d demand) String() string {
	switch {
	case !d.stated:
		return "unknown"
	case d.indirect:
		return "the other missions"
	case d.furlongs > 0:
		return fmt.Sprintf("races of %d furlongs", d.furlongs)
	case d.hippodrome != "":
		return "races on " + d.hippodrome
	case d.place:
		return "any race, with a prize place"
	}
	return "any race"
}

func (d demand) metBy(race *horseracing.Race) bool {
	return d.stated && !d.indirect &&
		(d.furlongs == 0 || d.furlongs == race.Length) &&
		(d.hippodrome == "" || strings.EqualFold(d.hippodrome, race.Info.HippodromeType))
}

// candidate is a race that serves at least one mission.
type candidate struct {
	race      *horseracing.Race
	serves    []string // the missions' names; with a question mark: perhaps
	chances   int      // how many of them only perhaps
	xp, sugar float64  // of the others: what one race is worth
}

// rank returns the races that the horse can enter now and that count for its
// unfinished missions: the one that is worth most first, of equals the cheaper
// one, then the earlier one.
func rank(horse *horseracing.Horse, missions []horseracing.HorseMission, races []horseracing.Race, hippodromes []string, now time.Time) []candidate {
	var ranked []candidate
	for i := range races {
		c := candidate{race: &races[i]}
		if !canEnter(horse, c.race, now) {
			continue
		}
		for _, m := range missions {
			d := demandOf(&m, hippodromes)
			if m.Completed || !d.metBy(c.race) {
				continue
			}
			if d.place {
				c.chances++
				c.serves = append(c.serves, m.Name+"?")
				continue
			}
			c.serves = append(c.serves, m.Name)
			c.xp += float64(m.RewardXP) / float64(max(1, m.Count))
			c.sugar += float64(m.RewardSugar) / float64(max(1, m.Count))
		}
		if len(c.serves) > 0 {
			ranked = append(ranked, c)
		}
	}
	slices.SortStableFunc(ranked, func(a, b candidate) int {
		return cmp.Or(
			-cmp.Compare(a.xp, b.xp),
			-cmp.Compare(a.sugar, b.sugar),
			-cmp.Compare(a.chances, b.chances),
			a.race.EntryFee.Cmp(b.race.EntryFee),
			a.race.StartTime.Compare(b.race.StartTime.Time),
			cmp.Compare(a.race.MainRaceID, b.race.MainRaceID))
	})
	return ranked
}

func canEnter(horse *horseracing.Horse, race *horseracing.Race, now time.Time) bool {
	return race.RegistrationOpenAt(now) && race.FreePlaces() > 0 && race.AcceptsLevel(horse.Level) && !race.Has(horse.Number)
}
