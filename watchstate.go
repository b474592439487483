package horseracing

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"
)

// watchState is the state of a watcher after a poll. It is immutable, races
// included: each poll makes a new one, so that readers need no lock.
type watchState struct {
	run        int  // the number of the run
	running    bool // false: before the first run and after each
	ready      bool // a poll of this run has succeeded
	open       []openRace
	at         time.Time // of the last successful poll
	unreadable unreadableRaces
	failure    error // of the last failed poll of this run
	failures   int   // of this run
	recovered  int   // of these, the failures before the last successful poll
	events     *watchEvent
	next       chan struct{} // closed once there is a newer state
}

// openRace is an open race as of a poll. Its version counts the changes since it
// opened, so that readers need not compare races that have not changed.
type openRace struct {
	*Race
	version int
}

// watchEvent holds the changes of a poll that every reader must get. Events are a
// linked list: each reader holds the last one it has read, and the garbage
// collector frees those that every reader has passed.
type watchEvent struct {
	closed, opened []openRace
	unreadable     []error
	next           *watchEvent
}

// unreadableRaces are the entries of a response that cannot be read.
type unreadableRaces struct {
	byID     map[string]*DecodeError
	nameless []*DecodeError // their id cannot be read either
	entries  int            // all entries of the response
}

func newWatchState() *watchState {
	return &watchState{events: &watchEvent{}, next: make(chan struct{})}
}

// superseded waits until there is a newer state. It reports whether the context
// has not ended.
func (s *watchState) superseded(ctx context.Context) bool {
	select {
	case <-s.next:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// err returns the error of the last poll, if it failed.
func (s *watchState) err() error {
	if s.failures > s.recovered {
		return s.failure
	}
	return nil
}

// start returns the state at the beginning of a run. The races of the run before
// are kept for snapshots until a poll has succeeded.
func (s *watchState) start() *watchState {
	next := newWatchState()
	next.run, next.running, next.open, next.at = s.run+1, true, s.open, s.at
	return next
}

// stop returns the state after a run.
func (s *watchState) stop() *watchState {
	next := s.copy()
	next.running = false
	return next
}

func (s *watchState) copy() *watchState {
	next := *s
	next.next = make(chan struct{})
	return &next
}

// failed returns the state after a failed poll.
func (s *watchState) failed(err error) *watchState {
	next := s.copy()
	next.failure = err
	next.failures++
	return next
}

// polled returns the state after a successful poll.
func (s *watchState) polled(entries []listEntry[Race], at time.Time) *watchState {
	next := s.copy()
	next.ready, next.at, next.recovered = true, at, s.failures
	next.open, next.unreadable = readOpen(entries)

	gone := map[RaceID]openRace{}
	var was unreadableRaces
	if s.ready {
		was = s.unreadable
		for _, race := range s.open {
			gone[race.MainRaceID] = race
		}
	}
	event := &watchEvent{unreadable: next.unreadable.notIn(was)}
	for i, race := range next.open {
		previous, wasOpen := gone[race.MainRaceID]
		delete(gone, race.MainRaceID)
		switch {
		case !wasOpen:
			event.opened = append(event.opened, race)
		case hasChanged(previous.Race, race.Race):
			next.open[i].version = previous.version + 1
		default:
			next.open[i].version = previous.version
		}
	}
	for _, race := range s.open {
		if kept, ok := gone[race.MainRaceID]; ok && next.unreadable.mayHide(race.MainRaceID) {
			next.open = append(next.open, kept)
			delete(gone, race.MainRaceID)
		}
	}
	event.closed = slices.SortedFunc(maps.Values(gone), func(a, b openRace) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
	})
	if len(event.closed)+len(event.opened)+len(event.unreadable) > 0 {
		s.events.next = event // readers look at it once they have the new state
		next.events = event
	}
	return next
}

// readOpen returns the races of a response, each once, and the unreadable entries.
func readOpen(entries []listEntry[Race]) (open []openRace, unreadable unreadableRaces) {
	unreadable = unreadableRaces{byID: map[string]*DecodeError{}, entries: len(entries)}
	listed := map[RaceID]bool{0: true}
	for i, e := range entries {
		switch {
		case e.err != nil && e.err.ID != "":
			unreadable.byID[e.err.ID] = e.err
		case e.err != nil:
			unreadable.nameless = append(unreadable.nameless, e.err)
		case e.value.MainRaceID == 0:
			unreadable.nameless = append(unreadable.nameless, openRaces.entryWithoutID(i))
		case !listed[e.value.MainRaceID]:
			listed[e.value.MainRaceID] = true
			open = append(open, openRace{Race: e.value})
		}
	}
	for _, race := range open {
		delete(unreadable.byID, idOf(race.Race)) // listed twice, and readable once
	}
	return open, unreadable
}

func (op operation) entryWithoutID(index int) *DecodeError {
	return op.undecodable("/"+strconv.Itoa(index)+"/main_race_id", 0, errors.New("a race without an id cannot be distinguished from others"))
}

// mayHide reports whether an entry that cannot be read may be that race.
func (u unreadableRaces) mayHide(id RaceID) bool {
	return len(u.nameless) > 0 || u.byID[idOf(&Race{MainRaceID: id})] != nil
}

// notIn returns the errors of the entries that were not unreadable before. Of
// those without an id only the count is compared.
func (u unreadableRaces) notIn(before unreadableRaces) (errs []error) {
	for _, id := range slices.Sorted(maps.Keys(u.byID)) {
		if before.byID[id] == nil {
			errs = append(errs, u.byID[id])
		}
	}
	for _, err := range u.nameless[min(len(before.nameless), len(u.nameless)):] {
		errs = append(errs, err)
	}
	return errs
}

// joined returns the errors as one; nil: there are none.
func (u unreadableRaces) joined() error {
	all := &unreadableEntries{operation: openRaces.String(), total: u.entries}
	for _, err := range u.notIn(unreadableRaces{}) {
		all.add(err.(*DecodeError)) //nolint:errorlint // notIn returns nothing else
	}
	if all.count == 0 {
		return nil
	}
	return all
}

// hasChanged reports whether b is an update for a reader that has a.
func hasChanged(a, b *Race) bool {
	return a.Status != b.Status || !a.RegistrationDeadline.Equal(b.RegistrationDeadline.Time) ||
		!a.StartTime.Equal(b.StartTime.Time) || !slices.Equal(inOrder(a.Participants), inOrder(b.Participants))
}

func inOrder(participants []RaceParticipant) []RaceParticipant {
	return slices.SortedFunc(slices.Values(participants), func(a, b RaceParticipant) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Total, b.Total))
	})
}

