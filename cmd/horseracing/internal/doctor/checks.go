package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// check finds out one thing. If it cannot, it calls fail or returns notRead.
type check struct {
	section string // of docs/service.md
	topic   string
	row     string // of docs/unknowns.md, if it is about how the service reads its document
	do      func(context.Context) finding
}

// checks are the twelve checks. Later ones use what earlier ones have read.
func (d *Doctor) checks() []check {
	return []check{
		{"4", "bodies of GET requests", "", d.bodies},
		{"4.5", "tiers", "R10", d.tiers},
		{"4.5", "start_time_from", "R10", d.bound},
		{"4.5", "the races of a page", "R12", d.order},
		{"4.7", "empty lists", "R8", d.emptyLists},
		{"2.4", "start times", "R9", d.seconds},
		{"2.4", "races with one main_race_id", "R5", d.heats},
		{"2.4", "entry fees", "R13", d.fees},
		{"4.9", "who is listed in a race", "R1", d.participants},
		{"7", "the header Date", "R14", d.date},
		{"4.8", "ids", "R4", d.ids},
		{"2", "undocumented and missing members", "R11", d.members},
	}
}

// entry is what is compared of an entry of a listing.
type entry struct {
	ID           int64           `json:"main_race_id"`
	Number       int64           `json:"number"` // of a horse
	Start        int64           `json:"start_time"`
	Deadline     int64           `json:"registration_deadline"`
	Tier         string          `json:"tier"`
	Fee          json.RawMessage `json:"entry_fee"`
	Participants []struct {
		Number int64 `json:"number"`
	} `json:"participants"`
}

// decodeEntries reads an array of entries, or one of them. Members of another type
// than documented are left out.
func decodeEntries(text []byte) (entries []entry) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if text[0] != '[' {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	_ = json.Unmarshal(text, &entries) // what can be read is enough
	return entries
}

// is reports whether two entries are the same race.
func (e entry) is(other entry) bool { return e.ID == other.ID && e.Start == other.Start }

func byStart(a, b entry) int { return cmp.Compare(a.Start, b.Start) }

// lowest returns the earliest start of a page that is not empty.
func lowest(page []entry) int64 { return slices.MinFunc(page, byStart).Start }

// past returns the finished races that were read, and races the open ones too.
func (d *Doctor) past() []entry  { return slices.Concat(d.top, slices.Concat(d.walked...)) }
func (d *Doctor) races() []entry { return slices.Concat(d.opened, d.past()) }

// share returns how many of some races have something.
func share(races []entry, has func(entry) bool) (n int) {
	for _, race := range races {
		if has(race) {
			n++
		}
	}
	return n
}

// bodies sends two requests whose responses differ if the body arrives.
func (d *Doctor) bodies(ctx context.Context) finding {
	d.top = d.page(ctx, 0)
	if len(d.top) == 0 {
		return notRead
	}
	from := lowest(d.top)
	second := d.page(ctx, from)
	if slices.ContainsFunc(second, func(e entry) bool { return e.Start > from }) { // some services include the instant
		return finding{Mark: bad, Text: "they do not arrive: a page before an earlier time contained later races",
			Advice: "something on the network path drops or caches them: try without a proxy, a VPN or a CDN"}
	}
	d.second = second
	return found(good, "they arrive: a page before an earlier time contained earlier races")
}

// needBodies fails the check if bodies of GET requests do not arrive.
func (d *Doctor) needBodies() bool {
	if len(d.second) == 0 {
		d.fail(errors.New("it needs more results, and bodies of GET requests that arrive"))
	}
	return len(d.second) > 0
}

// tiers finds out which numbers of tiers have results, and what they are called.
func (d *Doctor) tiers(ctx context.Context) finding {
	var parts []string
	isOmega := false // another tier than 5, or not 5
	for id := 1; id <= 12; id++ {
		status, text := d.get(ctx, resultsPath, map[string]any{"tier": id})
		entries := decodeEntries(text)
		if status >= 300 {
			parts = append(parts, fmt.Sprintf("%d: status %d", id, status))
		} else if len(entries) > 0 {
			tiers := map[string]bool{}
			for _, e := range entries {
				tiers[e.Tier] = true
			}
			names := slices.Sorted(maps.Keys(tiers))
			parts = append(parts, fmt.Sprintf("%d: %s", id, strings.Join(names, "/")))
			isOmega = isOmega || slices.Equal(names, []string{string(horseracing.TierNameOmega)}) != (id == 5)
		}
	}
	return oddIf(isOmega, "results of another tier than 5 whose races are named Omega are ErrBodyIgnored", "%s", strings.Join(parts, ", "))
}

