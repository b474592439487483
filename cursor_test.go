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

// Tournaments have any text for an id.
func TestACursorKeepsEveryIDAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringOfN(rapid.SampledFrom([]rune("._-~%+ aé")), 1, 5, -1)
		want := []walk.Position{{At: 7, Newest: 9, Seen: rapid.SliceOfN(id, 1, 5).Draw(t, "seen")}, {At: 8}}
		c := newCursor(cursorTournaments, []TierID{3, 5}, writePositions(6, want))
		_, fields, ok := c.payload(cursorTournaments)
		got := make([]walk.Position, 2)
		since, problem := readPositions(fields, got)
		if diff := cmp.Diff(want, got); !ok || since != 6 || problem != nil || diff != "" {
			t.Fatalf("%v is read as since %d %v (-want +got):\n%s", c, since, problem, diff)
		}
	})
}

func TestASinceThatWouldOverflowIsDamage(t *testing.T) {
	for since, ok := range map[int64]bool{walk.Earliest: true, walk.Earliest - 1: false} {
		if _, problem := readPositions(writePositions(since, make([]walk.Position, 1)), make([]walk.Position, 1)); (problem == nil) != ok {
			t.Errorf("%d: %v", since, problem)
		}
	}
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

func TestACursorOfMoreThanItsBoundIsRefused(t *testing.T) {
	for bytes, ok := range map[int]bool{maxCursorText: true, maxCursorText + 1: false} {
		empty := newCursor(cursorFollowRaces, []TierID{5}, []string{""}).String()
		text := newCursor(cursorFollowRaces, []TierID{5}, []string{strings.Repeat("1", bytes-len(empty))}).String()
		if _, err := ParseCursor(text); len(text) != bytes || (err == nil) != ok {
			t.Errorf("%d bytes: %v", len(text), err)
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

func TestParseCursorRefusesAForeignText(t *testing.T) {
	for _, text := range []string{"0", "hr1.r2.5.loyw3v28.0.3mv.3mw.e69cdebb", "hr4.r2.5.1.0.00000000", "hr3.r1.0.e3d94c96", "eyJhIjoxfQ==", strings.Repeat("hr1.", 3000)} {
		if _, err := ParseCursor(text); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
