package horseracing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// Entries that differ have keys that differ, and so do an entry and its error.
func TestTheKeysOfEntriesDiffer(t *testing.T) {
	keys, n := map[string]bool{}, 0
	for _, id := range []string{"", "7", "-7", "7_1", "7.1", "!7", "?7", "a", "é", " 7"} {
		for start := range int64(3) {
			for _, err := range []error{nil, errNilContext} {
				keys[keyOf(listed[Race]{ID: id, Start: start, Err: err})] = true
				n++
			}
		}
	}
	if len(keys) != n {
		t.Errorf("%d entries have %d keys", n, len(keys))
	}
}

// However many races within Lookback lack their results, few are held in memory, and the
// cursor stays short. What is forgotten is yielded as it is.
func TestAFollowerRemembersABoundedNumberOfRaces(t *testing.T) {
	const races = 5000
	for name, lacksEvery := range map[string]int{"none lacks its result": races + 1, "each second one does": 2, "all do": 1} {
		yielded := 0
		l := &followLoop[Race]{
			Follower: &Follower[Race]{
				listing: listing[Race]{backend: &backend{}, isPending: (*Race).isPending},
				state:   newFollowState(1), lookback: 1 << 40,
			},
			ctx: t.Context(), ceiling: 1 << 40, yield: func(*Race, error) bool { yielded++; return true },
		}
		for n := range races {
			race := &Race{MainRaceID: RaceID(n), Participants: []RaceParticipant{{Number: 1}}, FinalOrder: []int{0}}
			if n%lacksEvery == lacksEvery-1 {
				race.FinalOrder = nil
			}
			l.deliver([]listed[Race]{{ID: race.id().text(), Start: 1<<41 + int64(n), Value: race}})
			if len(l.state.Seen)+len(l.waiting) > 2*maxSeen || yielded+len(l.waiting) != n+1 {
				t.Fatalf("%s: after %d races %d are seen, %d lack their results, and %d were yielded", name, n+1, len(l.state.Seen), len(l.waiting), yielded)
			}
		}
		cursor := newCursor(cursorFollowRaces, TierOmega, l.state)
		if _, err := ParseCursor(cursor.String()); err != nil || len(l.state.Seen)+len(l.waiting) < maxSeen {
			t.Errorf("%s: %d races are remembered, %v", name, len(l.state.Seen), err)
		}
	}
}

// The known entry is what shows that an empty page is no mistake.
func TestAFollowersKnownEntryIsTheNewestOfItsPollThatHasAStart(t *testing.T) {
	l := &followLoop[Race]{Follower: &Follower[Race]{}}
	l.note(listed[Race]{ID: "without a start", Start: 9, NoStart: true})
	l.note(listed[Race]{ID: "8", Start: 8})
	l.note(listed[Race]{ID: "7", Start: 7})
	if want := (walk.Position{At: 8, Seen: []string{"8"}}); !cmp.Equal(l.known, want) {
		t.Errorf("known is %+v, want %+v", l.known, want)
	}
}
