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

// entry is what is compared of an entry of a listing, or of a horse.
type entry struct {
	ID           int64           `json:"main_race_id"`
	Number       int64           `json:"number"`
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

// pages checks the listings that are paged.
type pages struct {
	*operations
	from   int64     // a time in the past with races before it
	top    []entry   // the newest page
	second []entry   // the page before from; empty if bodies of GET requests do not arrive
	walked [][]entry // the pages of one walk back
}

func (p *pages) checks() []check {
	return []check{
		{"4", "bodies of GET requests", "", p.bodies},
		{"4.5", "start_time_from", "R10", p.bound},
		{"4.5", "tiers", "R10", p.tiers},
		{"4.5", "how far back results go", "", p.oldest},
		{"4.6", "results by offset", "", p.byOffset},
		{"4.5", "entries per page", "", p.sizes},
		{"4.5", "races on one instant", "", p.ties},
		{"4.5", "how late results appear", "", p.lateness},
	}
}

// page requests a page of finished races, as it is. Without one the check has
// failed.
func (p *pages) page(ctx context.Context, path string, body map[string]any) (entries []entry) {
	status, text := p.get(ctx, path, body)
	if shape := shapeOf(text); status >= 300 || status != http.StatusNoContent && shape != "null" && !strings.HasPrefix(shape, "an array") {
		p.fail(fmt.Errorf("status %d, %s", status, shape))
	}
	return decodeEntries(text)
}

const resultsPath = "/api/v2/races/results"

// before requests the page of tier 5 before an instant.
func (p *pages) before(ctx context.Context, from int64) []entry {
	return p.page(ctx, resultsPath, map[string]any{"tier": 5, "start_time_from": from})
}

// lowest returns the earliest start of a page that is not empty.
func lowest(page []entry) int64 { return slices.MinFunc(page, byStart).Start }

// bodies sends two requests whose responses differ if the body arrives.
func (p *pages) bodies(ctx context.Context) finding {
	top := p.page(ctx, resultsPath, map[string]any{"tier": 5})
	if len(top) == 0 {
		return notRead
	}
	p.top, p.from = top, lowest(top)
	second := p.before(ctx, p.from)
	if slices.ContainsFunc(second, func(e entry) bool { return e.Start > p.from }) { // some services include the instant
		return finding{Mark: bad, Text: "they do not arrive: a page before an earlier time contained later races",
			Advice: "something on the network path drops or caches them: try without a proxy, a VPN or a CDN"}
	}
	p.second = second
	return found(good, "they arrive: a page before an earlier time contained earlier races")
}

// needBodies fails the check if bodies of GET requests do not arrive.
func (p *pages) needBodies() bool {
	if len(p.second) == 0 {
		p.fail(errors.New("it needs more results, and bodies of GET requests that arrive"))
	}
	return len(p.second) > 0
}

// bound finds out whether start_time_from excludes its own instant, and whether
// it is heeded to the millisecond.
func (p *pages) bound(ctx context.Context) finding {
	if !p.needBodies() {
		return notRead
	}
	e := p.second[max(0, slices.IndexFunc(p.second, func(e entry) bool { return e.Start%1000 != 0 }))] // whole seconds show little
	if !slices.ContainsFunc(p.before(ctx, e.Start+1), e.is) {
		return finding{Mark: bad, Text: "a request from one millisecond after a race's start does not show the race: it is not heeded to the millisecond",
			Advice: "a walk can miss races that start soon after one another"}
	}
	includes := slices.ContainsFunc(p.before(ctx, e.Start), e.is)
	return oddIf(includes, "a walk passes such an entry over, and nothing is lost", "is it heeded to the millisecond? yes; does a page include its own instant? %s", yesOrNo(includes))
}

// tiers finds out which ids of tiers have results, and what they are called.
func (p *pages) tiers(ctx context.Context) finding {
	var parts []string
	isOmega := false // another tier than 5, or not 5
	for id := 1; id <= 12; id++ {
		status, text := p.get(expectRefusal(ctx), resultsPath, map[string]any{"tier": id})
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
func (p *pages) oldest(ctx context.Context) finding {
	const day = 24 * time.Hour
	earliest, empty := p.from, int64(0) // the start of a race; an instant that no race is before
	try := func(from int64) {
		if entries := p.before(ctx, from); len(entries) > 0 {
			earliest = lowest(entries)
		} else {
			empty = from
		}
	}
	for ago := 30 * day; p.needBodies() && empty == 0 && p.err == nil; ago *= 2 {
		try(p.report.At.Add(-ago).UnixMilli())
	}
	for earliest-empty > day.Milliseconds() && p.err == nil {
		try(empty + (earliest-empty)/2)
	}
	return found(good, "to about %s", time.UnixMilli(earliest).UTC().Format(time.DateOnly))
}

func (p *pages) byOffset(ctx context.Context) finding {
	const path = "/api/v1/races/results"
	top := p.page(ctx, path, map[string]any{"tier": 5, "offset": 0})
	rest := p.page(ctx, path, map[string]any{"tier": 5, "offset": 5})
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
func (p *pages) sizes(ctx context.Context) finding {
	sizes, largest := counts{}, 0
	for from := p.from; p.needBodies() && len(p.walked) < 40 && p.probe.left() > 25; { // for the readings
		page := p.before(ctx, from)
		if len(page) == 0 {
			break
		}
		p.walked = append(p.walked, page)
		sizes[fmt.Sprint(len(page))]++
		largest = max(largest, len(page))
		from = min(lowest(page)+1, from-1) // the races of one instant may be on two pages
	}
	return oddIf(len(p.walked) > 1 && largest != 10, "ten are documented; fewer cost more requests", "at most %d; pages by size: %v", largest, sizes)
}

func (p *pages) ties(context.Context) finding {
	ids := map[int64]map[int64]bool{} // by start
	most := 0
	for _, e := range slices.Concat(p.walked...) {
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
func (p *pages) lateness(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, p.config.Watch)
	defer cancel()
	var late []time.Duration
	for race, err := range p.client.Races.Follow(horseracing.FollowQuery{Interval: 20 * time.Second}).All(ctx) {
		if err != nil {
			p.fail(err)
			break
		}
		late = append(late, time.Since(race.StartTime.Time).Round(time.Second))
	}
	if len(late) == 0 {
		return found(skipped, "no race appeared within %v (--watch)", p.config.Watch)
	}
	return oddIf(slices.Max(late) > time.Hour, "set FollowQuery.Lookback above this",
		"%d races appeared from %v to %v after their start", len(late), slices.Min(late), slices.Max(late))
}
