package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// property is something that entries have, of which not every value is
// documented.
type property struct {
	section, name string
	known         known
	values        []string // of the entries that were read
}

// known are values that are documented or expected, if there are any.
type known struct {
	values    []string
	constants bool // of the SDK: any other value is kept as it is
}

func expected(values ...string) known { return known{values: values} }

// texts are the only values expected, names are those that the SDK has constants for.
func texts[S ~string](constants ...S) known {
	return expected(each(constants, func(s S) S { return s })...)
}
func names[S ~string](constants ...S) known { return known{texts(constants...).values, true} }

// values are the checks of what the operations returned. They send nothing.
func (d *Doctor) values() []check {
	checks := []check{{"2", "undocumented and missing fields", "R11", d.drift}}
	for _, p := range d.properties() {
		checks = append(checks, check{p.section, p.name, "", p.examine})
	}
	return checks
}

func (p property) examine(context.Context) finding {
	unknown := count(p.values)
	maps.DeleteFunc(unknown, func(value string, _ int) bool { return slices.Contains(p.known.values, value) })
	switch {
	case len(p.values) == 0:
		return notRead
	case p.known.constants && len(unknown) > 0:
		return found(good, "not in this SDK's list, and harmless: %v", unknown)
	case p.known.values != nil && len(unknown) > 0:
		return oddIf(true, "the SDK keeps it as it is; no constant stands for it", "undocumented: %v", unknown)
	case p.known.values != nil:
		return found(good, "as expected: %v", count(p.values))
	}
	return found(good, "seen: %v", count(p.values))
}

func (d *Doctor) properties() []property {
	type (
		race       = horseracing.Race
		horse      = horseracing.Horse
		tournament = horseracing.Tournament
		mission    = horseracing.HorseMission
		offer      = horseracing.BreedingListing
	)
	races, horses := slices.Concat(d.open, d.finished), slices.Concat(d.horses, d.owned)
	var stages []horseracing.Stage
	var prizes []horseracing.AdditionalPrize
	for _, t := range d.tournaments {
		stages, prizes = append(stages, t.Stages...), append(prizes, t.AdditionalPrizes...)
	}
	var missions []mission
	var progress []json.RawMessage
	for _, record := range d.missions {
		for _, m := range record.Missions {
			missions, progress = append(missions, m), append(progress, m.Progress...)
		}
	}
	var templates []horseracing.MissionTemplate
	if d.catalogue != nil {
		templates = slices.Concat(d.catalogue.Daily, d.catalogue.Weekly, d.catalogue.Monthly)
	}
	genders := names(horseracing.GenderStallion)
	tiers := names(horseracing.TierNameOmega, horseracing.TierNameBeta)
	return []property{
		{"2.1", "Horse.gender", genders, each(horses, func(h horse) horseracing.Gender { return h.Gender })},
		{"2.1", "Horse.breed", known{}, each(horses, func(h horse) string { return h.Breed })},
		{"2.1", "Horse.tier", tiers, each(horses, func(h horse) horseracing.TierName { return h.Tier })},
		{"2.1", "Horse.appearance", expected("each type once"), each(horses, traits)},
		{"2.2", "BreedingListing.gender", genders, each(d.breeding, func(b offer) horseracing.Gender { return b.Gender })},
		{"2.2", "BreedingListing.tier", tiers, each(d.breeding, func(b offer) horseracing.TierName { return b.Tier })},
		{"2.3", "HorseMission.type", texts(horseracing.MissionPeriodDaily, horseracing.MissionPeriodWeekly, horseracing.MissionPeriodMonthly),
			each(missions, func(m mission) horseracing.MissionPeriod { return m.Type })},
		{"2.3", "HorseMission.mission", missionKinds, each(missions, func(m mission) horseracing.MissionKind { return m.Mission })},
		{"2.3", "HorseMission.processed/completed", known{}, each(missions, func(m mission) string { return fmt.Sprintf("%t/%t", m.Processed, m.Completed) })},
		{"2.3", "HorseMission.progress[]", known{}, each(progress, func(element json.RawMessage) string { return shapeOf(element) })},
		{"2.4", "Race.type", texts(horseracing.RaceTypeBestTime, horseracing.RaceTypeWorstTime), each(races, func(r race) horseracing.RaceType { return r.Type })},
		{"2.4", "Race.status", texts("", horseracing.RaceStatusInProgress), each(races, func(r race) horseracing.RaceStatus { return r.Status })},
		{"2.4", "Race.tier", tiers, each(races, func(r race) horseracing.TierName { return r.Tier })},
		{"2.4", "Race.info.hippodrome_type", known{}, each(races, func(r race) string { return r.Info.HippodromeType })},
		{"2.4", "Race.info.hippodrome_name", known{}, each(races, func(r race) string { return r.Info.HippodromeName })},
		{"2.4", "Race.info.turf", known{}, each(races, func(r race) string { return r.Info.Turf })},
		{"2.4", "Race.final_order", expected(finalOrderFits), each(d.finished, finalOrder)},
		{"2.5", "Tournament.type", texts(horseracing.RaceTypeBestTime), each(d.tournaments, func(t tournament) horseracing.RaceType { return t.Type })},
		{"2.5", "Tournament.status", expected("2"), each(d.tournaments, func(t tournament) string { return fmt.Sprint(t.Status) })},
		{"2.5", "Tournament.tier", expected("5"), each(d.tournaments, func(t tournament) string { return fmt.Sprint(t.Tier) })},
		{"2.5", "Tournament.turf", known{}, each(d.tournaments, func(t tournament) string { return fmt.Sprint(t.Turf) })},
		{"2.5", "Tournament.additional_prizes[]", known{}, each(prizes, prizeFields)},
		{"2.5", "Stage.status", expected("2"), each(stages, func(s horseracing.Stage) string { return fmt.Sprint(s.Status) })},
		{"2.6", "MissionTemplate.type", missionKinds, each(templates, func(m horseracing.MissionTemplate) horseracing.MissionKind { return m.Type })},
	}
}

