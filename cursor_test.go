package horseracing

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/walk"
)

func drawCursor(t *rapid.T) Cursor {
	if rapid.Bool().Draw(t, "zero") {
		return Cursor{}
	}
	tiers := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(1, 9), func(n int) TierID { return TierID(n) }), 1, 4, rapid.ID).Draw(t, "tiers")
	slices.Sort(tiers)
	positions := make([]walk.Position, len(tiers))
	for i := range positions {
		positions[i] = walk.Position{
			At:     rapid.Int64Range(-1, 1<<53).Draw(t, "at"),
			Newest: rapid.Int64Range(0, 1<<53).Draw(t, "newest"),
			Seen:   rapid.SliceOfN(rapid.Uint64(), 0, 20).Draw(t, "seen"),
		}
	}
	kind := rapid.SampledFrom([]cursorKind{cursorRaces, cursorRacesV1, cursorTournaments}).Draw(t, "kind")
	return newCursor(kind, tiers, writePositions(positions))
}

// raceCursor is a cursor of the Omega tier.
func raceCursor(kind cursorKind, p walk.Position) Cursor {
	return newCursor(kind, []TierID{TierOmega}, writePositions([]walk.Position{p}))
}

// Texts that earlier releases wrote.
func TestASavedCursorStaysReadable(t *testing.T) {
	for text, want := range map[string]walk.Position{
		"hr1.r2.5.loyw3v28.0.3mv.3mw.e69cdebb": {At: 1_700_000_000_000, Seen: []uint64{4711, 4712}},
		"hr1.r1.5.14.loyw3v28.1.1b986380":      {At: 40, Newest: 1_700_000_000_000, Seen: []uint64{1}},
	} {
		c, err := ParseCursor(text)
		if err != nil {
			t.Fatal(err)
		}
		kind := cursorKind(text[4:6])
		payload, ok := c.payload(kind, []TierID{TierOmega})
		positions, readable := readPositions(payload)
		if d := cmp.Diff([]walk.Position{want}, positions); d != "" || !ok || !readable {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}

func TestACursorIsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCursor(t)
		parsed, err := ParseCursor(c.String())
		if err != nil || !parsed.Equal(c) || parsed.IsZero() != c.IsZero() {
			t.Fatalf("%v is read as %v (%v)", c, parsed, err)
		}
		stored, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back Cursor
		if err := json.Unmarshal(stored, &back); err != nil || !back.Equal(c) {
			t.Fatalf("%s is read as %v (%v)", stored, back, err)
		}
	})
}

func TestADamagedCursorIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawCursor(t).String()
		if text == "" {
			t.Skip()
		}
		i := rapid.IntRange(0, len(text)-1).Draw(t, "position")
		damaged := text[:i] + rapid.SampledFrom([]string{"", "0", "z", ".", "-"}).Draw(t, "damage") + text[i+1:]
		if damaged == text {
			t.Skip()
		}
		if _, err := ParseCursor(damaged); !errors.Is(err, ErrInvalidArgument) {
			t.Fatalf("%q, made of %q, is read: %v", damaged, text, err)
		}
	})
}

func TestAForeignTextIsNoCursor(t *testing.T) {
	for _, text := range []string{"0", "hr2.r2.5.1.0.00000000", "eyJhIjoxfQ==", strings.Repeat("hr1.", 3000)} {
		if _, err := ParseCursor(text); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(raceCursor(cursorRaces, walk.Position{At: 1_700_000_000_000, Seen: []uint64{4711, 4712}}).String())
	f.Add(raceCursor(cursorRacesV1, walk.Position{At: 40, Newest: 1_700_000_000_000, Seen: []uint64{1}}).String())
	f.Add("hr1.r2.5.zz.0.1") // without its checksum
	w := dense(30, 60_000)
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, text + "." + checksum(text)} {
			c, err := ParseCursor(text)
			if err != nil {
				if !errors.Is(err, ErrInvalidArgument) || len(err.Error()) > 200 {
					t.Fatalf("%v", err)
				}
				continue
			}
			if c.String() != text {
				t.Fatalf("%q is read, and written as %q", text, c)
			}
			// Wherever it stands, a walk goes on there or says why not.
			w.requests = 0
			for _, p := range []*Pager[Race]{
				w.client(t).Races.Results(ResultsQuery{Resume: c, Concurrency: 1 + len(text)%3}),
				w.client(t).Races.ResultsV1(OffsetQuery{Resume: c, Concurrency: 1 + len(text)%3}),
			} {
				_, err := p.Take(t.Context(), 20)
				known := errors.Is(err, ErrInvalidArgument) || errors.Is(err, ErrBodyIgnored)
				if err != nil && !known || w.requests > 100 {
					t.Fatalf("%q: %d requests, %v", text, w.requests, err)
				}
			}
		}
	})
}
