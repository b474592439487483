package watching_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
)

func openRaceAt(id horseracing.RaceID, minute int, horses ...horseracing.HorseNumber) horseracing.Race {
	race := horseracing.Race{MainRaceID: id, StartTime: horseracing.NewTimestamp(time.UnixMilli(1_750_000_000_000).Add(time.Duration(minute) * time.Minute))}
	for _, horse := range horses {
		race.Participants = append(race.Participants, horseracing.RaceParticipant{Number: horse})
	}
	return race
}

func TestChangesAreSortedByKindAndStart(t *testing.T) {
	before := []horseracing.Race{openRaceAt(1, 9), openRaceAt(2, 8), openRaceAt(3, 7), openRaceAt(4, 6), openRaceAt(0, 1), openRaceAt(1, 30, 5)}
	after := []horseracing.Race{openRaceAt(6, 5), openRaceAt(3, 7, 1), openRaceAt(5, 5), openRaceAt(4, 6, 1), openRaceAt(7, 4), openRaceAt(7, 1), openRaceAt(0, 1, 2)}
	var got []string
	for _, c := range horseracing.Changes(before, after) {
		got = append(got, fmt.Sprint(c.Kind, c.Race.MainRaceID))
		inBefore := func(r *horseracing.Race) bool {
			return slices.ContainsFunc(before, func(b horseracing.Race) bool { return gocmp.Equal(&b, r) })
		}
		if (c.Previous == nil) != (c.Kind == horseracing.RaceOpened) || c.Previous != nil && !inBefore(c.Previous) {
			t.Errorf("%s %d: previous %v", c.Kind, c.Race.MainRaceID, c.Previous)
		}
	}
	want := []string{"closed2", "closed1", "opened7", "opened5", "opened6", "updated4", "updated3"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChangesLeadFromOneListToTheOther(t *testing.T) {
	lists := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) horseracing.Race {
		return openRaceAt(horseracing.RaceID(rapid.IntRange(1, 9).Draw(t, "id")), rapid.IntRange(0, 3).Draw(t, "minute"),
			rapid.SliceOfNDistinct(rapid.SampledFrom([]horseracing.HorseNumber{1, 2, 3}), 0, 3, rapid.ID[horseracing.HorseNumber]).Draw(t, "horses")...)
	}), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		before, after := lists.Draw(t, "before"), lists.Draw(t, "after")
		if changes := horseracing.Changes(before, before); len(changes) > 0 {
			t.Errorf("from a list to itself: %v", changes)
		}
		open := stateOf(before)
		for _, c := range horseracing.Changes(before, after) {
			state := stateOf([]horseracing.Race{*c.Race})[c.Race.MainRaceID]
			if was, known := open[c.Race.MainRaceID]; known != (c.Previous != nil) || c.Kind == horseracing.RaceUpdated && was == state {
				t.Errorf("%s %s, before %s", c.Kind, state, was)
			}
			if open[c.Race.MainRaceID] = state; c.Kind == horseracing.RaceClosed {
				delete(open, c.Race.MainRaceID)
			}
		}
		if diff := gocmp.Diff(stateOf(after), open); diff != "" {
			t.Error(diff)
		}
	})
}

// stateOf returns what changes report of each race, the first of each id.
func stateOf(races []horseracing.Race) map[horseracing.RaceID]string {
	states := map[horseracing.RaceID]string{}
	for _, race := range slices.Backward(races) {
		var horses []horseracing.HorseNumber
		for _, p := range race.Participants {
			horses = append(horses, p.Number)
		}
		slices.Sort(horses)
		states[race.MainRaceID] = fmt.Sprint(race.StartTime, horses)
	}
	return states
}
