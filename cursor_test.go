package horseracing

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawCursor(t *rapid.T) Cursor {
	if rapid.Bool().Draw(t, "zero") {
		return Cursor{}
	}
	return Cursor{
		listing: rapid.SampledFrom([]string{"r1", "r2", "t1"}).Draw(t, "listing"),
		tier:    TierID(rapid.IntRange(1, 9).Draw(t, "tier")),
		at:      rapid.Int64Range(-1, 1<<53).Draw(t, "at"),
		newest:  rapid.Int64Range(0, 1<<53).Draw(t, "newest"),
		seen:    rapid.SliceOfN(rapid.Uint64(), 0, 20).Draw(t, "seen"),
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
	f.Add(Cursor{listing: "r2", tier: 5, at: 1_700_000_000_000, seen: []uint64{4711, 4712}}.String())
	f.Add(Cursor{listing: "r1", tier: 5, at: 40, newest: 1_700_000_000_000, seen: []uint64{1}}.String())
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
				w.client(t).Races.Results(ResultsQuery{Tier: c.tier, Resume: c, Concurrency: 1 + len(text)%3}),
				w.client(t).Races.ResultsV1(OffsetQuery{Tier: c.tier, Resume: c, Concurrency: 1 + len(text)%3}),
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
