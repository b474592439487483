package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// findings evaluates the facts, in the order of the sections, as docs/unknowns.md is.
func (f *facts) findings(t traffic) []finding {
	var all []finding
	for _, evaluate := range []func() []finding{
		func() []finding { return f.evaluateConnection(t) },
		f.evaluateResources, f.evaluateOperations, f.evaluatePaging, f.evaluateIDs,
		func() []finding { return f.evaluateRest(t) },
	} {
		all = append(all, evaluate()...)
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(order(a.Section), order(b.Section)) })
	return all
}

// order returns a number by which sections sort: 4.2 comes before 4.10.
func order(section string) int {
	chapter, part, _ := strings.Cut(section, ".")
	c, _ := strconv.Atoi(chapter)
	p, _ := strconv.Atoi(part)
	return 100*c + p
}

func unexamined(section, topic string) []finding {
	return []finding{{section, topic, skipped, "not examined", ""}}
}

func (f *facts) evaluateConnection(t traffic) []finding {
	first := f.First
	switch {
	case first == nil:
		return unexamined("", "connection")
	case first.Status == 0:
		return []finding{{"", "connection", bad, "no response: " + first.Err.Error(), "check the base URL, the network and any proxy"}}
	}
	found := []finding{{"", "connection", good, fmt.Sprintf("%s over %s", t.Proto, cmp.Or(t.TLS, "plain HTTP")), ""}}
	if t.Handshake > 0 {
		found[0].Text += fmt.Sprintf("; look-up %v, handshake %v", t.DNS.Round(time.Millisecond), t.Handshake.Round(time.Millisecond))
	}
	if t.TLS == "" && f.Service != "the embedded fake" {
		found[0].Mark, found[0].Advice = note, "without TLS everyone on the way can read the key: use https:// where the service offers it"
	}
	found = append(found, finding{"", "latency", good, fmt.Sprintf("median %v, 95th percentile %v, to the first byte",
		quantile(t.Latencies, 0.5).Round(time.Millisecond/10), quantile(t.Latencies, 0.95).Round(time.Millisecond/10)), ""})
	compression := finding{"", "compression", good, fmt.Sprintf("%d of %d responses were compressed", t.Compressed, t.Requests), ""}
	if t.Compressed == 0 {
		compression.Mark = note
	}
	return append(found, compression)
}

// documented are the values that the documentation shows, by member.
var documented = map[string][]string{
	"Race.type":              {"best_time", "worst_time"},
	"Race.status":            {"", "In progress"},
	"Race.tier":              {"Omega"},
	"Tournament.type":        {"best_time"},
	"Tournament.status":      {"2"},
	"Tournament.tier":        {"5"},
	"Stage.status":           {"2"},
	"Horse.gender":           {"Stallion"},
	"Horse.tier":             {"Beta"},
	"BreedingListing.gender": {"Stallion"},
	"BreedingListing.tier":   {"Omega"},
	"HorseMission.type":      {"daily", "weekly", "monthly"},
	"HorseMission.mission":   missionKinds,
	"MissionTemplate.type":   missionKinds,
}

var missionKinds = []string{
	"all_daily", "all_weekly", "run_all", "run_all_on_z_hippodrome", "run_on_x_hippodrome", "run_x_furlong_race", "run_x_races",
	"run_x_races_of_y_furlongs_on_z", "run_x_races_on_z", "run_x_races_on_z_hippodrome", "run_x_races_y_furlong",
	"take_i_place_x_races", "take_prize_place_in_x_races",
}

// valueRows are the members whose sets of values are open, by section.
var valueRows = []struct{ section, member string }{
	{"2.1", "Horse.gender"}, {"2.1", "Horse.breed"}, {"2.1", "Horse.tier"},
	{"2.2", "BreedingListing.gender"}, {"2.2", "BreedingListing.tier"},
	{"2.3", "HorseMission.type"}, {"2.3", "HorseMission.mission"}, {"2.3", "HorseMission.processed/completed"}, {"2.3", "HorseMission.progress[]"},
	{"2.4", "Race.type"}, {"2.4", "Race.status"}, {"2.4", "Race.tier"},
	{"2.4", "Race.info.hippodrome_type"}, {"2.4", "Race.info.hippodrome_name"}, {"2.4", "Race.info.turf"},
	{"2.5", "Tournament.type"}, {"2.5", "Tournament.status"}, {"2.5", "Tournament.tier"}, {"2.5", "Tournament.turf"}, {"2.5", "Stage.status"},
	{"2.6", "MissionTemplate.type"},
}

