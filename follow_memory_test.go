package horseracing

import (
	"testing"
	"time"
)

func TestFollowRemembersOnlyWhatLiesWithinLookback(t *testing.T) {
	f := follower{lookback: time.Hour, known: map[RaceID]time.Time{}, told: map[int64]bool{}, yield: func(*Race, error) bool { return true }}
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for minute := range 24 * 60 {
		race := &Race{MainRaceID: RaceID(minute + 1), StartTime: NewTimestamp(start.Add(time.Duration(minute) * time.Minute))}
		f.told[race.StartTime.UnixMilli()] = true
		if !f.handOut(t.Context(), []*Race{race}) {
			t.Fatal("ended")
		}
		if len(f.known) > 61 || len(f.told) > 61 {
			t.Fatalf("after %d minutes %d races and %d ties are remembered", minute, len(f.known), len(f.told))
		}
	}
	if len(f.known) != 61 {
		t.Errorf("%d races are remembered, want those of the last hour", len(f.known))
	}
}
