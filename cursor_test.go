package horseracing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/walk"
)

func drawCursor(t *rapid.T) Cursor {
	if rapid.Bool().Draw(t, "zero") {
		return Cursor{}
	}
	tiers := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 9), func(n int) TierID { return TierID(n) }), 1, 4, rapid.ID).Draw(t, "tiers")
	slices.Sort(tiers)
	positions := make([]walk.Position, len(tiers))
	for i := range positions {
		positions[i] = walk.Position{
			At:     rapid.Int64Range(-1, 1<<53).Draw(t, "at"),
			Newest: rapid.Int64Range(0, 1<<53).Draw(t, "newest"),
			Seen:   rapid.SliceOfN(rapid.StringN(1, 30, 90), 0, 20).Draw(t, "seen"),
		}
	}
	kind := rapid.SampledFrom([]cursorKind{cursorRaces, cursorRacesV1, cursorTournaments}).Draw(t, "kind")
	since := rapid.Int64Range(walk.Earliest, 1<<53).Draw(t, "since")
	return newCursor(kind, tiers, writePositions(since, positions))
}

// raceCursor is a cursor of the Omega tier.
func raceCursor(kind cursorKind, p walk.Position) Cursor {
	return newCursor(kind, []TierID{TierOmega}, writePositions(walk.Earliest, []walk.Position{p}))
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
	for _, text := range []string{"0", "hr1.r2.5.loyw3v28.0.3mv.3mw.e69cdebb", "hr3.r2.5.1.0.00000000", "eyJhIjoxfQ==", strings.Repeat("hr1.", 3000)} {
		if _, err := ParseCursor(text); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(raceCursor(cursorRaces, walk.Position{At: 1_700_000_000_000, Seen: []string{"4711", "4712"}}).String())
	f.Add(raceCursor(cursorRacesV1, walk.Position{At: 40, Newest: 1_700_000_000_000, Seen: []string{"1"}}).String())
	f.Add("hr2.r2.5.0..zz.0.1") // without its checksum
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
			// Wherever it is, a walk goes on there or returns an error.
			w.requests = 0
			for _, p := range []*Pager[Race]{
				w.client(t).Races.Results(ResultsQuery{Resume: c, Concurrency: 1 + len(text)%3}),
				w.client(t).Races.ResultsV1(OffsetQuery{Resume: c}),
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

// tiers is a service with a listing for each tier.
type tiers map[TierID]*world

func (s tiers) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, _ := io.ReadAll(req.Body)
	var q struct{ Tier TierID }
	if err := json.Unmarshal(sent, &q); err != nil {
		return nil, err
	}
	if q.Tier == 0 {
		q.Tier = TierOmega
	}
	req.Body = io.NopCloser(bytes.NewReader(sent))
	return s[q.Tier].RoundTrip(req)
}

func (s tiers) client(t failer) *Client {
	t.Helper()
	return (&world{}).client(t, WithHTTPClient(&http.Client{Transport: s}))
}

func drawTiers(t *rapid.T) (s tiers, ids []TierID) {
	s = tiers{}
	for range rapid.IntRange(1, 4).Draw(t, "tiers") {
		id := TierID(rapid.IntRange(1, 9).Draw(t, "tier"))
		w := drawWorld(t)
		for i := range w.ids { // an id names its tier
			w.ids[i] += int64(id) * 1_000_000
			// No tier lies so near to 1970 that its starts look like seconds beside another's.
			w.starts[i] += 1_000_000_000_000
		}
		w.foreign = id != TierOmega
		s[id] = w
		ids = append(ids, id) // also twice, and in any order
	}
	return s, ids
}

func TestSeveralTiersAreOneListing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, ids := drawTiers(t)
		for _, w := range s {
			w.before = failSome(t)
		}
		q := ResultsQuery{Tiers: ids}
		var got, want []int64
		for _, w := range s {
			want = append(want, w.ids...)
		}
		last := int64(math.MaxInt64)
		for range 10_000 {
			q.Concurrency = rapid.IntRange(1, 16).Draw(t, "concurrency")
			p := s.client(t).Races.Results(q)
			stop := rapid.IntRange(1, 80).Draw(t, "stop after")
			finished := true
			for r, err := range p.All(context.Background()) {
				if err != nil && !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				if finished = err == nil; !finished {
					break
				}
				if r.StartTime.UnixMilli() > last {
					t.Fatalf("not newest first")
				}
				last = r.StartTime.UnixMilli()
				got = append(got, int64(r.MainRaceID))
				if stop--; stop == 0 {
					finished = false
					break
				}
			}
			if finished {
				sameEntries(t, got, want)
				return
			}
			c, err := ParseCursor(p.Cursor().String())
			if err != nil {
				t.Fatal(err)
			}
			q.Resume = c
			slices.Reverse(q.Tiers)
		}
		t.Fatal("the walk does not end")
	})
}