func (f *facts) evaluateResources() []finding {
	var found []finding
	for _, row := range valueRows {
		topic := "values of " + row.member
		values, ok := f.Values[row.member]
		if !ok {
			found = append(found, finding{row.section, topic, skipped, "none seen", ""})
			continue
		}
		known, listed := documented[row.member]
		undocumented := maps.Clone(values)
		maps.DeleteFunc(undocumented, func(value string, _ int) bool { return slices.Contains(known, value) })
		switch {
		case !listed:
			found = append(found, finding{row.section, topic, good, "seen: " + values.String(), ""})
		case len(undocumented) == 0:
			found = append(found, finding{row.section, topic, good, fmt.Sprintf("only documented ones: %v", values), ""})
		default:
			found = append(found, finding{row.section, topic, note, fmt.Sprintf("undocumented: %v", undocumented), "they pass through as they are; attach this report to an issue so that they get constants"})
		}
	}
	return append(found, f.evaluateTraits(), f.evaluateFinalOrder(), f.evaluateTotals(), f.evaluatePrizeNames())
}

func (f *facts) evaluateTraits() finding {
	found := finding{"2.1", "traits", skipped, "no horse was read", ""}
	if len(f.Samples.Horses) == 0 {
		return found
	}
	repeated := 0
	for _, horse := range f.Samples.Horses {
		types := map[string]bool{}
		for _, trait := range horse.Appearance {
			if types[trait.Type] {
				repeated++
			}
			types[trait.Type] = true
		}
	}
	found.Mark, found.Text = good, fmt.Sprintf("each type once in all of %d horses", len(f.Samples.Horses))
	if repeated > 0 {
		found.Mark, found.Text, found.Advice = note, fmt.Sprintf("%d repeated types in %d horses", repeated, len(f.Samples.Horses)), "Horse.Trait returns the first of a type"
	}
	return found
}

// evaluateFinalOrder examines what final_order and winners index, and from where they count.
func (f *facts) evaluateFinalOrder() finding {
	found := finding{"2.4", "final_order", skipped, "no finished race was read", ""}
	var races, sound, zero, ascending, withWinners, winnersLead int
	for i := range f.Samples.Finished {
		race := &f.Samples.Finished[i]
		if !race.Finished() {
			continue
		}
		races++
		if slices.Contains(race.FinalOrder, 0) {
			zero++
		}
		finishers, err := race.Finishers()
		if err != nil {
			continue
		}
		sound++
		less := func(a, b horseracing.RaceParticipant) int { return int(min(1, max(-1, a.Total-b.Total))) }
		more := func(a, b horseracing.RaceParticipant) int { return -less(a, b) }
		if race.Type == horseracing.RaceTypeWorstTime && slices.IsSortedFunc(finishers, more) || slices.IsSortedFunc(finishers, less) {
			ascending++
		}
		if len(race.Winners) > 0 {
			withWinners++
			if len(race.Winners) <= len(race.FinalOrder) && slices.Equal(race.Winners, race.FinalOrder[:len(race.Winners)]) {
				winnersLead++
			}
		}
	}
	if races == 0 {
		return found
	}
	found.Text = fmt.Sprintf("taken as positions counted from zero it fits in %d of %d races; it holds 0 in %d; totals are in order in %d; winners begin it in %d of %d",
		sound, races, zero, ascending, winnersLead, withWinners)
	found.Mark = good
	if sound < races || zero == 0 || ascending < races {
		found.Mark, found.Advice = note, "Race.Finishers may take it wrongly: compare with a race that you know, and attach this report to an issue"
	}
	return found
}

