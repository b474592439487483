package paging_test

import (
	"encoding/json"
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

func TestEntriesHaveTheirJSONAndTier(t *testing.T) {
	w := dense(31, 60_000)
	w.foreign = true
	w.damaged = map[int64]string{w.ids[20]: fmt.Sprintf(`{ "main_race_id": %d, "start_time": %d, "new_member": [1e3] }`, w.ids[20], w.starts[20])}
	n := 0
	for e, err := range w.client(t).Races.Results(horseracing.ResultsQuery{Tier: 3, Concurrency: 4}).Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		_ = append(e.JSON, "does not overwrite what follows"...)
		var back horseracing.Race
		if err := json.Unmarshal(e.JSON, &back); err != nil || back.MainRaceID != e.Value.MainRaceID || e.Tier != 3 {
			t.Errorf("JSON %s of race %d in tier %d: %v", e.JSON, e.Value.MainRaceID, e.Tier, err)
		}
		if n == 20 && string(e.JSON) != w.damaged[w.ids[20]] {
			t.Errorf("JSON %s", e.JSON)
		}
		n++
	}
	if n != 31 {
		t.Errorf("%d of 31 entries", n)
	}
}
