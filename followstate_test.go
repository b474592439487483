package horseracing

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/walk"
)

func newFollowState(floor int64) *followState {
	return &followState{begun: true, floor: floor, marks: map[mark]int64{}}
}

// drawFollowState draws what a follower may have settled.
func drawFollowState(t *rapid.T) *followState {
	s := newFollowState(rapid.OneOf(rapid.Just(int64(walk.Earliest)), rapid.Int64Range(-1000, 1<<42)).Draw(t, "floor"))
	instants := rapid.Int64Range(-1000, 1<<42)
	for range rapid.IntRange(0, 30).Draw(t, "marks") {
		switch start := instants.Draw(t, "start"); rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			s.settle(rapid.Uint64().Draw(t, "id"), start)
		case 1:
			s.note(markUnreadable, rapid.Uint64().Draw(t, "id"), start)
		default:
			s.note(markTie, uint64(start), start)
		}
	}
	edges := rapid.SliceOfNDistinct(instants, 0, 2*maxHoles, rapid.ID).Draw(t, "holes")
	slices.Sort(edges)
	if len(edges) > 0 && rapid.Bool().Draw(t, "from the beginning") {
		edges[0] = walk.Earliest
	}
	for i := 0; i+1 < len(edges); i += 2 {
		s.dig(rapid.Bool().Draw(t, "past"), segment{edges[i], edges[i+1]})
	}
	if len(s.holes) > 0 && len(s.holes) < maxHoles && rapid.Bool().Draw(t, "narrowed") { // as while a hole is read
		h := s.holes[0]
		if middle := h.middle(); h.low < middle {
			s.dig(h.past, segment{h.low, middle})
			s.fill(h, middle)
		}
	}
	return s
}

func TestAFollowersCursorIsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFollowState(t)
		cursor := newCursor(cursorFollow, []TierID{3, TierOmega}, s.payload())
		parsed, err := ParseCursor(cursor.String())
		if err != nil {
			t.Fatalf("%q: %v", cursor, err)
		}
		_, fields, ok := parsed.payload(cursorFollow)
		if !ok {
			t.Fatalf("%q: of something else", cursor)
		}
		back, ok := parseFollowState(fields)
		if !ok {
			t.Fatalf("%q cannot be read", cursor)
		}
		holes := func(s *followState) (all []segment) {
			for _, h := range s.holes {
				all = append(all, h.segment)
			}
			return all
		}
		if back.floor != s.floor || !cmp.Equal(back.marks, s.marks) || !cmp.Equal(holes(back), holes(s), cmp.AllowUnexported(segment{})) {
			t.Fatalf("%q is read as %+v, not %+v", cursor, back, s)
		}
	})
}

func TestADamagedFollowersCursorIsRefused(t *testing.T) {
	for _, payload := range [][]string{
		{}, {""}, {"0"}, {"zz", "x", ""}, {"0", "1_"}, {"0", "_1", ""}, {"0", "1_2", "1_2", ""}, {"0", "2_1", "1_2", "", "x"},
		{"0", "", "5_5"}, {"0", "", "5_4"}, {"0", "", "5"}, {"0", "", "", ""}, {"00", ""}, {"0", "01_2", ""}, {"-1y2p0ij32e8e8", ""},
	} {
		if _, err := ParseCursor(newCursor(cursorFollow, []TierID{TierOmega}, payload).String()); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%q is read: %v", payload, err)
		}
	}
	var many []string
	for i := range int64(4 * maxHoles) {
		many = append(many, strconv.FormatInt(i, 36)+"_zz")
	}
	if _, ok := parseFollowState(append([]string{"0", ""}, many...)); ok {
		t.Error("any number of holes is read")
	}
}

func TestAFollowerRemembersNoMoreThanLookbackAndItsBounds(t *testing.T) {
	t.Run("a race a minute", func(t *testing.T) {
		s := newFollowState(0)
		for minute := range int64(24 * 60) {
			start := minute * time.Minute.Milliseconds()
			s.advance(start - time.Hour.Milliseconds())
			s.settle(uint64(minute+1), start)
			if len(s.marks) > 61 {
				t.Fatalf("after %d minutes %d races are remembered", minute, len(s.marks))
			}
		}
		if len(s.marks) != 61 {
			t.Errorf("%d races are remembered, want those of the last hour", len(s.marks))
		}
	})
	t.Run("fifty races a second", func(t *testing.T) {
		s := newFollowState(0)
		for i := range int64(20_000) {
			s.advance(i*20 - time.Hour.Milliseconds())
			s.settle(1<<63+uint64(i), i*20)
			if len(s.marks) > maxMarks {
				t.Fatalf("%d races are remembered", len(s.marks))
			}
		}
		if len(s.marks) < keptMarks {
			t.Errorf("only %d races are remembered", len(s.marks))
		}
		cursor := newCursor(cursorFollow, []TierID{TierOmega}, s.payload())
		if _, err := ParseCursor(cursor.String()); err != nil {
			t.Errorf("a cursor of %d bytes: %v", len(cursor.String()), err)
		}
	})
	t.Run("holes everywhere", func(t *testing.T) {
		s := newFollowState(0)
		for i := range int64(200) {
			for race := range int64(100) {
				start := 1_700_000_000_000 + i*100_000 + race*1000
				s.advance(start - 100_000)
				s.settle(uint64(i*100+race), start)
			}
			s.dig(false, segment{1_700_000_000_000 + i*100_000, 1_700_000_000_000 + i*100_000 + 80_000 + i})
		}
		cursor := newCursor(cursorFollow, []TierID{TierOmega}, s.payload())
		if _, err := ParseCursor(cursor.String()); err != nil || len(s.holes) > maxHoles || len(s.marks) > maxMarks {
			t.Errorf("a cursor of %d bytes with %d holes and %d races: %v", len(cursor.String()), len(s.holes), len(s.marks), err)
		}
		if len(s.lost)+len(s.holes) != 200 {
			t.Errorf("%d holes are kept and %d dropped, of 200", len(s.holes), len(s.lost))
		}
	})
}

func TestSegmentsOutsideHolesAreWhatIsNeitherHoleNorBelowTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFollowState(0)
		for low := int64(0); low < 100 && len(s.holes) < maxHoles; {
			low += rapid.Int64Range(0, 9).Draw(t, "distance")
			high := low + rapid.Int64Range(1, 9).Draw(t, "width")
			s.dig(rapid.Bool().Draw(t, "past"), segment{low, high})
			low = high
		}
		of := segment{rapid.Int64Range(0, 50).Draw(t, "low"), rapid.Int64Range(50, 120).Draw(t, "high")}
		covered := map[int64]int{}
		last := int64(walk.Latest)
		for _, part := range s.outsideHoles(of) {
			if part.high > last || part.low >= part.high {
				t.Fatalf("parts %v", s.outsideHoles(of))
			}
			last = part.low
			for at := part.low; at < part.high; at++ {
				covered[at]++
			}
		}
		for at := int64(-5); at < 130; at++ {
			want := 0
			if of.low <= at && at < of.high && !s.isInHole(at) {
				want = 1
			}
			if covered[at] != want {
				t.Fatalf("instant %d is covered %d times, want %d", at, covered[at], want)
			}
		}
	})
}
