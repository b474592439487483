package world

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing"
)

// World is the service. It moves only when it is advanced. Its methods are safe for
// concurrent use.
type World struct {
	mu  sync.RWMutex
	due atomic.Int64 // when the next thing happens
	state
}

// state is what there was before the start, which is computed, and what has happened
// since, which is stored.
type state struct {
	seed          uint64
	readings      Readings
	begin         int64 // when the fake was started
	races         [omega + 1]raceListing
	cups          [omega + 1]listing[string, tournament]
	schedule      schedule
	live          map[int64]*liveRace
	upcoming      []*liveRace // not yet published, by id
	nextRace      int         // the next one of the schedule to open
	tournaments   map[string]*tournament
	current       []*tournament  // open or running
	nextCup       int            // the next tournament to open
	historic      []Recorded     // races that have not opened yet
	userKeys      map[string]int // user by key
	lastHorse     int64
	registrations []Registration
	horses        map[int64]*horse // those that a test added
	breeding      []byte           // JSON that a test set; made up if nil
	missions      map[int64][]byte // by horse
	catalogue     []byte
}

// raceListing is the results listing of one tier. Its past races have
// consecutive ids.
type raceListing struct {
	listing[int64, liveRace]
	seed    uint64
	firstID int64
	starts  []int64 // of the past races
}

// Settings are what a world is made up from.
type Settings struct {
	Seed     uint64
	Races    int        // in the past of the default tier
	PerHour  int        // races that open by themselves
	Users    int        // who have a key
	Recorded []Recorded // races to play, from ReadRecorded
	Readings Readings
}

// Readings are ways in which the service may read its own document, as far as they are
// about what it has, and not about how it is written.
type Readings struct {
	EarlyResults bool // a race is in the results from its start on
}

// Reset generates the past before the instant begin: as many races as are set in the
// default tier, a tenth of them in each of the others, and a tournament for every
// forty races.
func (w *World) Reset(set Settings, begin int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seed := set.Seed
	w.state = state{
		seed:        seed,
		readings:    set.Readings,
		begin:       begin,
		schedule:    schedule{seed: seed, begin: begin, perHour: set.PerHour, foreign: int64(set.Users*horsesPerUser) + 1},
		userKeys:    make(map[string]int, set.Users),
		live:        make(map[int64]*liveRace),
		tournaments: make(map[string]*tournament),
		horses:      make(map[int64]*horse),
		missions:    make(map[int64][]byte),
	}
	for user := range set.Users {
		w.userKeys[userKey(w.seed, user)] = user
	}
	id := int64(1001)
	for tier := omega; tier > 0; tier-- {
		n := set.Races
		if tier != omega {
			n = set.Races / 10
		}
		own := drawFrom(seed, forRaces, uint64(tier))
		races := &w.races[tier]
		races.firstID, races.seed = id, own.next()
		races.starts = timeline(races.seed, n, begin-hourMillis)
		races.listing = make(listing[int64, liveRace], n, n+n/8)
		for i, start := range races.starts {
			races.listing[i] = listed[int64, liveRace]{start: start, id: id + int64(i)}
		}
		id += int64(n)

		cups := own.next()
		for i, start := range timeline(cups, (n+39)/40, begin-dayMillis) {
			t := &tournament{key: uint64(drawFrom(cups, forTournaments, uint64(i))), id: objectID(start, uint64(tier)<<40|uint64(i)), tier: tier, start: start}
			w.tournaments[t.id] = t
			w.cups[tier].add(start, t.id, t)
		}
	}
	w.schedule.firstID = (id/1000 + 1) * 1000
	w.nextRace = w.schedule.firstRace()
	w.historic, w.lastHorse = set.Recorded, horseCount
	if w.historic != nil {
		w.lastHorse = math.MaxInt64
	}
	w.nextCup = w.schedule.firstCup()
	w.due.Store(math.MinInt64)
}

// addLive takes a race in, in the place of one with the same id.
func (w *World) addLive(r *liveRace) {
	w.removeRace(r.id)
	w.live[r.id] = r
	i, _ := slices.BinarySearchFunc(w.upcoming, r.id, func(r *liveRace, id int64) int { return cmp.Compare(r.id, id) })
	w.upcoming = slices.Insert(w.upcoming, i, r)
	w.due.Store(math.MinInt64)
}

// removeRace takes a race out, wherever it is.
func (w *World) removeRace(id int64) {
	if r := w.live[id]; r != nil {
		delete(w.live, id)
		w.upcoming = slices.DeleteFunc(w.upcoming, func(other *liveRace) bool { return other == r })
		w.races[r.tier].remove(r.start, id)
	}
	if tier := w.pastTier(id); tier > 0 {
		w.races[tier].remove(w.races[tier].startOf(id), id)
	}
}

// pastTier returns the tier of the race of the past that has that id; 0: there is none.
func (w *World) pastTier(id int64) int {
	for tier := range w.races {
		races := &w.races[tier]
		if i := id - races.firstID; i >= 0 && i < int64(len(races.starts)) && races.has(races.starts[i], id) {
			return tier
		}
	}
	return 0
}

// startOf returns when a race of the past started.
func (l *raceListing) startOf(id int64) int64 { return l.starts[id-l.firstID] }

// pastRace makes up a race of the past.
func (w *World) pastRace(r *race, tier int, id int64) {
	races := &w.races[tier]
	d := drawFrom(races.seed, forRaces, uint64(id-races.firstID))
	r.tier = tier
	r.id = id
	r.start = races.startOf(id)
	r.deadline = r.start - int64(d.between(1, 5))*minuteMillis
	r.describe(&d)
	n := r.places
	if d.oneIn(4) {
		n = d.between(2, r.places)
	}
	// An odd stride through a number of horses that is a power of two meets no
	// horse twice.
	horse, stride := d.below(horseCount), 2*d.below(horseCount/2)+1
	r.participants = r.participants[:0]
	for i := range n {
		r.participants = append(r.participants, participant{horse: int64(1 + (horse+i*stride)%horseCount)})
	}
	r.run(&d)
}

// Recorded is a finished race that is played as a live one.
type Recorded struct {
	opens int64
	race  *horseracing.Race
}

// Registration is a registration that was accepted.
type Registration struct {
	Time  time.Time
	User  int
	Horse horseracing.HorseNumber
	Race  horseracing.RaceID
	Fee   horseracing.BigInt
}
