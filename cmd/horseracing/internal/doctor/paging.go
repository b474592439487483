package doctor

import (
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

// entry is what is compared of an entry of a listing.
type entry struct {
	ID           int64           `json:"main_race_id"`
	Start        int64           `json:"start_time"`
	Deadline     int64           `json:"registration_deadline"`
	Tier         string          `json:"tier"`
	Fee          json.RawMessage `json:"entry_fee"`
	FinalOrder   []int           `json:"final_order"`
	Participants []struct{}      `json:"participants"`
}

// is reports whether two entries are the same race.
func (e entry) is(other entry) bool { return e.ID == other.ID && e.Start == other.Start }

func byStart(a, b entry) int { return cmp.Compare(a.Start, b.Start) }

// paging are the checks of the listings that are paged.
func (d *Doctor) paging() []check {
	return []check{
		{"4", "bodies of GET requests", "", d.bodies},
		{"4.5", "start_time_from", "R10", d.bound},
		{"4.5", "tiers", "R10", d.tiers},
		{"4.5", "how far back results go", "", d.oldest},
		{"4.6", "results by offset", "", d.byOffset},
		{"4.5", "entries per page", "", d.sizes},
		{"4.5", "races on one instant", "", d.ties},
		{"4.5", "how late results appear", "", d.lateness},
	}
}

// page requests a page of finished races, as it is. Without one the check has
// failed.
func (d *Doctor) page(ctx context.Context, path string, body map[string]any) (entries []entry) {
	status, text := d.get(ctx, path, body)
	if shape := shapeOf(text); status >= 300 || status != http.StatusNoContent && shape != "null" && !strings.HasPrefix(shape, "an array") {
		d.fail(fmt.Errorf("status %d, %s", status, shape))
	}
	return decodeEntries(text)
}

const resultsPath = "/api/v2/races/results"

// before requests the page of tier 5 before an instant.
func (d *Doctor) before(ctx context.Context, from int64) []entry {
	return d.page(ctx, resultsPath, map[string]any{"tier": 5, "start_time_from": from})
}

// lowest returns the earliest start of a page that is not empty.
func lowest(page []entry) int64 { return slices.MinFunc(page, byStart).Start }

// bodies sends two requests whose responses differ if the body arrives.
func (d *Doctor) bodies(ctx context.Context) finding {
	top := d.page(ctx, resultsPath, map[string]any{"tier": 5})
	if len(top) == 0 {
		return notRead
	}
	d.top, d.from = top, lowest(top)
	second := d.before(ctx, d.from)
	if slices.ContainsFunc(second, func(e entry) bool { return e.Start > d.from }) { // some services include the instant
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

// bound finds out whether start_time_from excludes its own instant, and whether
// it is heeded to the millisecond.
func (d *Doctor) bound(ctx context.Context) finding {
	if !d.needBodies() {
		return notRead
	}
	e := d.second[max(0, slices.IndexFunc(d.second, func(e entry) bool { return e.Start%1000 != 0 }))] // whole seconds show little
	if !slices.ContainsFunc(d.before(ctx, e.Start+1), e.is) {
		return finding{Mark: bad, Text: "a request from one millisecond after a race's start does not show the race: it is not heeded to the millisecond",
			Advice: "a walk can miss races that start soon after one another"}
	}
	includes := slices.ContainsFunc(d.before(ctx, e.Start), e.is)
	return oddIf(includes, "a walk passes such an entry over, and nothing is lost", "is it heeded to the millisecond? yes; does a page include its own instant? %s", yesOrNo(includes))
}

// tiers finds out which ids of tiers have results, and what they are called.
func (d *Doctor) tiers(ctx context.Context) finding {
	var parts []string
	isOmega := false // another tier than 5, or not 5
	for id := 1; id <= 12; id++ {
		status, text := d.get(expectRefusal(ctx), resultsPath, map[string]any{"tier": id})
		entries := decodeEntries(text)
		if status >= 300 {
			parts = append(parts, fmt.Sprintf("%d: status %d", id, status))
		} else if len(entries) > 0 {
			names := slices.Sorted(maps.Keys(count(each(entries, func(e entry) string { return e.Tier }))))
			parts = append(parts, fmt.Sprintf("%d: %s", id, strings.Join(names, "/")))
			isOmega = isOmega || slices.Equal(names, []string{string(horseracing.TierNameOmega)}) != (id == 5)
		}
	}
	return oddIf(isOmega, "filter by the id of a tier, not by the name that its races have", "%s", strings.Join(parts, ", "))
}

// oldest searches for the earliest race, to the day.
func (d *Doctor) oldest(ctx context.Context) finding {
	const day = 24 * time.Hour
	earliest, empty := d.from, int64(0) // the start of a race; an instant that no race is before
	try := func(from int64) {
		if entries := d.before(ctx, from); len(entries) > 0 {
			earliest = lowest(entries)
		} else {
			empty = from
		}
	}
	for ago := 30 * day; d.needBodies() && empty == 0 && d.err == nil; ago *= 2 {
		try(d.report.At.Add(-ago).UnixMilli())
	}
	for earliest-empty > day.Milliseconds() && d.err == nil {
		try(empty + (earliest-empty)/2)
	}
	return found(good, "to about %s", time.UnixMilli(earliest).UTC().Format(time.DateOnly))
}

func (d *Doctor) byOffset(ctx context.Context) finding {
	const path = "/api/v1/races/results"
	top := d.page(ctx, path, map[string]any{"tier": 5, "offset": 0})
	rest := d.page(ctx, path, map[string]any{"tier": 5, "offset": 5})
	overlap, expected := 0, max(0, len(top)-5)
	for _, e := range top {
		if slices.ContainsFunc(rest, func(r entry) bool { return r.ID == e.ID }) {
			overlap++
		}
	}
	return oddIf(!isNewestFirst(top) || overlap < expected-3 || overlap > expected, "Races.ResultsV1 expects newest first and overlapping pages: prefer Races.Results",
		"%d entries; newest first? %s; offset 5 overlaps by %d of %d", len(top), yesOrNo(isNewestFirst(top)), overlap, expected)
}

func isNewestFirst(page []entry) bool {
	return slices.IsSortedFunc(page, func(a, b entry) int { return byStart(b, a) })
}

// sizes walks back, as long as requests are left.
func (d *Doctor) sizes(ctx context.Context) finding {
	sizes, largest := counts{}, 0
	for from := d.from; d.needBodies() && len(d.walked) < 40 && d.probe.left() > 25; { // for the readings
		page := d.before(ctx, from)
		if len(page) == 0 {
			break
		}
		d.walked = append(d.walked, page)
		sizes[fmt.Sprint(len(page))]++
		largest = max(largest, len(page))
		from = min(lowest(page)+1, from-1) // the races of one instant may be on two pages
	}
	return oddIf(len(d.walked) > 1 && largest != 10, "ten are documented; fewer cost more requests", "at most %d; pages by size: %v", largest, sizes)
}

func (d *Doctor) ties(context.Context) finding {
	ids := map[int64]map[int64]bool{} // by start
	most := 0
	for _, e := range slices.Concat(d.walked...) {
		if ids[e.Start] == nil {
			ids[e.Start] = map[int64]bool{}
		}
		ids[e.Start][e.ID] = true
		most = max(most, len(ids[e.Start]))
	}
	if most == 0 {
		return notRead
	}
	return oddIf(most >= 10, "a page of one instant cannot show whether there are more: expect TieOverflowError", "at most %d, on %d instants", most, len(ids))
}

// lateness measures how long after its start a race appears in the results.
func (d *Doctor) lateness(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, d.config.Watch)
	defer cancel()
	var late []time.Duration
	for race, err := range d.client.Races.Follow(horseracing.FollowQuery{Interval: 20 * time.Second}).All(ctx) {
		if err != nil {
			d.fail(err)
			break
		}
		late = append(late, time.Since(race.StartTime.Time).Round(time.Second))
	}
	if len(late) == 0 {
		return found(skipped, "no race appeared within %v (--watch)", d.config.Watch)
	}
	return oddIf(slices.Max(late) > time.Hour, "set FollowQuery.Lookback above this",
		"%d races appeared from %v to %v after their start", len(late), slices.Min(late), slices.Max(late))
}
