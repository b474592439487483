package horseracing

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// drawFollowState draws what a follower may have yielded.
func drawFollowState(t *rapid.T) *followState {
	s := newFollowState(rapid.OneOf(rapid.Just(int64(walk.Earliest)), rapid.Int64Range(-1000, 1<<42)).Draw(t, "recent"))
	keys := rapid.OneOf(rapid.StringMatching(`[?]?[0-9a-z]{1,13}`), rapid.StringMatching(`![0-9a-z]{8}`))
	for range rapid.IntRange(0, 30).Draw(t, "seen") {
		s.seen[keys.Draw(t, "key")] = rapid.Int64Range(-1000, 1<<42).Draw(t, "start")
	}
	return s
}

func TestAFollowersCursorIsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFollowState(t)
		cursor := newCursor(cursorFollowRaces, 3, s.payload()...)
		parsed, err := ParseCursor(cursor.String())
		if err != nil {
			t.Fatalf("%q: %v", cursor, err)
		}
		_, fields, problem := resumed(cursorFollowRaces, 0, parsed)
		if problem != nil {
			t.Fatalf("%q: %v", cursor, problem)
		}
		back, problem := parseFollowState(fields)
		if problem != nil || !cmp.Equal(back, s, cmp.AllowUnexported(followState{})) {
			t.Fatalf("%q is read as %+v, not %+v", cursor, back, s)
		}
	})
}

func TestADamagedFollowersCursorIsRefused(t *testing.T) {
	for _, payload := range [][]string{
		{""}, {"x y"}, {"0", ""}, {"0", "7"}, {"0", "7_"}, {"0", "7_1_1"},
	} {
		if state, problem := parseFollowState(payload); problem == nil {
			t.Errorf("%q is read as %+v", payload, state)
		}
	}
}

func TestAFollowerRemembersNoMoreThanLookbackAndItsBounds(t *testing.T) {
	t.Run("a race a minute", func(t *testing.T) {
		s := newFollowState(0)
		for minute := range int64(24 * 60) {
			start := minute * time.Minute.Milliseconds()
			s.advance(start - time.Hour.Milliseconds())
			s.seen[strconv.FormatInt(minute, 10)] = start
			if s.advance(s.firstKept()); len(s.seen) > 61 {
				t.Fatalf("after %d minutes %d races are remembered", minute, len(s.seen))
			}
		}
		if len(s.seen) != 61 {
			t.Errorf("%d races are remembered, want those of the last hour", len(s.seen))
		}
	})
	t.Run("fifty unreadable races a second", func(t *testing.T) {
		s := newFollowState(0)
		for part := range int64(20) { // as many as are yielded before it is trimmed
			for i := part * maxSeen; i < (part+1)*maxSeen; i++ {
				s.advance(i*20 - time.Hour.Milliseconds())
				s.seen["?"+strconv.FormatUint(math.MaxUint64-uint64(i), 36)] = i * 20
			}
			cursor := newCursor(cursorFollowRaces, TierOmega, s.payload()...)
			if _, err := ParseCursor(cursor.String()); err != nil {
				t.Errorf("a cursor of %d bytes: %v", len(cursor.String()), err)
			}
			if s.advance(s.firstKept()); len(s.seen) != maxSeen {
				t.Fatalf("%d entries are remembered", len(s.seen))
			}
		}
	})
}

// Entries that differ have keys that differ, and so do an entry and its error.
func TestTheKeysOfEntriesDiffer(t *testing.T) {
	keys := map[string]string{}
	for _, id := range []string{"", "7", "-7", "7_1", "7.1", "!7", "?7", "a", strings.Repeat("a", 5000), "é", " 7"} {
		for start := range int64(3) {
			for _, err := range []error{nil, errNilContext} {
				name := fmt.Sprintf("%q at %d, %v", id, start, err)
				key := keyOf(walk.Entry[Entry[Race]]{ID: id, Start: start, Err: err})
				if other, ok := keys[key]; ok {
					t.Errorf("%s and %s have the key %q", name, other, key)
				}
				keys[key] = name
			}
		}
	}
}
