package horseracing

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/listing"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Tournaments have any text for an id. A cursor is of one listing and of one tier.
func TestACursorIsItsTextAndKeepsTheWholePosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringN(1, 30, 90), rapid.StringOfN(rapid.SampledFrom([]rune("._-~%+ aé")), 1, 5, -1))
		want := listing.Range{
			Since:    rapid.Int64().Draw(t, "since"),
			Position: walk.Position{At: rapid.Int64Max(walk.Latest).Draw(t, "at"), Seen: rapid.SliceOfN(id, 1, 20).Draw(t, "seen")},
		}
		kind := rapid.SampledFrom([]string{finishedRaces.cursors, finishedRacesV1.cursors, finishedTournaments.cursors}).Draw(t, "kind")
		of := TierID(rapid.IntRange(0, 9).Draw(t, "tier"))
		c, own := newCursor(kind, of, want), of.orDefault()
		stored, _ := json.Marshal(map[string]Cursor{"position": c, "none": {}})
		var back map[string]Cursor
		if err := json.Unmarshal(stored, &back); err != nil || !back["position"].Equal(c) || !back["none"].IsZero() {
			t.Fatalf("%s is read as %v (%v)", stored, back, err)
		}
		var got listing.Range
		tier, problem := back["position"].open(kind, rapid.SampledFrom([]TierID{0, own}).Draw(t, "asked"), &got)
		if diff := cmp.Diff(want, got); problem != nil || tier != own || diff != "" {
			t.Fatalf("%v: tier %v, %v (-want +got):\n%s", c, tier, problem, diff)
		}
		_, otherTier := c.open(kind, own+1, &got)
		_, otherListing := c.open(finishedRaces.followCursors, 0, &got)
		if otherTier == nil || otherListing == nil {
			t.Fatalf("%v is taken for another tier, %v, or listing, %v", c, otherTier, otherListing)
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
	valid := newCursor(finishedRaces.cursors, TierOmega, listing.Range{}).String()
	long := func(bytes int) string {
		text := "hr4.r2.5." + strings.Repeat("1", bytes-len("hr4.r2.5..12345678"))
		return fmt.Sprintf("%s.%08x", text, crc32.ChecksumIEEE([]byte(text)))
	}
	const longest = 64 << 10
	for _, text := range []string{valid, long(longest)} {
		_, err := ParseCursor(text)
		check.Equal(t, "the error for a valid text", nil, err)
	}
	for text, reason := range map[string]string{
		long(longest + 1):                       "damaged",
		valid + "\n":                            "newline",
		"hr3.r2.5.loyw3v28.0.3mv.3mw.e69cdebb":  "start without it, a Follower with Since an hour (for tournaments a day) before",
		"hr12.r2.5.loyw3v28.0.3mv.3mw.e69cdebb": "start without it, a Follower with Since an hour (for tournaments a day) before",
		"hr4.r2.5.1.0.00000000":                 "damaged",
		"0":                                     "not a cursor",
		"eyJhIjoxfQ==":                          "not a cursor",
	} {
		_, err := ParseCursor(text)
		check.Equal(t, fmt.Sprintf("%.40q: %v", text, err), true, errors.Is(err, ErrInvalidArgument) && strings.Contains(err.Error(), reason))
	}
}

// The text of such a cursor is valid, but not its content.
func TestAnInvalidPayloadOfACursorIsDamage(t *testing.T) {
	races := &RacesService{&backend{}}
	for _, payload := range []any{"", 7, []int{}, map[string]any{"position": 7}, listing.Range{Position: walk.Position{At: walk.Latest + 1}}} {
		p := races.Results(ResultsQuery{Resume: newCursor(finishedRaces.cursors, 0, payload)})
		check.Equal(t, fmt.Sprint("a pager refuses ", payload), true, errors.Is(p.invalid, ErrInvalidArgument))
	}
	for _, payload := range []any{"", 7, []int{}, map[string]any{"settled": "1"}, map[string]any{"settled": 1, "seen": nil}} {
		f := races.Follow(FollowQuery{Resume: newCursor(finishedRaces.followCursors, 0, payload)})
		check.Equal(t, fmt.Sprint("a follower refuses ", payload), true, errors.Is(f.invalid, ErrInvalidArgument))
	}
}
