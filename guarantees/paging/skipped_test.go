package paging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
)

// damage makes an entry unreadable, and reports whether it can still be placed.
func (w *world) damage(i int, kind string) (placed bool) {
	id, start := w.ids[i], w.starts[i]
	if w.damaged == nil {
		w.damaged = map[int64]string{}
	}
	switch kind {
	case "member":
		w.damaged[id] = fmt.Sprintf(`{"main_race_id":%d,"start_time":%d,"entry_fee":{}}`, id, start)
		placed = true
	case "id":
		w.damaged[id] = fmt.Sprintf(`{"main_race_id":"%dx","start_time":%d}`, id, start)
	case "no id":
		w.damaged[id] = fmt.Sprintf(`{"start_time":%d,"length":%d}`, start, id)
	case "start":
		w.damaged[id] = fmt.Sprintf(`{"main_race_id":%d,"start_time":"soon"}`, id)
	case "no start":
		w.damaged[id] = fmt.Sprintf(`{"main_race_id":%d}`, id)
	case "start 0":
		w.damaged[id] = fmt.Sprintf(`{"main_race_id":%d,"start_time":0}`, id)
	case "seconds":
		w.damaged[id] = fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, id, start/1000)
	case "null":
		w.damaged[id] = "null"
	}
	return placed
}

func TestAnUnreadableEntryOfAPageAffectsNoOther(t *testing.T) {
	kinds := []string{"member", "id", "no id", "start", "no start", "start 0", "seconds", "null"}
	checkInBubble(t, func(t *rapid.T) {
		w := &world{}
		at := int64(1_700_000_000_000)
		for i := range rapid.IntRange(12, 80).Draw(t, "entries") {
			w.starts, w.ids = append(w.starts, at), append(w.ids, int64(1000-i))
			at -= rapid.SampledFrom([]int64{0, 1, 60_000, 60_000, 3_600_000, 60 * 24 * 3_600_000}).Draw(t, "gap")
			if i >= 7 && w.starts[i-7] == at { // no whole page on one instant
				at--
			}
		}
		var once, often []string // unreadable entries that can be placed, and the others
		damaged := map[int]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "unreadable") {
			i := rapid.IntRange(1, len(w.ids)-1).Draw(t, "index")
			if !damaged[i] {
				damaged[i] = true
				if w.damage(i, rapid.SampledFrom(kinds).Draw(t, "kind")) {
					once = append(once, w.damaged[w.ids[i]])
				} else {
					often = append(often, w.damaged[w.ids[i]])
				}
			}
		}
		readable := slices.DeleteFunc(slices.Clone(w.ids), func(id int64) bool { return w.damaged[id] != "" })
		pagers := map[string]func(horseracing.Cursor, int) *horseracing.Pager[horseracing.Race]{
			"by time": func(c horseracing.Cursor, n int) *horseracing.Pager[horseracing.Race] {
				return w.client(t).Races.Results(horseracing.ResultsQuery{Resume: c, Concurrency: n})
			},
			"by offset": func(c horseracing.Cursor, _ int) *horseracing.Pager[horseracing.Race] {
				return w.client(t).Races.ResultsV1(horseracing.OffsetQuery{Resume: c})
			},
		}
		for name, begin := range pagers {
			races, skipped := crawl(t, begin)
			sameEntries(t, idsIn(races), readable)
			count := map[string]int{}
			for _, text := range skipped {
				count[text]++
			}
			for _, text := range once {
				if count[text] != 1 {
					t.Fatalf("%s: %s came %d times", name, text, count[text])
				}
			}
			for _, text := range often {
				if count[text] == 0 {
					t.Fatalf("%s: %s did not come", name, text)
				}
			}
			if len(count) > len(once)+len(often) {
				t.Fatalf("%s: came %v", name, count)
			}
		}
	})
}

// A program that saves the cursor at each error and resumes in another process passes every
// unreadable entry, wherever it is.
func TestACursorSavedAtAnErrorIsAfterIt(t *testing.T) {
	for _, kind := range []string{"member", "id", "no id", "start", "no start", "start 0", "null"} {
		for _, concurrency := range []int{0, 1, 4} { // 0 is by offset
			w := dense(60, 60_000)
			damaged := []int{0, 1, 9, 10, 30, 58, 59}
			for _, i := range damaged {
				w.damage(i, kind)
			}
			var resume horseracing.Cursor
			n, loops := 0, 0
			for ; loops < 40; loops++ {
				p := w.client(t).Races.Results(horseracing.ResultsQuery{Resume: resume, Concurrency: concurrency})
				if concurrency == 0 {
					p = w.client(t).Races.ResultsV1(horseracing.OffsetQuery{Resume: resume})
				}
				races, err := p.Take(t.Context(), 100)
				if n += len(races); err == nil {
					break
				}
				resume = p.Cursor()
			}
			if n != 60-len(damaged) || loops > 2*len(damaged) {
				t.Errorf("%s, concurrency %d: %d of %d races in %d loops", kind, concurrency, n, 60-len(damaged), loops+1)
			}
		}
	}
}

