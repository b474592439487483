package horseracing

import (
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
	keys := rapid.OneOf(rapid.StringMatching(`[?]?-?[1-9][0-9]{0,18}`), rapid.StringMatching(`=[0-9a-f]{8}`), rapid.StringMatching(`![0-9a-z]{8}`),
		rapid.Map(rapid.String(), keyOfID), rapid.Map(rapid.String(), func(id string) string { return "?" + keyOfID(id) }))
	for range rapid.IntRange(0, 30).Draw(t, "seen") {
		key, start := keys.Draw(t, "key"), rapid.Int64Range(-1000, 1<<42).Draw(t, "start")
		if !strings.HasPrefix(key, hashMark) && !strings.HasPrefix(key, gapMark) {
			key = seenKey(key, start)
		}
		s.seen[key] = start
	}
	return s
}

func TestAFollowersCursorIsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFollowState(t)
		cursor := newCursor(cursorFollowRaces, []TierID{3, TierOmega}, s.payload())
		parsed, err := ParseCursor(cursor.String())
		if err != nil {
			t.Fatalf("%q: %v", cursor, err)
		}
		_, fields, ok := parsed.payload(cursorFollowRaces)
		if !ok {
			t.Fatalf("%q: of something else", cursor)
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
	for name, key := range map[string]func(i int64) string{
		"fifty races a second":                  func(i int64) string { return strconv.FormatInt(1<<62+i, 10) },
		"fifty unreadable tournaments a second": func(i int64) string { return "?" + keyOfID(strings.Repeat("_.", 99)+strconv.FormatInt(i, 10)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFollowState(0)
			for part := range int64(20) { // as many as are yielded before it is trimmed
				for i := part * maxSeen; i < (part+1)*maxSeen; i++ {
					s.advance(i*20 - time.Hour.Milliseconds())
					s.seen[key(i)] = i * 20
				}
				cursor := newCursor(cursorFollowRaces, []TierID{TierOmega}, s.payload())
				if _, err := ParseCursor(cursor.String()); err != nil {
					t.Errorf("a cursor of %d bytes: %v", len(cursor.String()), err)
				}
				if s.advance(s.firstKept()); len(s.seen) != maxSeen {
					t.Fatalf("%d entries are remembered", len(s.seen))
				}
			}
		})
	}
}

// Ids that differ have keys that differ, from each other's and from those of errors and gaps.
func TestTheKeysOfIDsDiffer(t *testing.T) {
	keys := map[string]string{}
	for _, id := range []string{"7", "-7", "7_1", "7.1", "!7", "?7", "#7", "a", strings.Repeat("7", 20), strings.Repeat("7", 21), strings.Repeat("a", 21), "é", " 7"} {
		for _, key := range []string{keyOfID(id), "?" + keyOfID(id), gapMark + id} {
			if other, ok := keys[key]; ok {
				t.Errorf("%q and %q have the key %q", id, other, key)
			}
			keys[key] = id
		}
	}
}
