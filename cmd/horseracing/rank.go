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
	stated     bool   // the mission states what counts
	indirect   bool   // no race counts: the mission is to complete the others
	furlongs   int    // zero if any will do
	hippodrome string // type; empty if any will do
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
	Race    *horseracing.Race `json:"race"`
	Serves  []string          `json:"serves"`        // names of missions
	Perhaps []string          `json:"serves_if_won"` // names of missions that need a prize place
	XP      float64           `json:"xp"`            // what the race is worth for Serves
	Sugar   float64           `json:"sugar"`
}

// perhaps returns the missions that need a prize place, with a question mark.
func (c *candidate) perhaps() (names []string) {
	for _, name := range c.Perhaps {
		names = append(names, name+"?")
	}
	return names
}

// rank returns the races that the horse can enter now and that count for its
// unfinished missions: the one that is worth most first, of equals the cheaper
// one, then the earlier one.
func rank(horse *horseracing.Horse, missions []horseracing.HorseMission, races []horseracing.Race, hippodromes []string, now time.Time) []candidate {
	var ranked []candidate
	for i := range races {
		if !canEnter(horse, &races[i], now) {
			continue
		}
		c := candidate{Race: &races[i], Serves: []string{}, Perhaps: []string{}}
		for _, m := range missions {
			switch d := demandOf(&m, hippodromes); {
			case m.Completed || !d.metBy(c.Race):
			case d.place:
				c.Perhaps = append(c.Perhaps, m.Name)
			default:
				c.Serves = append(c.Serves, m.Name)
				c.XP += float64(m.RewardXP) / float64(max(1, m.Count))
				c.Sugar += float64(m.RewardSugar) / float64(max(1, m.Count))
			}
		}
		if len(c.Serves)+len(c.Perhaps) > 0 {
			ranked = append(ranked, c)
		}
	}
	slices.SortStableFunc(ranked, func(a, b candidate) int {
		return cmp.Or(
			-cmp.Compare(a.XP, b.XP),
			-cmp.Compare(a.Sugar, b.Sugar),
			-cmp.Compare(len(a.Perhaps), len(b.Perhaps)),
			a.Race.EntryFee.Cmp(b.Race.EntryFee),
			a.Race.StartTime.Compare(b.Race.StartTime.Time),
			cmp.Compare(a.Race.MainRaceID, b.Race.MainRaceID))
	})
	return ranked
}

func canEnter(horse *horseracing.Horse, race *horseracing.Race, now time.Time) bool {
	return race.RegistrationOpenAt(now) && race.FreePlaces() > 0 && race.AcceptsLevel(horse.Level) && !race.Has(horse.Number)
}