func (f *facts) evaluateTotals() finding {
	found := finding{"2.5", "order of participants", skipped, "no tournament was read", ""}
	if len(f.Samples.Tournaments) == 0 {
		return found
	}
	sorted := 0
	for _, t := range f.Samples.Tournaments {
		if slices.IsSortedFunc(t.Participants, func(a, b horseracing.TournamentParticipant) int { return int(min(1, max(-1, a.Total-b.Total))) }) {
			sorted++
		}
	}
	found.Mark, found.Text = good, fmt.Sprintf("by ascending total in %d of %d tournaments", sorted, len(f.Samples.Tournaments))
	if sorted < len(f.Samples.Tournaments) {
		found.Mark = note
	}
	return found
}

func (f *facts) evaluatePrizeNames() finding {
	if f.Samples.Prizes == nil {
		return finding{"2.5", "members of additional prizes", skipped, "no tournament was read", ""}
	}
	if len(f.Samples.Prizes) == 0 {
		return finding{"2.5", "members of additional prizes", good, "no tournament of the page has any", ""}
	}
	return finding{"2.5", "members of additional prizes", good, f.Samples.Prizes.String(), ""}
}

// sections of the operations.
var sections = []struct{ section, name string }{
	{"4.1", "Horses.Get"}, {"4.2", "Horses.Owned"}, {"4.3", "Horses.Missions"}, {"4.4", "Horses.OpenForBreeding"}, {"4.5", "Races.Results"},
	{"4.6", "Races.ResultsV1"}, {"4.7", "Races.Open"}, {"4.8", "Races.Get"}, {"4.10", "Tournaments.Results"},
	{"4.11", "Tournaments.Open"}, {"4.12", "Tournaments.Get"}, {"4.13", "Missions.Catalogue"},
}

func (f *facts) evaluateOperations() []finding {
	var found []finding
	switch {
	case f.Bodies == nil:
		found = append(found, unexamined("4", "bodies of GET requests")...)
	case f.Bodies.Arrived:
		found = append(found, finding{"4", "bodies of GET requests", good, "they arrive: " + f.Bodies.How, ""})
	default:
		found = append(found, finding{"4", "bodies of GET requests", bad, "they do not arrive: " + f.Bodies.How,
			"something on the way drops or caches them: try without a proxy, a VPN or a CDN, and over another network"})
	}
	if f.Omitted != nil {
		found = append(found, finding{"4", "no body at all", good, map[bool]string{true: "a request without a body reads like one with {}", false: "a request without a body does not read like one with {}"}[*f.Omitted], ""})
	}
	for _, s := range sections {
		topic := s.name
		o := f.Calls[s.name]
		switch {
		case o == nil && s.name == "Horses.Owned":
			found = append(found, finding{s.section, topic, skipped, "not examined: set HORSERACING_USER_KEY to read that user's horses", ""})
		case o == nil:
			found = append(found, unexamined(s.section, topic)...)
		case o.Err == nil:
			text := "it decodes"
			if o.Shape != "" {
				text += ": " + o.Shape
			}
			found = append(found, finding{s.section, topic, good, text, ""})
		default:
			text := o.Err.Error()
			if o.Entries > 0 {
				text += fmt.Sprintf("; other entries that decode: %d", o.Entries)
			}
			found = append(found, finding{s.section, topic, bad, text, adviceFor(o.Err)})
		}
	}
	found = append(found, f.evaluateDrift()...)
	found = append(found, f.evaluateOpen())
	return found
}

func adviceFor(err error) string {
	var unreadable *horseracing.DecodeError
	switch {
	case errors.As(err, &unreadable):
		return "run again with -record and attach the recorded response to an issue"
	case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden):
		return "check the key"
	}
	return ""
}