// bound finds out whether start_time_from excludes its own instant, and whether
// it is heeded to the millisecond.
func (d *Doctor) bound(ctx context.Context) finding {
	if !d.needBodies() {
		return notRead
	}
	e := d.second[max(0, slices.IndexFunc(d.second, func(e entry) bool { return e.Start%1000 != 0 }))] // whole seconds show little
	if !slices.ContainsFunc(d.page(ctx, e.Start+1), e.is) {
		return finding{Mark: bad, Text: "a request from one millisecond after a race's start does not show the race: it is not heeded to the millisecond",
			Advice: "a walk can miss races that start soon after one another"}
	}
	includes := slices.ContainsFunc(d.page(ctx, e.Start), e.is)
	text := "it is heeded to the millisecond, and a page does not include its own instant"
	if includes {
		text = "it is heeded to the millisecond, and a page includes its own instant"
	}
	return oddIf(includes, "a walk passes such an entry over, and nothing is lost", "%s", text)
}

// order walks back for some pages, and requests from the middle of each: that shows races
// that the whole page should have shown.
func (d *Doctor) order(ctx context.Context) finding {
	if !d.needBodies() {
		return notRead
	}
	missing := 0
	page := d.second
	for range 6 {
		if len(page) == 0 || d.err != nil {
			break
		}
		d.walked = append(d.walked, page)
		low := lowest(page)
		sorted := slices.SortedFunc(slices.Values(page), byStart)
		for _, e := range d.page(ctx, sorted[len(sorted)/2].Start) {
			if e.Start > low && !slices.ContainsFunc(page, e.is) {
				missing++
			}
		}
		page = d.page(ctx, low)
	}
	if missing > 0 {
		return finding{Mark: bad, Text: fmt.Sprintf("%d races are missing from %d pages between others: a page is not of the latest starts", missing, len(d.walked)),
			Advice: "no way of reading finds such races for certain: Results and Follow miss them, and ResultsV1 may, too; do not take a count of races for complete"}
	}
	return found(good, "the latest by start: nothing is missing from %d pages", len(d.walked))
}

// emptyLists requests the open races several times, and the races before any.
func (d *Doctor) emptyLists(ctx context.Context) finding {
	const times = 4
	empty := 0
	for range times {
		_, text := d.get(ctx, openPath, nil)
		if open := decodeEntries(text); len(open) > 0 {
			d.opened = open
		} else {
			empty++
		}
	}
	status, text := d.get(ctx, resultsPath, map[string]any{"tier": 5, "start_time_from": 1})
	isList := status == http.StatusNoContent || status < 300 && len(decodeEntries(text)) == 0
	var advice []string
	if empty > 0 && len(d.opened) > 0 {
		advice = append(advice, "a watch requests an empty list once more before it reports races as closed; Races.Open returns it as it is")
	}
	if !isList {
		advice = append(advice, "each walk ends with an error in place of its end")
	}
	return oddIf(len(advice) > 0, strings.Join(advice, "; "), "%d of %d lists of open races were empty; the races before any are: status %d, %s", empty, times, status, shapeOf(text))
}

func (d *Doctor) seconds(context.Context) finding {
	races := d.races()
	if len(races) == 0 {
		return notRead
	}
	if n := share(races, func(e entry) bool { return e.Start >= 9e8 && e.Start < 1e11 }); n > 0 {
		return finding{Mark: bad, Text: fmt.Sprintf("%d of %d are in seconds", n, len(races)),
			Advice: "each of these races is an error; none is yielded"}
	}
	return found(good, "all of %d are in milliseconds", len(races))
}

func (d *Doctor) heats(context.Context) finding {
	races := d.races()
	if len(races) == 0 {
		return notRead
	}
	starts := map[int64]int64{}
	heats := share(races, func(e entry) bool {
		first, seen := starts[e.ID]
		if !seen {
			starts[e.ID] = e.Start
		}
		return seen && first != e.Start
	})
	return oddIf(heats > 0, "two races are the same if both id and start are; Get returns the one with the highest fee, and a registration may enter either",
		"%d of %d have the id of another race with another start", heats, len(races))
}

