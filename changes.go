package horseracing

import (
	"cmp"
	"slices"
)

// RaceChangeKind is the kind of a [RaceChange].
type RaceChangeKind string

// The kinds of [RaceChange].
const (
	RaceOpened  RaceChangeKind = "opened"  // it is open and was not before
	RaceUpdated RaceChangeKind = "updated" // its participants, status, deadline or start changed
	RaceClosed  RaceChangeKind = "closed"  // it is no longer open: started, finished, or canceled
)

// RaceChange is a change of an open race.
type RaceChange struct {
	Kind     RaceChangeKind
	Race     *Race // the current state, or the last known state if the race closed
	Previous *Race // the state before, or nil for an opened race
}

// Changes returns the differences between two lists of open races: closed races, then
// opened ones, then updated ones, each sorted by start time. The changes point into the
// lists.
//
// RaceUpdated reports that the participants, the status, the registration deadline or
// the start time changed. Reordered participants are not reported, and neither are
// races that opened and closed between the two lists. A race without an id is ignored;
// of several with the same id the first is used.
func Changes(before, after []Race) []RaceChange {
	was, is := racesByID(before), racesByID(after)
	var changes []RaceChange
	for id, race := range was {
		if is[id] == nil {
			changes = append(changes, RaceChange{Kind: RaceClosed, Race: race, Previous: race})
		}
	}
	for id, race := range is {
		switch previous := was[id]; {
		case previous == nil:
			changes = append(changes, RaceChange{Kind: RaceOpened, Race: race})
		case isUpdate(previous, race):
			changes = append(changes, RaceChange{Kind: RaceUpdated, Race: race, Previous: previous})
		}
	}
	slices.SortFunc(changes, func(a, b RaceChange) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), // closed, opened, updated
			a.Race.StartTime.Compare(b.Race.StartTime.Time),
			cmp.Compare(a.Race.MainRaceID, b.Race.MainRaceID))
	})
	return changes
}

// clone returns a change whose races belong to the caller.
func (c RaceChange) clone() RaceChange {
	c.Race = c.Race.clone()
	if c.Previous != nil {
		c.Previous = c.Previous.clone()
	}
	return c
}

func racesByID(races []Race) map[RaceID]*Race {
	byID := make(map[RaceID]*Race, len(races))
	for i := range races {
		if id := races[i].MainRaceID; id != 0 && byID[id] == nil {
			byID[id] = &races[i]
		}
	}
	return byID
}

// isUpdate reports whether b, a later state of a, is reported as an update.
func isUpdate(a, b *Race) bool {
	return a.Status != b.Status || !a.RegistrationDeadline.Equal(b.RegistrationDeadline.Time) ||
		!a.StartTime.Equal(b.StartTime.Time) || !haveSameParticipants(a, b)
}

// haveSameParticipants compares the participants as sets.
func haveSameParticipants(a, b *Race) bool {
	isMissing := func(p RaceParticipant) bool { return !slices.Contains(b.Participants, p) }
	return len(a.Participants) == len(b.Participants) && !slices.ContainsFunc(a.Participants, isMissing)
}