var missionKinds = texts(
	horseracing.MissionKindAllDaily, horseracing.MissionKindAllWeekly, horseracing.MissionKindRunAll, horseracing.MissionKindRunAllOnZHippodrome,
	horseracing.MissionKindRunOnXHippodrome, horseracing.MissionKindRunXFurlongRace, horseracing.MissionKindRunXRaces,
	horseracing.MissionKindRunXRacesOfYFurlongsOnZ, horseracing.MissionKindRunXRacesOnZ, horseracing.MissionKindRunXRacesOnZHippodrome,
	horseracing.MissionKindRunXRacesYFurlong, horseracing.MissionKindTakeIPlaceXRaces, horseracing.MissionKindTakePrizePlaceInXRaces)

func traits(h horseracing.Horse) string {
	types := count(each(h.Appearance, func(t horseracing.Trait) string { return t.Type }))
	if len(types) < len(h.Appearance) {
		return "some types repeated: Horse.Trait returns the first"
	}
	return "each type once"
}

const finalOrderFits = "positions counted from zero, in the order of totals, winners first"

func finalOrder(r horseracing.Race) string {
	finishers, err := r.Finishers()
	if r.Type == horseracing.RaceTypeWorstTime {
		slices.Reverse(finishers)
	}
	inOrder := slices.IsSortedFunc(finishers, func(a, b horseracing.RaceParticipant) int { return cmp.Compare(a.Total, b.Total) })
	winnersFirst := len(r.Winners) <= len(r.FinalOrder) && slices.Equal(r.Winners, r.FinalOrder[:len(r.Winners)])
	if r.Finished() && err == nil && inOrder && winnersFirst {
		return finalOrderFits
	}
	return fmt.Sprintf("present? %s; positions counted from zero? %s; in the order of totals? %s; winners first? %s",
		yesOrNo(r.Finished()), yesOrNo(err == nil), yesOrNo(inOrder), yesOrNo(winnersFirst))
}

// prizeFields returns the names of a prize's fields, which it is written with as
// it was read.
func prizeFields(p horseracing.AdditionalPrize) string {
	text, _ := json.Marshal(p) // a prize that was read can be written
	return shapeOf(text)
}

func (d *Doctor) drift(context.Context) finding {
	var parts []string
	for _, drift := range d.drifts {
		parts = append(parts, fmt.Sprintf("%s: %s %s", drift.Route, drift.Kind, drift.Path))
	}
	slices.Sort(parts)
	return oddIf(len(parts) > 0, "a member of another type stays zero, unless somebody decides by it: then its entry is an error; Pager.Entries and CaptureResponse have all as it was sent", "%s", cmp.Or(strings.Join(parts, "; "), "none"))
}
