package horseracing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/listing"
)

// WatchQuery configures [RacesService.Watch].
type WatchQuery struct {
	Interval time.Duration // time between polls; default 15s
	Last     []Race        // the races of the last snapshot before a restart: the first one then reports what has changed since
	Known    []RaceID      // races that are not reported as opened when they are listed for the first time, if only their ids were kept
}

// Snapshot is the list of open races after a poll.
type Snapshot struct {
	Races   []Race       // in the service's order
	Changes []RaceChange // since the snapshot before: first closed races, then opened ones, then updated ones, each group sorted by start time
	At      time.Time    // when Races was read, by the local clock
}

type RaceChangeKind string

const (
	RaceOpened  RaceChangeKind = "opened"  // it is open and was not before
	RaceUpdated RaceChangeKind = "updated" // its participants, status or deadline changed
	RaceClosed  RaceChangeKind = "closed"  // it is no longer open: started, finished, or canceled
)

// RaceChange is a change of an open race.
type RaceChange struct {
	Kind     RaceChangeKind
	Race     *Race // the current state, or the last known state if the race closed
	Previous *Race // the state before, or nil for an opened race
}

// watch is one range over Watch.
type watch struct {
	*RacesService
	op     operation
	last   Snapshot
	known  []RaceID        // of the query, without those that were listed since
	unread map[string]bool // entries that the last poll could not read, by their ids; without an id by their JSON
}

// run yields a snapshot after each poll, and waits for the next one.
func (w *watch) run(ctx context.Context, interval time.Duration, yield func(Snapshot, error) bool) {
	schedule := listing.Schedule{Interval: interval}
	for ctx.Err() == nil {
		skipped, err := w.poll(ctx)
		if ctx.Err() != nil || !yield(w.last, err) || errors.Is(err, ErrInvalidArgument) {
			return
		}
		w.last.Changes = nil
		for _, problem := range skipped {
			if !w.skip(ctx, problem) && !yield(w.last, problem) {
				return
			}
		}
		if !schedule.Wait(ctx, err != nil, retryAfterOf(err)) {
			return
		}
	}
}

// poll makes the next snapshot. It returns the errors of entries that are new.
func (w *watch) poll(ctx context.Context) (skipped []error, err error) {
	l, err := getEntries[Race](ctx, backendOf(w.RacesService), w.op, nil)
	if err == nil && len(l.entries) == 0 && len(w.last.Races) > 0 && listing.Sleep(ctx, listing.EmptyDelay) == nil {
		l, err = getEntries[Race](ctx, backendOf(w.RacesService), w.op, nil)
	}
	if err != nil {
		return nil, err
	}
	var races []Race
	unread, isNameless := map[string]bool{}, false
	for i := range l.entries {
		e := &l.entries[i]
		if e.Err == nil {
			races = append(races, *e.Value)
			continue
		}
		isNameless = isNameless || e.ID == "" && !decode.IsNothing(e.JSON)
		key := cmp.Or(e.ID, string(e.JSON))
		if unread[key] = true; !w.unread[key] {
			skipped = append(skipped, e.Err)
		}
	}
	w.unread = unread
	w.advance(races, isNameless)
	return skipped, nil
}

// advance replaces the last snapshot. A race that is gone has not closed if an entry that
// cannot be read may be it.
func (w *watch) advance(races []Race, isNameless bool) {
	before := w.last.Races
	was, is := racesByKey(before), racesByKey(races)
	w.last = Snapshot{Races: races, At: time.Now()}
	change := func(kind RaceChangeKind, race, previous *Race) {
		w.last.Changes = append(w.last.Changes, RaceChange{Kind: kind, Race: race, Previous: previous})
	}
	for i := range before {
		switch race := &before[i]; {
		case is[openKeyOf(race)] != nil || was[openKeyOf(race)] != race: // listed, or listed twice before
		case isNameless || w.unread[idOf(race)]:
			w.last.Races = append(w.last.Races, *race)
		default:
			change(RaceClosed, race, race)
		}
	}
	for key, race := range is {
		switch last := was[key]; {
		case last == nil && !slices.Contains(w.known, race.MainRaceID):
			change(RaceOpened, race, nil)
		case last != nil && isUpdate(last, race):
			change(RaceUpdated, race, last)
		}
	}
	w.known = slices.DeleteFunc(w.known, func(id RaceID) bool {
		return slices.ContainsFunc(races, func(r Race) bool { return r.MainRaceID == id })
	})
	slices.SortFunc(w.last.Changes, func(a, b RaceChange) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), // closed, opened, updated
			a.Race.StartTime.Compare(b.Race.StartTime.Time),
			cmp.Compare(a.Race.MainRaceID, b.Race.MainRaceID))
	})
}

func openKeyOf(r *Race) entry.Key {
	return entry.Key{ID: r.MainRaceID.text(), Start: r.StartTime.UnixMilli()}
}

// racesByKey returns pointers to races; of several with the same key to the first.
func racesByKey(races []Race) map[entry.Key]*Race {
	byKey := make(map[entry.Key]*Race, len(races))
	for i := range slices.Backward(races) {
		byKey[openKeyOf(&races[i])] = &races[i]
	}
	return byKey
}

// isUpdate reports whether b, a later state of a, is reported as an update.
func isUpdate(a, b *Race) bool {
	isMissing := func(p RaceParticipant) bool { return !slices.Contains(b.Participants, p) }
	return a.Status != b.Status || !a.RegistrationDeadline.Equal(b.RegistrationDeadline.Time) ||
		len(a.Participants) != len(b.Participants) || slices.ContainsFunc(a.Participants, isMissing)
}