// fees finds out of which size the fees are, and whether some cannot be read.
func (d *Doctor) fees(context.Context) finding {
	races := d.races()
	if len(races) == 0 {
		return notRead
	}
	var fees []horseracing.BigInt
	none, broken := 0, 0
	for _, race := range races {
		var fee horseracing.BigInt
		if len(race.Fee) == 0 || string(race.Fee) == "null" {
			none++
		} else if fee.UnmarshalJSON(race.Fee) != nil {
			broken++
		} else {
			fees = append(fees, fee)
		}
	}
	if len(fees) == 0 {
		fees = make([]horseracing.BigInt, 1)
	}
	least, most := slices.MinFunc(fees, horseracing.BigInt.Cmp).String(), slices.MaxFunc(fees, horseracing.BigInt.Cmp).String()
	var advice []string
	if none > 0 {
		advice = append(advice, "the ledger refuses a race without a fee, unless WithFreeRaces")
	}
	if broken > 0 {
		advice = append(advice, "a race whose fee is not a whole number cannot be read or paid")
	}
	if len(most) < 10 {
		advice = append(advice, "these look like whole tokens, which a fee limit in the smallest unit does not limit")
	}
	return oddIf(len(advice) > 0, strings.Join(advice, "; "), "from %s (%d digits) to %s (%d digits); %d of %d are null or absent, %d are not whole numbers",
		least, len(least), most, len(most), none, len(races), broken)
}

// participants finds out whether a list of participants can show that a horse is not in it.
func (d *Doctor) participants(ctx context.Context) finding {
	if d.probe.date.IsZero() || len(d.opened) == 0 || len(d.top) == 0 {
		return notRead
	}
	now := d.probe.date.UnixMilli()
	isListed := func(e entry) bool { return len(e.Participants) > 0 }
	var before, closed []entry
	for _, race := range d.opened {
		if race.Deadline > now {
			before = append(before, race)
		} else {
			closed = append(closed, race)
		}
	}
	var over []entry // the newest finished race, by its id
	if status, text := d.get(ctx, fmt.Sprintf("/api/v1/races/%d", d.top[0].ID), nil); status < 300 {
		over = decodeEntries(text)
	}
	return oddIf(share(closed, isListed) < len(closed) || share(over, isListed) < len(over) || len(before) > 0 && share(before, isListed) == 0,
		"an empty list proves nothing: after a lost response Registered decides when the race lists others, at the latest two hours after the start; the fee counts as paid until then",
		"somebody is listed before the deadline in %d of %d races, after it in %d of %d, by id after the result in %d of %d",
		share(before, isListed), len(before), share(closed, isListed), len(closed), share(over, isListed), len(over))
}

// date compares the header Date with the starts of races: the newest finished one is past,
// an open one is not.
func (d *Doctor) date(context.Context) finding {
	if d.probe.date.IsZero() || len(d.opened) == 0 || len(d.top) == 0 {
		return notRead
	}
	date, newest, next := d.probe.date, slices.MaxFunc(d.top, byStart), slices.MaxFunc(d.opened, byStart)
	off := time.Duration(max(date.UnixMilli()-next.Start, newest.Start-date.UnixMilli())) * time.Millisecond
	if off > time.Minute {
		return oddIf(true, "Registered counts by it: if it is ahead by more than an hour, a horse that is in a race may be reported as absent, so look in the game before you register it again",
			"it is off by the starts of races, by %v or more", off.Round(time.Minute))
	}
	return found(good, "it fits the starts of races, and is %v behind the clock of this machine", time.Since(date).Round(time.Minute))
}

// ids finds out whether what is read by id is what was requested, and what is read for an
// id that does not exist.
func (d *Doctor) ids(ctx context.Context) finding {
	paths := map[string]func(entry) bool{}
	for _, races := range [][]entry{d.opened, d.top} {
		for _, race := range races[:min(1, len(races))] {
			paths[fmt.Sprintf("/api/v1/races/%d", race.ID)] = func(e entry) bool { return e.ID == race.ID }
			for _, p := range race.Participants[:min(1, len(race.Participants))] {
				paths[fmt.Sprintf("/api/v1/horses/%d", p.Number)] = func(e entry) bool { return e.Number == p.Number }
			}
		}
	}
	if len(paths) == 0 {
		return notRead
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		status, text := d.get(ctx, path, nil)
		found := decodeEntries(text)
		if status >= 300 || !slices.ContainsFunc(found, paths[path]) {
			return finding{Mark: bad, Text: fmt.Sprintf("%s: status %d, %s, not the one requested", path, status, shapeOf(text)),
				Advice: "Get returns an error in place of another race or horse"}
		}
	}
	status, text := d.get(ctx, "/api/v1/races/999999999999", nil)
	shape := shapeOf(text)
	isNotFound := status == http.StatusNotFound || status == http.StatusNoContent || shape == "null" || shape == "an array of 0"
	return oddIf(!isNotFound, "errors.Is does not find ErrNotFound in it", "%d of %[1]d are those requested; one that does not exist is: status %d, %s", len(paths), status, shape)
}
