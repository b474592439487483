package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// readings are the checks how the service reads its own document, where another reading
// than the literal one makes a difference in money, in races or in time. Each has the row of
// docs/unknowns.md with what the SDK does about it.
func (d *Doctor) readings() []check {
	return []check{
		{"4.7", "empty lists of open races", "R8", d.emptyOpen}, // it comes first, for the others need the open races
		{"4.9", "who is listed in a race", "R1", d.participants},
		{"2.4", "races with one main_race_id", "R5", ofRaces(d.races, heats)},
		{"4.5", "finished races without a final_order", "R7", ofRaces(d.past, early)},
		{"2.4", "start times", "R9", ofRaces(d.races, seconds)},
		{"4.5", "an empty list", "R10", d.emptyList},
		{"4.5", "the races of a page", "R12", d.order},
		{"2.4", "entry fees", "R13", ofRaces(d.races, fees)},
		{"7", "the header Date", "R14", d.date},
	}
}

// past returns the finished races that were read, and races the open ones too.
func (d *Doctor) past() []entry  { return slices.Concat(d.top, slices.Concat(d.walked...)) }
func (d *Doctor) races() []entry { return slices.Concat(d.opened, d.past()) }

// ofRaces returns the check that examines races, if there are some.
func ofRaces(races func() []entry, examine func([]entry) finding) func(context.Context) finding {
	return func(context.Context) finding {
		if races := races(); len(races) > 0 {
			return examine(races)
		}
		return notRead
	}
}

// share returns how many of some races have something.
func share(races []entry, has func(entry) bool) (n int) {
	for _, race := range races {
		if has(race) {
			n++
		}
	}
	return n
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
	if status, text := d.get(expectRefusal(ctx), fmt.Sprintf("/api/v1/races/%d", d.top[0].ID), nil); status < 300 {
		over = decodeEntries(text)
	}
	return oddIf(share(closed, isListed) < len(closed) || share(over, isListed) < len(over) || len(before) > 0 && share(before, isListed) == 0,
		"an empty list proves nothing: after a lost response Settle waits for the result, and up to two hours after the start; its fee counts as paid until then",
		"somebody is listed before the deadline in %d of %d races, after it in %d of %d, by id after the result in %d of %d",
		share(before, isListed), len(before), share(closed, isListed), len(closed), share(over, isListed), len(over))
}

func heats(races []entry) finding {
	starts := map[int64]int64{}
	heats := share(races, func(e entry) bool {
		first, seen := starts[e.ID]
		if !seen {
			starts[e.ID] = e.Start
		}
		return seen && first != e.Start
	})
	return oddIf(heats > 0, "races are distinguished by id and start; Get returns the dearest of those with an id, and a registration may enter either",
		"%d of %d have the id of another race with another start", heats, len(races))
}

func early(finished []entry) finding {
	early := share(finished, func(e entry) bool { return len(e.FinalOrder) == 0 })
	return oddIf(early > 0, "a follower holds them back until they have one, or leave Lookback; a Pager yields them as they are", "%d of %d", early, len(finished))
}

func (d *Doctor) emptyOpen(ctx context.Context) finding {
	empty := 0
	const times = 4
	for range times {
		_, text := d.get(ctx, "/api/v1/races/open", nil)
		if open := decodeEntries(text); len(open) > 0 {
			d.opened = open
		} else {
			empty++
		}
	}
	return oddIf(empty > 0 && len(d.opened) > 0, "a watch requests an empty list again before it reports races as closed; Races.Open returns it as it is", "%d of %d, while races are open", empty, times)
}

func seconds(races []entry) finding {
	inSeconds := share(races, func(e entry) bool { return e.Start >= 9e8 && e.Start < 1e11 })
	if inSeconds > 0 {
		return finding{Mark: bad, Text: fmt.Sprintf("%d of %d are in seconds", inSeconds, len(races)),
			Advice: "walks and followers report an error for each of these races, and yield none"}
	}
	return found(good, "all of %d are in milliseconds", len(races))
}

// emptyList requests the races before any.
func (d *Doctor) emptyList(ctx context.Context) finding {
	status, text := d.get(expectRefusal(ctx), resultsPath, map[string]any{"tier": 5, "start_time_from": 1})
	isList := status == http.StatusNoContent || status < 300 && len(decodeEntries(text)) == 0
	return oddIf(!isList, "each walk ends with an error in place of its end", "status %d, %s", status, shapeOf(text))
}

// order requests from the middle of pages, and looks for races that the whole page should
// have shown.
func (d *Doctor) order(ctx context.Context) finding {
	missing := 0
	pages := d.walked[:min(6, len(d.walked))]
	for _, page := range pages {
		lowest := lowest(page)
		page = slices.SortedFunc(slices.Values(page), byStart)
		for _, e := range d.before(ctx, page[len(page)/2].Start) {
			if e.Start > lowest && !slices.ContainsFunc(page, e.is) {
				missing++
			}
		}
	}
	if len(pages) == 0 {
		return notRead
	}
	if missing > 0 {
		return finding{Mark: bad, Text: fmt.Sprintf("%d races are missing from %d pages between others: a page is not of the latest starts", missing, len(pages)),
			Advice: "walks by start_time_from lose such races without a word: compare Races.Results with Races.ResultsV1"}
	}
	return found(good, "the latest by start: nothing is missing from %d pages", len(pages))
}

// fees finds out of which size the fees are, and whether some cannot be read.
func fees(races []entry) finding {
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
	slices.SortFunc(fees, horseracing.BigInt.Cmp)
	least, most := fees[0].String(), fees[len(fees)-1].String()
	var odd []string
	if none > 0 {
		odd = append(odd, "the ledger refuses a race without a fee, unless WithFreeRaces")
	}
	if broken > 0 {
		odd = append(odd, "a race whose fee is not a whole number cannot be read or paid")
	}
	if len(most) < 10 {
		odd = append(odd, "these look like whole tokens, which a fee limit in the smallest unit does not limit")
	}
	return oddIf(len(odd) > 0, strings.Join(odd, "; "), "from %s (%d digits) to %s (%d digits); %d of %d are null or absent, %d are not whole numbers",
		least, len(least), most, len(most), none, len(races), broken)
}

// date compares the header Date with the starts of races: the newest finished one is past,
// an open one is not.
func (d *Doctor) date(context.Context) finding {
	if d.probe.date.IsZero() || len(d.opened) == 0 || len(d.top) == 0 {
		return notRead
	}
	date, newest, next := d.probe.date, slices.MaxFunc(d.top, byStart), slices.MaxFunc(d.opened, byStart)
	ahead, behind := date.UnixMilli()-next.Start, newest.Start-date.UnixMilli()
	off := time.Duration(max(ahead, behind)) * time.Millisecond
	local := "differs by more than a day from the clock of this machine, which then does not count"
	if between := time.Since(date).Round(time.Minute); between.Abs() < 24*time.Hour {
		local = fmt.Sprintf("is %v behind the clock of this machine", between)
	}
	return oddIf(off > time.Minute, "Settle waits until both clocks are past a deadline, up to an hour longer", "it %s; off by the starts of races? %s", local, yesOrNo(off > time.Minute))
}

// decodeEntries reads an array of races, or one of them. Members of another type
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