func (f *facts) evaluateDrift() []finding {
	if len(f.Calls) == 0 {
		return unexamined("2", "drift")
	}
	if len(f.Drifts) == 0 {
		return []finding{{"2", "drift", good, "no undocumented member came, and no documented one was missing", ""}}
	}
	byRoute := map[string][]string{}
	for _, drift := range f.Drifts {
		word := map[horseracing.DriftKind]string{horseracing.DriftUnknownField: "undocumented ", horseracing.DriftMissingField: "missing "}[drift.Kind]
		byRoute[drift.Route] = append(byRoute[drift.Route], word+drift.Path)
	}
	var found []finding
	for _, route := range slices.Sorted(maps.Keys(byRoute)) {
		slices.Sort(byRoute[route])
		found = append(found, finding{"2", "drift", note, route + ": " + strings.Join(byRoute[route], ", "), "Pager.Entries and CaptureResponse give access to undocumented members; attach this report to an issue"})
	}
	return found
}

func (f *facts) evaluateOpen() finding {
	found := finding{"4.7", "until when a race is open", skipped, "no open race was read", ""}
	if len(f.Samples.Open) == 0 {
		return found
	}
	past, started := 0, 0
	for _, race := range f.Samples.Open {
		if !race.RegistrationDeadline.IsZero() && race.RegistrationDeadline.Before(f.Samples.At) {
			past++
		}
		if !race.StartTime.IsZero() && race.StartTime.Before(f.Samples.At) {
			started++
		}
	}
	found.Mark, found.Text = good, fmt.Sprintf("of %d open races %d are past their registration deadline and %d past their start", len(f.Samples.Open), past, started)
	return found
}

func (f *facts) evaluatePaging() []finding {
	var found []finding
	if len(f.Pages) == 0 {
		found = append(found, unexamined("4.5", "pages of results")...)
	} else {
		found = append(found, f.evaluatePages()...)
	}
	if b := f.Bound; b == nil {
		found = append(found, unexamined("4.5", "start_time_from")...)
	} else {
		line := finding{"4.5", "start_time_from", good, "it excludes its instant, to the millisecond", ""}
		switch {
		case !b.Milliseconds:
			line = finding{"4.5", "start_time_from", note, "a request from one millisecond after a race's start does not show the race: the service seems to take whole seconds",
				"walks notice it and request whole seconds, so that nothing is lost; attach this report to an issue"}
		case !b.Excludes:
			line = finding{"4.5", "start_time_from", note, "it includes its instant, unlike documented", "walks drop what comes twice; nothing is lost"}
		}
		found = append(found, line)
	}
	switch {
	case f.NoTier == nil:
		found = append(found, unexamined("4.5", "the default tier")...)
	case *f.NoTier:
		found = append(found, finding{"4.5", "the default tier", good, "a request without a tier reads tier 5, as documented", ""})
	default:
		found = append(found, finding{"4.5", "the default tier", note, "a request without a tier does not read like one with tier 5", "name the tier in every query"})
	}
	found = append(found, f.evaluateTiers(), f.evaluateOldest(), f.evaluateLateness())
	if v := f.V1; v == nil {
		found = append(found, unexamined("4.6", "results by offset")...)
	} else {
		line := finding{"4.6", "results by offset", good, fmt.Sprintf("%d entries, %s; type in %d, min_level in %d; offset 5 overlaps by %d of %d", v.Entries, v.Order, v.WithType, v.WithLevels, v.Overlap, v.Expected), ""}
		if v.Order == "oldest first" || v.Order == "in no order" || v.Overlap < v.Expected-3 || v.Overlap > v.Expected {
			line.Mark, line.Advice = note, "Races.ResultsV1 expects newest first and overlapping pages: prefer Races.Results"
		}
		found = append(found, line)
	}
	return found
}

