package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"
)

// WatchQuery says how [RacesService.WatchOpen] watches.
type WatchQuery struct {
	Interval time.Duration // between polls; zero: 15 seconds
}

const watchInterval = 15 * time.Second

// RaceChangeKind says what happened to an open race.
type RaceChangeKind string

// The kinds of [RaceChange].
const (
	RaceOpened  RaceChangeKind = "opened"  // it is open and was not before
	RaceUpdated RaceChangeKind = "updated" // its participants, status, deadline or start changed
	RaceClosed  RaceChangeKind = "closed"  // it is not open any more: started, finished, or called off
)

// RaceChange is what happened to an open race between two polls.
type RaceChange struct {
	Kind     RaceChangeKind
	Race     *Race // as it is now; of a closed race the last state seen
	Previous *Race // as it was at the poll before; nil for an opened race, the last state seen for a closed one
}

// WatchOpen tells what changes in the open races, by polling: the service
// sends no events (interface document, section 6). It ends when the context
// does, at once and without an error, or when the caller leaves the loop.
//
// The first answered poll yields every open race as RaceOpened. After that
// RaceUpdated tells that participants, status, registration deadline or start
// time changed; another order is no change. Of each poll the closed races come
// first, by start time, then the others in the service's order. What comes and
// goes between two polls is not seen.
//
// A poll that fails is yielded as an empty change with the error, and polling
// goes on, with waits as in [RacesService.Follow]. ErrInvalidArgument ends the loop.
//
// Each range over the sequence watches anew. Nothing runs between its steps.
// The races belong to the caller.
func (s *RacesService) WatchOpen(ctx context.Context, q WatchQuery) iter.Seq2[RaceChange, error] {
	return func(yield func(RaceChange, error) bool) {
		op := operation{method: http.MethodGet, route: "/api/v1/races/open"}
		switch {
		case ctx == nil:
			yield(RaceChange{}, op.invalid("the context is nil"))
			return
		case q.Interval < 0:
			yield(RaceChange{}, op.invalid("the interval is negative"))
			return
		}
		pace := pace{interval: cmp.Or(q.Interval, watchInterval)}
		var before []Race
		for more := ctx.Err() == nil; more; {
			now, err := s.Open(ctx)
			if i := slices.IndexFunc(now, func(r Race) bool { return r.MainRaceID == 0 }); i >= 0 {
				err = op.undecodable(fmt.Sprintf("/%d", i), 0, errors.New("a race without an id cannot be told from others"))
			}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				if !yield(RaceChange{}, err) || errors.Is(err, ErrInvalidArgument) {
					return
				}
			default:
				pace.ok()
				now = distinct(now)
				for _, change := range changes(before, now) {
					if ctx.Err() != nil || !yield(change, nil) {
						return
					}
				}
				before = now
			}
			more = pace.rest(ctx, err)
		}
	}
}

// distinct drops races that an answer holds again.
func distinct(races []Race) []Race {
	seen := make(map[RaceID]bool, len(races))
	return slices.DeleteFunc(races, func(r Race) bool {
		again := seen[r.MainRaceID]
		seen[r.MainRaceID] = true
		return again
	})
}

// changes compares two polls.
func changes(before, now []Race) []RaceChange {
	gone := make(map[RaceID]*Race, len(before))
	for i := range before {
		gone[before[i].MainRaceID] = &before[i]
	}
	var still []RaceChange
	for i := range now {
		race := &now[i]
		switch previous := gone[race.MainRaceID]; {
		case previous == nil:
			still = append(still, RaceChange{Kind: RaceOpened, Race: copyOf(race)})
		case hasChanged(previous, race):
			still = append(still, RaceChange{Kind: RaceUpdated, Race: copyOf(race), Previous: copyOf(previous)})
		}
		delete(gone, race.MainRaceID)
	}
	var closed []RaceChange
	for _, race := range gone {
		closed = append(closed, RaceChange{Kind: RaceClosed, Race: copyOf(race), Previous: copyOf(race)})
	}
	slices.SortFunc(closed, func(a, b RaceChange) int {
		return cmp.Or(a.Race.StartTime.Compare(b.Race.StartTime.Time), cmp.Compare(a.Race.MainRaceID, b.Race.MainRaceID))
	})
	return append(closed, still...)
}

// copyOf keeps what the caller does to a race from looking like a change.
func copyOf(r *Race) *Race {
	c := *r
	c.Participants = slices.Clone(r.Participants)
	return &c
}

func hasChanged(a, b *Race) bool {
	return a.Status != b.Status || !a.RegistrationDeadline.Equal(b.RegistrationDeadline.Time) ||
		!a.StartTime.Equal(b.StartTime.Time) || !slices.Equal(inOrder(a.Participants), inOrder(b.Participants))
}

func inOrder(participants []RaceParticipant) []RaceParticipant {
	return slices.SortedFunc(slices.Values(participants), func(a, b RaceParticipant) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Total, b.Total))
	})
}