// clone returns a deep copy, so that readers can modify their races.
func (r *Race) clone() *Race {
	c := *r
	c.Prizes = slices.Clone(r.Prizes)
	c.Participants = slices.Clone(r.Participants)
	c.FinalOrder = slices.Clone(r.FinalOrder)
	c.Winners = slices.Clone(r.Winners)
	return &c
}

// watchReader is one reader of a run.
type watchReader struct {
	run      int
	begun    bool                // it has the races that were open at first
	failures int                 // as of the last state that was delivered
	last     *watchEvent         // the last one that it has read
	seen     map[RaceID]openRace // the open races, as this reader got them last
}

func newWatchReader(s *watchState) *watchReader {
	return &watchReader{run: s.run, failures: s.recovered, last: s.events, seen: map[RaceID]openRace{}}
}

// deliver yields what is new in a state for the reader. It reports whether the
// loop goes on.
func (r *watchReader) deliver(ctx context.Context, s *watchState, yield func(RaceChange, error) bool) bool {
	emit := func(c RaceChange, err error) bool { return ctx.Err() == nil && yield(c, err) }
	if s.run != r.run { // a newer run: only the events of this one are left
		return r.catchUp(nil, emit)
	}
	failed := s.failures > r.failures
	r.failures = s.failures
	if failed && s.err() == nil && !emit(RaceChange{}, s.failure) {
		return false
	}
	if s.ready && (!r.catchUp(s, emit) || !r.update(s, emit)) {
		return false
	}
	return !failed || s.err() == nil || emit(RaceChange{}, s.failure)
}

// catchUp yields what opened, closed or became unreadable up to a state; nil:
// to the end of the run.
func (r *watchReader) catchUp(s *watchState, emit func(RaceChange, error) bool) bool {
	if !r.begun && s != nil {
		r.begun, r.last = true, s.events
		return r.handle(&watchEvent{opened: s.open, unreadable: s.unreadable.notIn(unreadableRaces{})}, emit)
	}
	for (s == nil || r.last != s.events) && r.last.next != nil {
		r.last = r.last.next
		if !r.handle(r.last, emit) {
			return false
		}
	}
	return true
}

func (r *watchReader) handle(e *watchEvent, emit func(RaceChange, error) bool) bool {
	for _, race := range e.closed {
		previous := r.seen[race.MainRaceID]
		delete(r.seen, race.MainRaceID)
		if !emit(RaceChange{Kind: RaceClosed, Race: race.clone(), Previous: previous.clone()}, nil) {
			return false
		}
	}
	for _, race := range e.opened {
		r.seen[race.MainRaceID] = race
		if !emit(RaceChange{Kind: RaceOpened, Race: race.clone()}, nil) {
			return false
		}
	}
	for _, err := range e.unreadable {
		if !emit(RaceChange{}, err) {
			return false
		}
	}
	return true
}

// update yields the races that have changed since the reader got them.
func (r *watchReader) update(s *watchState, emit func(RaceChange, error) bool) bool {
	for _, race := range s.open {
		previous := r.seen[race.MainRaceID]
		if race.version == previous.version || !hasChanged(previous.Race, race.Race) {
			continue
		}
		r.seen[race.MainRaceID] = race
		if !emit(RaceChange{Kind: RaceUpdated, Race: race.clone(), Previous: previous.clone()}, nil) {
			return false
		}
	}
	return true
}