func (f *facts) evaluatePages() []finding {
	orders, sizes := counts{}, counts{}
	perInstant := map[int64]map[int64]bool{}
	repeats, misfits, largest, other := 0, 0, 0, 0
	for _, p := range f.Pages {
		orders[p.order()]++
		sizes[fmt.Sprint(len(p.Entries))]++
		largest = max(largest, len(p.Entries))
		inPage := map[int64]bool{}
		for _, e := range p.Entries {
			if inPage[e.ID] {
				repeats++
			}
			inPage[e.ID] = true
			if p.From != 0 && e.Start >= p.From {
				misfits++
			}
			if perInstant[e.Start] == nil {
				perInstant[e.Start] = map[int64]bool{}
			}
			perInstant[e.Start][e.ID] = true
			if e.ID == 0 || e.Start == 0 {
				other++
			}
		}
	}
	n := len(f.Pages)
	var found []finding
	order := finding{"4.5", "order inside a page", good, fmt.Sprintf("newest first in %d of %d pages", orders["newest first"]+orders["undecided"], n), ""}
	if orders["newest first"]+orders["undecided"] < n {
		order.Mark, order.Advice = note, "nothing relies on it"
	}
	size := finding{"4.5", "entries per page", good, fmt.Sprintf("at most %d; pages by size: %v", largest, sizes), ""}
	switch {
	case largest > 10:
		size.Mark, size.Advice = note, "more than the documented ten: attach this report to an issue"
	case largest < 10 && n > 1:
		size.Mark, size.Advice = note, "fewer than the documented ten: short pages are no end, but cost requests"
	}
	shared, most := 0, 0
	for _, ids := range perInstant {
		if len(ids) > 1 {
			shared++
		}
		most = max(most, len(ids))
	}
	ties := finding{"4.5", "races on one instant", good, fmt.Sprintf("at most %d; %d of %d instants hold several", most, shared, len(perInstant)), ""}
	if most >= 10 {
		ties.Mark, ties.Advice = note, "a page full of one instant cannot show whether there are more: expect TieOverflowError"
	}
	repeated := finding{"4.5", "duplicates within a page", good, fmt.Sprintf("none in %d pages", n), ""}
	if repeats > 0 {
		repeated.Mark, repeated.Text, repeated.Advice = note, fmt.Sprintf("%d in %d pages", repeats, n), "each race is handed out once anyway"
	}
	found = append(found, order, size, ties, repeated)
	if misfits > 0 {
		found = append(found, finding{"4.5", "pages that do not fit", bad, fmt.Sprintf("%d entries start at or after start_time_from", misfits), "something on the way drops or caches bodies of GET requests"})
	}
	if other > 0 {
		found = append(found, finding{"4.5", "entries without a place", note, fmt.Sprintf("%d entries have no main_race_id or no start_time", other), "each is a DecodeError in a walk"})
	}
	return found
}

func (f *facts) evaluateTiers() finding {
	found := finding{"4.5", "tiers", skipped, "not examined", ""}
	if len(f.Tiers) == 0 {
		return found
	}
	var parts []string
	failed := 0
	for _, id := range slices.Sorted(maps.Keys(f.Tiers)) {
		t := f.Tiers[id]
		switch {
		case t.Err != nil:
			failed++
			parts = append(parts, fmt.Sprintf("%d: error", id))
		case t.Entries > 0:
			parts = append(parts, fmt.Sprintf("%d: %s", id, strings.Join(slices.Sorted(maps.Keys(t.Names)), "/")))
		}
	}
	found.Mark, found.Text = good, "none of 1 to 12 has results"
	if len(parts) > 0 {
		found.Text = strings.Join(parts, ", ")
	}
	if failed > 0 {
		found.Mark, found.Advice = note, "tiers with an error may not exist"
	}
	return found
}

func (f *facts) evaluateOldest() finding {
	found := finding{"4.5", "how far back results go", skipped, "not examined", ""}
	if o := f.Oldest; o != nil {
		found.Mark, found.Text = good, "at least to "+o.Start.Format(time.DateOnly)
		if o.Exact {
			found.Text = "to " + o.Start.Format(time.DateOnly) + ", nothing lies before"
		}
	}
	return found
}

func (f *facts) evaluateLateness() finding {
	found := finding{"4.5", "how late results appear", skipped, "not examined: run with -watch 10m", ""}
	if f.WatchedFor == 0 {
		return found
	}
	if len(f.Lateness) == 0 {
		found.Text = fmt.Sprintf("no race appeared within %v", f.WatchedFor.Round(time.Second))
		return found
	}
	found.Mark = good
	found.Text = fmt.Sprintf("%d races appeared from %v to %v after their start, median %v", len(f.Lateness),
		slices.Min(f.Lateness).Round(time.Second), slices.Max(f.Lateness).Round(time.Second), quantile(f.Lateness, 0.5).Round(time.Second))
	if slices.Max(f.Lateness) > time.Hour {
		found.Mark, found.Advice = note, "set FollowQuery.Lookback above this"
	}
	return found
}

