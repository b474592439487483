package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// check finds out one thing.
type check struct {
	section string // of docs/service.md
	topic   string
	row     string                               // of docs/unknowns.md, if it is about how the service reads its document
	needs   func() bool                          // reports whether earlier checks have read what this one needs, or is nil if that is nothing
	do      func(context.Context) (mark, string) // may call fail
	advice  string                               // what is then different for the user
}

// checks are the twelve checks. Later ones use what earlier ones have read.
func (d *Doctor) checks() []check {
	bodies := func() bool { return len(d.second) > 0 }
	races := func() bool { return len(d.races()) > 0 }
	both := func() bool { return !d.probe.date.IsZero() && len(d.opened) > 0 && len(d.top) > 0 }
	return []check{
		{"4", "bodies of GET requests", "", nil, d.bodies, "something on the network path drops or caches them: try without a proxy, a VPN or a CDN"},
		{"4.5", "tiers", "R10", nil, d.tiers, "if the races of another tier than 5 are named Omega, Results of that tier fails with ErrBodyIgnored"},
		{"4.5", "start_time_from", "R10", bodies, d.bound, "if a page includes races that start at the requested time, Results yields each of them once nevertheless; if the time is not read to the millisecond, Results can miss races that start shortly after one another"},
		{"4.5", "the races of a page", "R12", bodies, d.order, "Results and Follow miss races that a page leaves out, and ResultsV1 may miss them, too; do not assume that a list of finished races is complete"},
		{"4.7", "empty lists", "R8", nil, d.emptyLists, "Watch requests an empty list once more before it reports races as closed, but Races.Open returns it; if the page before the first race is not an empty list, Results ends with an error after the oldest race"},
		{"2.4", "start times", "R9", races, d.seconds, "for each race in seconds the SDK returns an error instead of the race, and Results returns one for each race without a start; a race without a deadline cannot be entered"},
		{"2.4", "races with one main_race_id", "R5", races, d.heats, "Results and Watch show them as different races; Get returns the one with the highest fee, and a registration may be for any of them"},
		{"2.4", "entry fees", "R13", races, d.fees, "the ledger refuses a race without a fee, unless WithFreeRaces is set; a race whose fee is not a whole number cannot be read or paid; fees of few digits may be in whole tokens, so that limits in units of 10^-18 tokens have no effect"},
		{"4.9", "who is listed in a race", "R1", both, d.participants, "after a lost response, Registered cannot decide while the race lists nobody; if it lists nobody two hours after its start, only the game shows whether the fee is paid; until then the fee counts as paid"},
		{"7", "the header Date", "R14", both, d.date, "Registered compares it with the deadline and the start of a race: if it is ahead by more than an hour, a horse that is in a race may be reported as absent, so look in the game before you register it again"},
		{"4.8", "ids", "R4", races, d.ids, "if the response has another race or horse, Get returns an error; if the response for one that does not exist is neither a 404 nor empty, the error of Get does not match ErrNotFound"},
		{"2", "undocumented and missing members", "R11", nil, d.members, "the methods of the SDK return these errors; a member of another type is left zero, or its entry is an error if a wrong value would mislead programs, as with a fee; CaptureResponse keeps the response as it was sent"},
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
	_ = json.Unmarshal(text, &entries)                                                                          // what can be read is enough
	return slices.DeleteFunc(entries, func(e entry) bool { return e.ID == 0 && e.Number == 0 && e.Start == 0 }) // null, or of another kind
}

// is reports whether two entries are the same race.
func (e entry) is(other entry) bool { return e.ID == other.ID && e.Start == other.Start }

func byStart(a, b entry) int { return cmp.Compare(a.Start, b.Start) }

// lowest returns the earliest start of a page, or zero if it has none.
func lowest(page []entry) (start int64) {
	for _, e := range page {
		if e.Start != 0 && (start == 0 || e.Start < start) {
			start = e.Start
		}
	}
	return start
}

// races returns the open and the finished races that were read.
func (d *Doctor) races() []entry { return slices.Concat(d.opened, d.top, slices.Concat(d.walked...)) }

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
func (d *Doctor) bodies(ctx context.Context) (mark, string) {
	d.top = d.page(ctx, 0)
	if refusal := d.err; refusal != nil && d.probe.status/100 == 4 && d.probe.status != http.StatusTooManyRequests {
		d.err = nil
		without, _ := d.get(ctx, resultsPath, nil)
		return bad, fmt.Sprintf("a GET request with a body is refused: %v; without a body the response has status %d", refusal, without)
	}
	from := lowest(d.top)
	if from == 0 {
		return skipped, "not examined: there are no results with a start time"
	}
	second := d.page(ctx, from)
	if slices.ContainsFunc(second, func(e entry) bool { return e.Start > from }) { // some services include the instant
		return bad, "they do not arrive: the page before an earlier start time has later races"
	}
	d.second = second
	return good, "they arrive: the page before an earlier start time has earlier races"
}

// tiers finds out which numbers of tiers have results, and what they are called.
func (d *Doctor) tiers(ctx context.Context) (mark, string) {
	var parts []string
	found := good
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
			parts = append(parts, fmt.Sprintf("%d: %s", id, strings.Join(slices.Sorted(maps.Keys(tiers)), "/")))
			if len(tiers) > 1 || tiers[string(horseracing.TierNameOmega)] != (id == 5) {
				found = odd
			}
		}
	}
	return found, strings.Join(parts, ", ")
}

