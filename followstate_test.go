package horseracing

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// drawFollowState draws what a follower may have yielded.
func drawFollowState(t *rapid.T) *followState {
	s := newFollowState(rapid.OneOf(rapid.Just(int64(walk.Earliest)), rapid.Int64Range(-1000, 1<<42)).Draw(t, "recent"))
	keys := rapid.OneOf(rapid.StringMatching(`[?]?-?[1-9][0-9]{0,18}`), rapid.StringMatching(`\?[0-9a-f]{8}`), rapid.StringMatching(`![0-9a-z]{8}`))
	for range rapid.IntRange(0, 30).Draw(t, "seen") {
		s.seen[keys.Draw(t, "key")] = rapid.Int64Range(-1000, 1<<42).Draw(t, "start")
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
			if s.trim(); len(s.seen) > 61 {
				t.Fatalf("after %d minutes %d races are remembered", minute, len(s.seen))
			}
		}
		if len(s.seen) != 61 {
			t.Errorf("%d races are remembered, want those of the last hour", len(s.seen))
		}
	})
	t.Run("fifty races a second", func(t *testing.T) {
		s := newFollowState(0)
		for part := range int64(20) { // as large as a part can be
			for i := part * maxRaces; i < (part+1)*maxRaces; i++ {
				s.advance(i*20 - time.Hour.Milliseconds())
				s.seen[strconv.FormatInt(1<<62+i, 10)] = i * 20
			}
			cursor := newCursor(cursorFollow, []TierID{TierOmega}, s.payload())
			if _, err := ParseCursor(cursor.String()); err != nil {
				t.Errorf("a cursor of %d bytes: %v", len(cursor.String()), err)
			}
			if s.trim(); len(s.seen) != maxSeen {
				t.Fatalf("%d races are remembered", len(s.seen))
			}
		}
	})
}