func (f *facts) evaluateIDs() []finding {
	var found []finding
	for _, s := range []struct{ section, name string }{{"4.1", "Horses.Get"}, {"4.3", "Horses.Missions"}, {"4.8", "Races.Get"}, {"4.12", "Tournaments.Get"}} {
		topic := s.name + " of an id that does not exist"
		o := f.Unknown[s.name]
		switch {
		case o == nil:
			found = append(found, unexamined(s.section, topic)...)
		case o.isNotThere():
			found = append(found, finding{s.section, topic, good, fmt.Sprintf("status %d, %s: ErrNotFound", o.Status, o.Shape), ""})
		default:
			found = append(found, finding{s.section, topic, note, fmt.Sprintf("status %d, %s", o.Status, o.Shape), "errors.Is does not find ErrNotFound in it: attach this report to an issue"})
		}
	}
	r := f.RaceByID
	if r == nil || r.MainID == nil {
		return append(found, unexamined("4.8", "the id of a race")...)
	}
	id := finding{"4.8", "the id of a race", good, fmt.Sprintf("main_race_id returns %s", r.MainID.Shape), ""}
	if !r.MainMatches {
		id.Mark, id.Advice = bad, "Races.Get reads by main_race_id: attach this report to an issue"
		id.Text = fmt.Sprintf("main_race_id does not return the race: status %d, %s", r.MainID.Status, r.MainID.Shape)
	}
	if r.OpaqueID != nil {
		id.Text += fmt.Sprintf("; _id returns status %d, %s", r.OpaqueID.Status, r.OpaqueID.Shape)
	}
	found = append(found, id)
	if o := r.Finished; o != nil {
		text := map[bool]string{true: "it shows its result", false: "it does not show its result"}[r.FinalOrder]
		found = append(found, finding{"4.8", "a finished race by its id", good, fmt.Sprintf("status %d, %s; %s", o.Status, o.Shape, text), ""})
	}
	return found
}

func (f *facts) evaluateRest(t traffic) []finding {
	var found []finding
	switch o := f.First; {
	case o == nil || o.Status == 0:
		found = append(found, unexamined("5", "the key")...)
	case o.Status == http.StatusUnauthorized || o.Status == http.StatusForbidden:
		found = append(found, finding{"5", "the key", bad, "it is refused: " + o.Err.Error(), "check HORSERACING_API_KEY"})
	case o.Err != nil:
		found = append(found, finding{"5", "the key", bad, o.Err.Error(), "the first request failed, so it is open whether the key works"})
	default:
		found = append(found, finding{"5", "the key", good, "it works", ""})
	}
	if o := f.NoKey; o == nil {
		found = append(found, unexamined("7", "a request without a key")...)
	} else {
		line := finding{"7", "a request without a key", good, fmt.Sprintf("status %d, %s", o.Status, o.Shape), ""}
		if o.Status < 400 {
			line.Mark, line.Advice = note, "documented as an error: is this the service, or something in front of it?"
		}
		found = append(found, line)
	}
	limits := finding{"8", "rate limits", good, fmt.Sprintf("no header looks like one; %d of %d requests were refused", t.Refused, t.Requests), ""}
	if len(t.LimitHeaders) > 0 {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(t.LimitHeaders)) {
			value := t.LimitHeaders[name]
			if len(value) > 40 {
				value = "(long)"
			}
			parts = append(parts, name+": "+value)
		}
		limits.Text = fmt.Sprintf("%s; %d of %d requests were refused", strings.Join(parts, ", "), t.Refused, t.Requests)
	}
	if t.Refused > 0 {
		limits.Mark, limits.Advice = note, "the SDK learns the pace by itself; run the doctor with a smaller -rate"
	}
	return append(found, limits)
}