// bound finds out whether start_time_from excludes its own instant, and whether
// it is read to the millisecond.
func (d *Doctor) bound(ctx context.Context) (mark, string) {
	e := d.second[max(0, slices.IndexFunc(d.second, func(e entry) bool { return e.Start%1000 != 0 }))] // whole seconds show little
	switch {
	case !slices.ContainsFunc(d.page(ctx, e.Start+1), e.is):
		return bad, "it is not read to the millisecond: a request from one millisecond after the start of a race does not show that race"
	case slices.ContainsFunc(d.page(ctx, e.Start), e.is):
		return odd, "it is read to the millisecond, and a page includes races that start at this time"
	}
	return good, "it is read to the millisecond, and a page does not include races that start at this time"
}

// order walks back for some pages, and requests from the middle of each: that shows races
// that the whole page should have shown.
func (d *Doctor) order(ctx context.Context) (mark, string) {
	missing := 0
	for page := d.second; len(page) > 0 && len(d.walked) < 6 && d.err == nil; {
		d.walked = append(d.walked, page)
		low := lowest(page)
		sorted := slices.SortedFunc(slices.Values(page), byStart)
		missing += share(d.page(ctx, sorted[len(sorted)/2].Start), func(e entry) bool { return e.Start > low && !slices.ContainsFunc(page, e.is) })
		page = d.page(ctx, low)
	}
	if missing > 0 {
		return bad, fmt.Sprintf("%d races are missing from %d pages, although races that start earlier are shown: a page does not have the latest starts", missing, len(d.walked))
	}
	return good, fmt.Sprintf("a page has the latest starts: no race is missing from %d pages", len(d.walked))
}

// emptyLists requests the open races several times, and the races before any.
func (d *Doctor) emptyLists(ctx context.Context) (mark, string) {
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
	isList := status < 300 && len(decodeEntries(text)) == 0
	return oddIf(!isList || empty > 0 && len(d.opened) > 0,
		"%d of %d lists of open races were empty; the page before the first race has status %d and is %s", empty, times, status, shapeOf(text))
}

func (d *Doctor) seconds(context.Context) (mark, string) {
	races := d.races()
	if n := share(races, func(e entry) bool { return e.Start >= 9e8 && e.Start < 1e11 }); n > 0 {
		return bad, fmt.Sprintf("%d of %d are in seconds", n, len(races))
	}
	starts := share(races, func(e entry) bool { return e.Start == 0 })
	deadlines := share(d.opened, func(e entry) bool { return e.Deadline == 0 })
	return oddIf(starts+deadlines > 0, "none of %d is in seconds; %d are null or absent, and so are %d of %d deadlines of open races", len(races), starts, deadlines, len(d.opened))
}

func (d *Doctor) heats(context.Context) (mark, string) {
	races := d.races()
	starts := map[int64]int64{}
	heats := share(races, func(e entry) bool {
		first, seen := starts[e.ID]
		if !seen {
			starts[e.ID] = e.Start
		}
		return seen && first != e.Start
	})
	return oddIf(heats > 0, "%d of %d have the id of another race with another start", heats, len(races))
}

