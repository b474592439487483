package horseracing

import (
	"encoding/json"
	"errors"
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
	tier := TierID(rapid.IntRange(0, 9).Draw(t, "tier"))
	position := walk.Position{
		At:   rapid.Int64Range(-1, 1<<53).Draw(t, "at"),
		Seen: rapid.SliceOfN(rapid.StringN(1, 30, 90), 0, 20).Draw(t, "seen"),
	}
	kind := rapid.SampledFrom([]cursorKind{cursorRaces, cursorRacesV1, cursorTournaments}).Draw(t, "kind")
	since := rapid.Int64Range(walk.Earliest, 1<<53).Draw(t, "since")
	return newCursor(kind, tier, encodeField(pagerState{since, position}))
}

// raceCursor is a cursor of the Omega tier.
func raceCursor(kind cursorKind, p walk.Position) Cursor {
	return newCursor(kind, TierOmega, encodeField(pagerState{walk.Earliest, p}))
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
		want := walk.Position{At: 7, Seen: rapid.SliceOfN(id, 1, 5).Draw(t, "seen")}
		c := newCursor(cursorTournaments, 3, encodeField(pagerState{6, want}))
		tier, fields, problem := resumed(cursorTournaments, 0, c)
		if tier != 3 || problem != nil {
			t.Fatal(tier, problem)
		}
		since, got, problem := parsePagerState(fields)
		if diff := cmp.Diff(want, got); since != 6 || problem != nil || diff != "" {
			t.Fatalf("%v is read as since %d %v (-want +got):\n%s", c, since, problem, diff)
		}
	})
}

func TestASinceThatWouldOverflowIsDamage(t *testing.T) {
	for since, ok := range map[int64]bool{walk.Earliest: true, walk.Earliest - 1: false} {
		if _, _, problem := parsePagerState([]string{encodeField(pagerState{Since: since})}); (problem == nil) != ok {
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
		empty := newCursor(cursorFollowRaces, 5, "").String()
		text := newCursor(cursorFollowRaces, 5, strings.Repeat("1", bytes-len(empty))).String()
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
	for _, text := range []string{"0", "hr1.r2.5.loyw3v28.0.3mv.3mw.e69cdebb", "hr5.r2.5.1.0.00000000", "hr4.r2.5.1.0.00000000", "hr3.r1.0.e3d94c96", "eyJhIjoxfQ==", strings.Repeat("hr1.", 3000)} {
		if _, err := ParseCursor(text); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