// It cannot be passed: nothing shows where the listing continues.
func TestAPageOfEntriesWithoutAStartEndsTheLoop(t *testing.T) {
	w := dense(60, 60_000)
	for i := 15; i < 40; i++ {
		w.damage(i, "no start")
	}
	p := w.client(t).Races.Results(horseracing.ResultsQuery{})
	n, skipped := 0, 0
	var last error
	for _, err := range again(p) {
		if last = err; err != nil {
			skipped++
		} else {
			n++
		}
		if skipped > 60 {
			t.Fatal("the loop does not end")
		}
	}
	if last == nil || !strings.Contains(last.Error(), "no entry of the page can be placed") || n != 15 {
		t.Errorf("%d entries, then %v", n, last)
	}
	w.damaged = nil
	rest, err := p.Take(t.Context(), 100)
	if err != nil || len(rest) < 20 {
		t.Errorf("once it can be read: %d entries, %v", len(rest), err)
	}
}

// Pages that a Take fetched ahead have it too.
func TestEntriesHaveTheirJSONAndTier(t *testing.T) {
	s := tiers{3: dense(81, 60_000)}
	s[3].foreign = true
	odd := s[3].ids[20]
	s[3].damaged = map[int64]string{odd: fmt.Sprintf(`{ "main_race_id": %d, "start_time": %d, "new_member": [1e3] }`, odd, s[3].starts[20])}
	for _, concurrency := range []int{1, 4} {
		p := s.client(t).Races.Results(horseracing.ResultsQuery{Tier: 3, Concurrency: concurrency})
		before, err := p.Take(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		n := len(before)
		for e, err := range p.Entries(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if !json.Valid(e.JSON) {
				t.Errorf("appending to the JSON before race %d overwrote it", e.Value.MainRaceID)
			}
			_ = append(e.JSON, "overwritten"...)
			if isOdd := bytes.Contains(e.JSON, []byte("new_member")); isOdd && string(e.JSON) != s[3].damaged[odd] {
				t.Errorf("JSON %s", e.JSON)
			} else if isBeta := e.Value.Tier == horseracing.TierNameBeta; !isOdd && isBeta != (e.Tier == 3) {
				t.Errorf("race %d of %s has tier %d", e.Value.MainRaceID, e.Value.Tier, e.Tier)
			}
			var back horseracing.Race
			if err := json.Unmarshal(e.JSON, &back); err != nil || back.MainRaceID != e.Value.MainRaceID {
				t.Errorf("JSON %s of race %d: %v", e.JSON, e.Value.MainRaceID, err)
			}
		}
		if n != 81 {
			t.Errorf("at %d: %d of 81 entries", concurrency, n)
		}
	}
}

func TestAFullPageOnOneInstantIsReportedAndPassed(t *testing.T) {
	for _, ties := range []int{10, 11, 25} {
		for _, concurrency := range []int{1, 2, 16} {
			t.Run(fmt.Sprintf("%d ties at %d", ties, concurrency), func(t *testing.T) {
				w := &world{}
				for i := range 40 {
					w.add(int64(1_000_000 - i*1000))
				}
				for range ties {
					w.add(900_000)
				}
				for i := range 40 {
					w.add(int64(800_000 - i*1000))
				}
				overflows := 0
				var got []int64
				for e, err := range again(w.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency})) {
					if overflow, ok := errors.AsType[*horseracing.TieOverflowError](err); ok {
						overflows++
						if overflow.StartTime.UnixMilli() != 900_000 || overflow.Seen < 10 {
							t.Errorf("unexpected %+v", overflow)
						}
					} else if err != nil {
						t.Fatal(err)
					} else {
						got = append(got, int64(e.Value.MainRaceID))
					}
				}
				if overflows != 1 {
					t.Errorf("reported %d times", overflows)
				}
				outside := 0
				for _, id := range got {
					if i := slices.Index(w.ids, id); w.starts[i] != 900_000 {
						outside++
					}
				}
				if outside != 80 || len(got) < 90 {
					t.Errorf("%d entries outside the instant, %d in all", outside, len(got))
				}
			})
		}
	}
}