// fees finds out of which size the fees are, and whether some cannot be read.
func (d *Doctor) fees(context.Context) (mark, string) {
	var fees []horseracing.BigInt
	none, broken := 0, 0
	for _, race := range d.races() {
		var fee horseracing.BigInt
		if len(race.Fee) == 0 || string(race.Fee) == "null" {
			none++
		} else if fee.UnmarshalJSON(race.Fee) != nil {
			broken++
		} else {
			fees = append(fees, fee)
		}
	}
	text := fmt.Sprintf("of %d fees, %d are null or absent, and %d are not whole numbers", len(d.races()), none, broken)
	if len(fees) == 0 {
		return odd, text
	}
	least, most := slices.MinFunc(fees, horseracing.BigInt.Cmp).String(), slices.MaxFunc(fees, horseracing.BigInt.Cmp).String()
	return oddIf(none+broken > 0 || len(most) < 10, "from %s (%d digits) to %s (%d digits); %s", least, len(least), most, len(most), text)
}

// participants finds out whether a list of participants can show that a horse is not in it.
func (d *Doctor) participants(ctx context.Context) (mark, string) {
	isListed := func(e entry) bool { return len(e.Participants) > 0 }
	var before, closed []entry
	for _, race := range d.opened {
		if race.Deadline > d.probe.date.UnixMilli() {
			before = append(before, race)
		} else if race.Deadline != 0 {
			closed = append(closed, race)
		}
	}
	var over []entry // the newest finished race, by its id
	if status, text := d.get(ctx, fmt.Sprintf("/api/v1/races/%d", d.top[0].ID), nil); status < 300 {
		over = decodeEntries(text)
	}
	return oddIf(share(closed, isListed) < len(closed) || share(over, isListed) < len(over) || len(before) > 0 && share(before, isListed) == 0,
		"horses are listed in %d of %d open races before the deadline, in %d of %d after it, and in %d of %d finished races read by id",
		share(before, isListed), len(before), share(closed, isListed), len(closed), share(over, isListed), len(over))
}

// date compares the header Date with the starts of races: the newest finished one is past,
// an open one is not.
func (d *Doctor) date(context.Context) (mark, string) {
	date, newest, next := d.probe.date, slices.MaxFunc(d.top, byStart), slices.MaxFunc(d.opened, byStart)
	off := time.Duration(max(date.UnixMilli()-next.Start, newest.Start-date.UnixMilli())) * time.Millisecond
	if off > time.Minute {
		return odd, fmt.Sprintf("compared with the starts of races, it is off by %v or more", off.Round(time.Minute))
	}
	return good, fmt.Sprintf("it fits the starts of races, and is %v behind the clock of this machine", time.Since(date).Round(time.Minute))
}

// ids finds out whether what is read by id is what was requested, and what is read for an
// id that does not exist.
func (d *Doctor) ids(ctx context.Context) (mark, string) {
	isRequested := map[string]func(entry) bool{}
	for _, races := range [][]entry{d.opened, d.top} {
		for _, race := range races[:min(1, len(races))] {
			isRequested[fmt.Sprintf("/api/v1/races/%d", race.ID)] = func(e entry) bool { return e.ID == race.ID }
			for _, p := range race.Participants[:min(1, len(race.Participants))] {
				isRequested[fmt.Sprintf("/api/v1/horses/%d", p.Number)] = func(e entry) bool { return e.Number == p.Number }
			}
		}
	}
	for path, is := range isRequested {
		status, text := d.get(ctx, path, nil)
		if status >= 300 || !slices.ContainsFunc(decodeEntries(text), is) {
			return bad, fmt.Sprintf("%s: the response has status %d and is %s, and does not have the entry requested", path, status, shapeOf(text))
		}
	}
	status, text := d.get(ctx, "/api/v1/races/999999999999", nil)
	shape := shapeOf(text)
	isNotFound := status == http.StatusNotFound || status == http.StatusNoContent || shape == "null" || shape == "an array of 0"
	return oddIf(!isNotFound, "%d of %[1]d responses have the entry requested; the response for a race that does not exist has status %d and is %s", len(isRequested), status, shape)
}
