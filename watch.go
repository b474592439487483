package horseracing

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// WatchQuery configures [RacesService.Watch].
type WatchQuery struct {
	Interval time.Duration // time between polls; default 15s
	Known    []RaceID      // races that are not reported as opened when they are listed for the first time, such as those of the last snapshot before a restart
}

const watchInterval = 15 * time.Second

// Snapshot is the list of open races after a poll.
type Snapshot struct {
	Races   []Race       // in the service's order
	Changes []RaceChange // since the snapshot before: first closed races, then opened ones, then updated ones, each group sorted by start time
	At      time.Time    // when Races was read, by the local clock
}

// RaceChangeKind is the kind of a [RaceChange].
type RaceChangeKind string

// The kinds of [RaceChange].
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

// Watch polls the open races until ctx is done, and yields a snapshot after each poll. The
// first snapshot reports all races as opened, except those in Known. Watch starts no goroutine,
// and does not poll while the loop body runs. Snapshots share races, so do not modify them. To
// serve several readers, keep the last snapshot in an atomic.Pointer.
//
// If a poll fails, Watch yields its error with the last snapshot, without changes, and polls
// again after a backoff of up to five minutes (or Interval, if that is longer), or after a
// Retry-After of up to an hour. Only an error that matches ErrInvalidArgument ends the loop.
// If a list is empty and the one before was not, it is requested once more before the races
// are reported as closed.
//
// A race that can no longer be read keeps its last state. Its error is yielded once, after
// the snapshot, or passed to the handler of [WithSkipHandler]. While the list has an entry
// without a readable id, no race is reported as closed; an entry that is null does not have
// this effect.
//
// Two races are the same if both their id and their start time are equal, so a race whose start
// time changes is reported as closed and opened. A change in the order of the participants is
// not reported, nor is a race that opens and closes between two polls.
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) Watch(ctx context.Context, q WatchQuery) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		op := operation{method: http.MethodGet, route: routeOpenRaces, problemOf: noRaceID, priority: pace.Poll}
		if problem := checkNotNegative("an Interval", q.Interval); problem != nil || ctx == nil {
			yield(Snapshot{}, op.invalid(cmp.Or(problem, errNilContext)))
			return
		}
		w := watch{RacesService: s, op: op, known: slices.Clone(q.Known)}
		schedule := pollSchedule{interval: cmp.Or(q.Interval, watchInterval)}
		for ctx.Err() == nil {
			skipped, err := w.poll(ctx)
			if ctx.Err() != nil || !yield(w.last, err) || errors.Is(err, ErrInvalidArgument) {
				return
			}
			w.last.Changes = nil
			for _, problem := range skipped {
				if !s.skip(ctx, problem) && !yield(w.last, problem) {
					return
				}
			}
			if !schedule.wait(ctx, err) {
				return
			}
		}
	}
}

// watch is one range over Watch.
type watch struct {
	*RacesService
	op     operation
	last   Snapshot
	known  []RaceID        // of the query, without those that were listed since
	unread map[string]bool // entries that the last poll could not read, by their ids; without an id by their JSON
}

// poll makes the next snapshot. It returns the errors of entries that are new.
func (w *watch) poll(ctx context.Context) (skipped []error, err error) {
	l, err := getEntries[Race](ctx, backendOf(w.RacesService), w.op, nil)
	if err == nil && len(l.entries) == 0 && len(w.last.Races) > 0 && sleep(ctx, emptyDelay) == nil {
		l, err = getEntries[Race](ctx, backendOf(w.RacesService), w.op, nil)
	}
	if err != nil {
		return nil, err
	}
	var races []Race
	unread, isNameless := map[string]bool{}, false
	for i := range l.entries {
		e := &l.entries[i]
		if e.err == nil {
			races = append(races, e.value)
			continue
		}
		id := idOf(&e.value)
		isNameless = isNameless || id == "" && !isNothing(e.json)
		key := cmp.Or(id, string(e.json))
		if unread[key] = true; !w.unread[key] {
			skipped = append(skipped, e.err)
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
		case last == nil && !slices.Contains(w.known, key.id):
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

// openKey identifies a race in a list of open races: several may have one id.
type openKey struct {
	id    RaceID
	start int64 // in milliseconds
}

func openKeyOf(r *Race) openKey { return openKey{r.MainRaceID, r.StartTime.UnixMilli()} }

// racesByKey returns pointers to races; of several with the same key to the first.
func racesByKey(races []Race) map[openKey]*Race {
	byKey := make(map[openKey]*Race, len(races))
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
