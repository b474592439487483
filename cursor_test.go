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

// Tournaments have any text for an id.
func TestACursorIsItsTextAndKeepsTheWholePosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringN(1, 30, 90), rapid.StringOfN(rapid.SampledFrom([]rune("._-~%+ aé")), 1, 5, -1))
		want := pagerState{
			Since: rapid.Int64().Draw(t, "since"),
			Position: walk.Position{
				At:   rapid.Int64Max(walk.Latest).Draw(t, "at"),
				Seen: rapid.SliceOfN(id, 1, 20).Draw(t, "seen"),
			},
		}
		kind := rapid.SampledFrom([]cursorKind{cursorRaces, cursorRacesV1, cursorTournaments}).Draw(t, "kind")
		c := newCursor(kind, TierID(rapid.IntRange(1, 9).Draw(t, "tier")), want)
		stored, err := json.Marshal(map[string]Cursor{"position": c, "none": {}})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]Cursor
		if err := json.Unmarshal(stored, &back); err != nil || !back["position"].Equal(c) || !back["none"].IsZero() {
			t.Fatalf("%s is read as %v (%v)", stored, back, err)
		}
		tier, payload, problem := resumed(kind, 0, back["position"])
		if problem != nil || tier < 1 {
			t.Fatal(tier, problem)
		}
		var got pagerState
		problem = decodePayload(payload, &got)
		if diff := cmp.Diff(want, got); problem != nil || diff != "" {
			t.Fatalf("%v: %v (-want +got):\n%s", c, problem, diff)
		}
		text := c.String()
		i := rapid.IntRange(0, len(text)-1).Draw(t, "position")
		damaged := text[:i] + rapid.SampledFrom([]string{"", "0", "z", ".", "-"}).Draw(t, "damage") + text[i+1:]
		if _, err := ParseCursor(damaged); damaged != text && !errors.Is(err, ErrInvalidArgument) {
			t.Fatalf("%q, made of %q, is read: %v", damaged, text, err)
		}
	})
}

func TestParseCursorRefusesOtherTextsWithTheReason(t *testing.T) {
	valid := newCursor(cursorRaces, TierOmega, pagerState{}).String()
	long := func(bytes int) string {
		text := "hr4.r2.5." + strings.Repeat("1", bytes-len("hr4.r2.5..12345678"))
		return text + "." + checksum(text)
	}
	for text, reason := range map[string]string{
		valid:                                   "",
		long(maxCursorText):                     "",
		long(maxCursorText + 1):                 "damaged",
		valid + "\n":                            "newline",
		"hr3.r2.5.loyw3v28.0.3mv.3mw.e69cdebb":  "another version",
		"hr12.r2.5.loyw3v28.0.3mv.3mw.e69cdebb": "another version",
		"hr4.r2.5.1.0.00000000":                 "damaged",
		"0":                                     "not a cursor",
		"eyJhIjoxfQ==":                          "not a cursor",
	} {
		_, err := ParseCursor(text)
		if reason == "" && err != nil || reason != "" && (!errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestACursorIsOfOneListingAndTier(t *testing.T) {
	if a, b := newCursor(cursorRaces, 0, "1"), newCursor(cursorRaces, TierOmega, "1"); !a.Equal(b) {
		t.Errorf("%v of tier zero is not %v", a, b)
	}
	cursor := newCursor(cursorRaces, TierOmega, "1")
	for name, test := range map[string]struct {
		kind cursorKind
		tier TierID
		ok   bool
	}{
		"no tier": {cursorRaces, 0, true}, "its tier": {cursorRaces, TierOmega, true},
		"another tier": {cursorRaces, 3, false}, "another listing": {cursorRacesV1, 0, false},
	} {
		tier, _, problem := resumed(test.kind, test.tier, cursor)
		if test.ok != (problem == nil) || test.ok && tier != TierOmega {
			t.Errorf("%s: tier %d, %v", name, tier, problem)
		}
	}
}

// The text of such a cursor is valid, but not its content.
func TestAnInvalidPayloadOfACursorIsDamage(t *testing.T) {
	races := &RacesService{&backend{}}
	for _, payload := range []any{"", 7, []int{}, map[string]any{"position": 7}, pagerState{Position: walk.Position{At: walk.Latest + 1}}} {
		if p := races.Results(ResultsQuery{Resume: newCursor(cursorRaces, 0, payload)}); !errors.Is(p.invalid, ErrInvalidArgument) {
			t.Errorf("a pager takes %v", payload)
		}
	}
	for _, payload := range []any{"", 7, []int{}, map[string]any{"settled": "1"}, map[string]any{"settled": 1, "seen": nil}} {
		if f := races.Follow(FollowQuery{Resume: newCursor(cursorFollowRaces, 0, payload)}); !errors.Is(f.invalid, ErrInvalidArgument) {
			t.Errorf("a follower takes %v", payload)
		}
	}
}
