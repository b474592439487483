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
	cups          [omega + 1]tournamentListing
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
	listing[int64, *liveRace]
	firstID int64
}

type tournamentListing struct{ listing[string, *tournament] }

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
	EarlyResults   bool // a race is in the results from its start on
	LatestByFinish bool // a page has the races that finished last
	FeesRise       bool // a registration costs twice the fee that is shown
}

// Reset makes up the past before the instant begin: as many races as are set in the
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
		races.firstID = id
		races.past = newTimeline(own.next(), n, begin-hourMillis)
		races.id = func(index int) int64 { return races.firstID + int64(index) }
		id += int64(n)

		cups := &w.cups[tier]
		cups.past = newTimeline(own.next(), (n+39)/40, begin-dayMillis)
		cups.id = func(index int) string { return w.pastTournament(tier, index).id }
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
		w.races[r.tier].remove(order[int64]{r.start, id})
	}
	if tier, index := w.pastIndex(id); tier > 0 {
		w.races[tier].removePast(index)
	}
}

// pastIndex finds the race of the past that has that id; tier 0: there is none.
func (w *World) pastIndex(id int64) (tier, index int) {
	for tier := range w.races {
		races := &w.races[tier]
		if i := id - races.firstID; i >= 0 && i < int64(races.past.n) && races.has(int(i)) {
			return tier, int(i)
		}
	}
	return 0, 0
}

// pastRace makes up a race of the past.
func (w *World) pastRace(r *race, tier, index int) {
	races := &w.races[tier]
	d := drawFrom(races.past.seed, forRaces, uint64(index))
	r.tier = tier
	r.id = races.firstID + int64(index)
	r.start = races.past.start(index)
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

// pastTournament makes up a tournament of the past.
func (w *World) pastTournament(tier, index int) *tournament {
	past := &w.cups[tier].past
	start := past.start(index)
	return &tournament{
		key:   uint64(drawFrom(past.seed, forTournaments, uint64(index))),
		id:    objectID(start, uint64(tier)<<40|uint64(index)),
		tier:  tier,
		start: start,
	}
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
