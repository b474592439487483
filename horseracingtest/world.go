package horseracingtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// world is what the service has. It changes when it is advanced, and by registrations and
// what a test adds.
type world struct {
	seed     uint64
	readings Readings
	begin    time.Time // when the fake was started
	due      time.Time // when something happens next

	races    map[horseracing.RaceID]*race
	finished [omega + 1]listing[*race] // by tier
	upcoming []*race                   // that are not finished, by id
	perHour  int                       // races that open by themselves
	nextRace int                       // the next of them to open
	nextID   horseracing.RaceID        // its id
	past     []pastRace                // that have not opened again yet, in their order

	cups         map[horseracing.TournamentID]*cup
	finishedCups [omega + 1]listing[*cup]
	currentCups  []*cup
	nextCup      int

	users         int
	userKeys      map[string]int                     // user by key
	horses        map[horseracing.HorseNumber]*horse // that a test added
	lastHorse     horseracing.HorseNumber
	registrations []Registration

	// Responses.
	breeding, catalogue []byte
	missions            map[horseracing.HorseNumber][]byte // that a test has set
}

// newWorld returns a world with a past before begin.
func newWorld(s *settings, begin time.Time) *world {
	w := &world{
		seed: s.seed, readings: s.readings, begin: begin, users: s.users, lastHorse: horseCount,
		races: map[horseracing.RaceID]*race{}, perHour: s.perHour, nextRace: -2 * s.perHour, past: s.past,
		cups: map[horseracing.TournamentID]*cup{}, nextCup: -24 / cupHours,
		userKeys: map[string]int{}, horses: map[horseracing.HorseNumber]*horse{}, missions: map[horseracing.HorseNumber][]byte{},
		breeding: fixture("breeding"), catalogue: fixture("missions"),
	}
	for user := range s.users {
		w.userKeys[userKey(s.seed, user)] = user
	}
	if s.past != nil {
		w.lastHorse = 1<<63 - 1
	}
	id := horseracing.RaceID(1001)
	for tier := omega; tier > 0; tier-- {
		n := s.races
		if tier != omega {
			n /= 10
		}
		w.inventPast(tier, n, s.ties, id)
		id += horseracing.RaceID(n)
	}
	w.nextID = (id/1000 + 1) * 1000
	return w
}

// advance lets everything happen that was to happen until now.
func (w *world) advance(now time.Time) {
	if now.Before(w.due) {
		return
	}
	w.due = now.Add(1000 * time.Hour)
	for ; w.perHour > 0 && w.isDue(w.opens(w.nextRace), now); w.nextRace++ {
		if r := w.scheduled(w.nextRace, w.nextID); r.StartTime.After(w.begin) && w.races[r.MainRaceID] == nil {
			w.add(r)
		}
		w.nextID++
	}
	for ; len(w.past) > 0 && w.isDue(w.past[0].opens, now); w.past = w.past[1:] {
		w.add(w.reopened(w.past[0]))
	}
	w.upcoming = slices.DeleteFunc(w.upcoming, func(r *race) bool {
		r.catchUp(now, w.seed)
		if isInResults := r.isFinished || w.readings.EarlyResults && !now.Before(r.StartTime.Time); isInResults && !r.isListed {
			r.isListed = true
			w.finished[r.tier].add(r)
		}
		w.isDue(r.start(), now)
		w.isDue(r.next(), now)
		return r.isFinished
	})
	w.advanceCups(now)
}

// isDue reports whether a time has come. If not, the world is due at that time.
func (w *world) isDue(at, now time.Time) bool {
	if at.After(now) && at.Before(w.due) {
		w.due = at
	}
	return !at.After(now)
}

// add adds a race, in place of one with the same id.
func (w *world) add(r *race) {
	w.remove(r.MainRaceID)
	w.races[r.MainRaceID] = r
	i, _ := slices.BinarySearchFunc(w.upcoming, r.MainRaceID, func(r *race, id horseracing.RaceID) int { return cmp.Compare(r.MainRaceID, id) })
	w.upcoming = slices.Insert(w.upcoming, i, r)
}

// remove removes a race, if there is one with the id.
func (w *world) remove(id horseracing.RaceID) {
	if r := w.races[id]; r != nil {
		delete(w.races, id)
		w.upcoming = slices.DeleteFunc(w.upcoming, func(other *race) bool { return other == r })
		w.finished[r.tier].remove(r)
	}
}

// listing is what a results operation shows, oldest first.
type listing[E listed[E]] []E

// listed is an entry of a listing: a race or a tournament.
type listed[E any] interface {
	comparable
	start() time.Time
	compare(E) int // by start, then by id
}

func (l *listing[E]) add(e E) {
	i, _ := slices.BinarySearchFunc(*l, e, E.compare)
	*l = slices.Insert(*l, i, e)
}

func (l *listing[E]) remove(e E) {
	if i, found := slices.BinarySearchFunc(*l, e, E.compare); found {
		*l = slices.Delete(*l, i, i+1)
	}
}

// pageSize is how many entries a results listing shows at most; see docs/service.md,
// section 8.
const pageSize = 10

// before returns the page of the newest entries that start before a time, newest first.
func (l listing[E]) before(t time.Time) listing[E] {
	end, _ := slices.BinarySearchFunc(l, t, func(e E, t time.Time) int { return cmp.Or(e.start().Compare(t), 1) })
	return l.skip(len(l) - end)
}

// skip returns the page after the newest n entries, newest first.
func (l listing[E]) skip(n int) listing[E] {
	end := max(0, len(l)-n)
	page := slices.Clone(l[max(0, end-pageSize):end])
	slices.Reverse(page)
	return page
}