func TestOneTierInTiersIsThatTier(t *testing.T) {
	s := tiers{TierOmega: dense(50, 60_000), 3: dense(50, 60_000)}
	s[3].foreign = true
	c := s.client(t)
	queries := map[TierID][]ResultsQuery{
		TierOmega: {{}, {Tier: TierOmega}, {Tiers: []TierID{TierOmega}}, {Tiers: []TierID{TierOmega, TierOmega}}},
		3:         {{Tier: 3}, {Tiers: []TierID{3}}, {Tiers: []TierID{3, 3}}},
	}
	for tier, same := range queries {
		for _, q := range same {
			p := c.Races.Results(q)
			if _, err := p.Take(t.Context(), 20); err != nil {
				t.Fatal(err)
			}
			for _, other := range same {
				other.Resume = p.Cursor()
				if rest, err := c.Races.Results(other).Take(t.Context(), 100); err != nil || len(rest) != 30 {
					t.Errorf("tier %d: %d of 30 entries by the cursor of another spelling, %v", tier, len(rest), err)
				}
			}
		}
	}
}

func TestTiersThatMakeNoSenseAreRefusedBeforeAnyRequest(t *testing.T) {
	s := tiers{TierOmega: dense(50, 60_000), 3: dense(50, 60_000)}
	s[3].foreign = true
	c := s.client(t)
	both := c.Races.Results(ResultsQuery{Tiers: []TierID{3, TierOmega}})
	if _, err := both.Take(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	one := c.Races.Results(ResultsQuery{})
	if _, err := one.Take(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]ResultsQuery{
		"with Tier":  {Tier: 3, Tiers: []TierID{3}},
		"negative":   {Tiers: []TierID{3, -1}},
		"zero":       {Tiers: []TierID{3, 0}},
		"zero alone": {Tiers: []TierID{0}},
		"too many": {Tiers: slices.Collect(func(yield func(TierID) bool) {
			for id := TierID(1); yield(id) && id <= maxTiers; id++ {
			}
		})},
		"the cursor of one":    {Tiers: []TierID{3, TierOmega}, Resume: one.Cursor()},
		"the cursor of others": {Tiers: []TierID{3, 4}, Resume: both.Cursor()},
	} {
		before := s[3].requests + s[TierOmega].requests
		if _, err := c.Races.Results(q).Take(t.Context(), 5); !errors.Is(err, ErrInvalidArgument) || s[3].requests+s[TierOmega].requests != before {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACursorWithANewlineIsRefusedWithTheReason(t *testing.T) {
	text := raceCursor(cursorRaces, walk.Position{At: 1}).String()
	_, err := ParseCursor(text + "\n")
	if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "newline") {
		t.Errorf("%v does not say that the text has a newline", err)
	}
}

// A program that saves the cursor whatever happened must not lose its place.
func TestTheCursorOfAnInvalidQueryIsItsResume(t *testing.T) {
	c := dense(50, 60_000).client(t)
	p := c.Races.Results(ResultsQuery{})
	if _, err := p.Take(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	saved := p.Cursor()
	p = c.Races.Results(ResultsQuery{Resume: saved, Concurrency: -1})
	if _, err := p.Take(t.Context(), 5); err == nil || p.Cursor().String() != saved.String() {
		t.Errorf("%v, and the cursor %q instead of %q", err, p.Cursor(), saved)
	}
}
