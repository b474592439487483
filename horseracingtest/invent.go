package horseracingtest

import (
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Everything the fake makes up is drawn from a stream of its own, so that the same seed
// gives the same races whatever else happens.
const (
	forKeys uint64 = iota
	forPast
	forPastCups
	forScheduled
	forRuns
	forHorses
)

// random returns the stream of a purpose, and of one of its things.
func random(seed, purpose, n uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, (purpose<<56|n)*0x9e3779b97f4a7c15)) // neighbours must differ
}

func (w *world) random(purpose, n uint64) *rand.Rand { return random(w.seed, purpose, n) }

// between returns a number from low to high, both included.
func between(d *rand.Rand, low, high int) int { return low + d.IntN(high-low+1) }

// oneIn is true once in n draws.
func oneIn(d *rand.Rand, n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *rand.Rand, values []T) T { return values[d.IntN(len(values))] }

const minuteMillis = 60 * 1000

// The files have plausible responses of the operations that the fake does not simulate.
//
//go:embed fixtures
var fixtures embed.FS

// fixture returns the response in a file.
func fixture(name string) []byte {
	text, err := fixtures.ReadFile("fixtures/" + name + ".json")
	must(err)
	return text
}

// decoded returns the value of the response in a file.
func decoded[T any](name string) func() T {
	return sync.OnceValue(func() (value T) {
		must(json.Unmarshal(fixture(name), &value))
		return value
	})
}

// The values that others are copies of.
var (
	anyRaces    = decoded[[]horseracing.Race]("race") // one, which is open
	anyHorse    = decoded[horseracing.Horse]("horse")
	anyMissions = decoded[horseracing.HorseMissions]("horse_missions")
	anyCup      = decoded[horseracing.Tournament]("tournament")
	allMoney    = sync.OnceValue(newMoney)
)

// The values that races are made up from are the fake's own, since those of the service are
// undocumented.
var (
	raceNames   = []string{"Silver Bridle", "Northern Mile", "Clover Cup", "Founders Dash", "Harbour Stakes", "Amber Handicap", "Two Rivers", "Midnight Gallop"}
	hippodromes = []hippodrome{{"Oval", "Larkspur Downs", "Grass"}, {"Straight", "Saltmarsh Mile", "Sand"}, {"Triangle", "Three Elms Park", "Dirt"}}
	levelRanges = [][2]int{{1, 100}, {1, 100}, {1, 20}, {10, 40}, {30, 60}}
	horseFirst  = []string{"Amber", "Bold", "Copper", "Dusty", "Ember", "Fleet", "Golden", "Hazel", "Iron", "Jolly", "Keen", "Lunar"}
	horseSecond = []string{"Arrow", "Breeze", "Comet", "Dancer", "Echo", "Falcon", "Gale", "Harvest", "Island", "Jester"}
)

type hippodrome struct{ kind, name, turf string }

// money is an entry fee and what can be won with it.
type money struct {
	fee    horseracing.BigInt
	prizes []horseracing.Number
}

// newMoney returns fees of whole and half tokens, and prizes that are multiples of them.
func newMoney() (all []money) {
	units := func(tokens float64) horseracing.BigInt {
		n, err := horseracing.ParseUnits(fmt.Sprint(tokens), horseracing.TokenDecimals)
		must(err)
		return n
	}
	for _, tokens := range []float64{0.5, 1, 2.5, 5, 25, 100} {
		m := money{fee: units(tokens), prizes: make([]horseracing.Number, 3)}
		for i, times := range []float64{6, 3, 1.5} {
			must(m.prizes[i].UnmarshalText([]byte(units(times * tokens).String())))
		}
		all = append(all, m)
	}
	return all
}

// inventRace makes up a race without times and participants: that of the fixture, with
// another fee, length and so on.
func inventRace(d *rand.Rand) horseracing.Race {
	money, levels, r := pick(d, allMoney()), pick(d, levelRanges), anyRaces()[0]
	r.ObjectID, r.Status, r.Participants = "", "", nil
	r.Length, r.V2, r.NoEquipment = between(d, 2, 15), !oneIn(d, 10), oneIn(d, 3)
	where := pick(d, hippodromes)
	r.EntryFee, r.Prizes, r.MinLevel, r.MaxLevel = money.fee, money.prizes, levels[0], levels[1]
	r.Info.HippodromeType, r.Info.HippodromeName, r.Info.Turf, r.Info.Name = where.kind, where.name, where.turf, pick(d, raceNames)
	if oneIn(d, 4) {
		r.Type = horseracing.RaceTypeWorstTime
	}
	if oneIn(d, 8) {
		r.Places = 6
	}
	return r
}

// inventPast makes up the finished races of a tier, of which as many start at each instant
// as tie, and its finished tournaments.
func (w *world) inventPast(tier horseracing.TierID, races, ties int, firstID horseracing.RaceID) {
	d := w.random(forPast, uint64(tier))
	at, pace := w.begin.Add(-time.Hour), 30*minuteMillis
	for i := range races {
		if i%50 == 49 { // some days are busier than others,
			pace = pick(d, []int{1, 4, 15, 40}) * minuteMillis
		}
		if i%ties == 0 {
			at = at.Add(-time.Duration(between(d, 1, 2*pace)) * time.Millisecond)
		}
		if oneIn(d, 200) { // and on some there is none for hours; a day without any would look as if it was missed
			at = at.Add(-time.Duration(between(d, 2, 20)) * time.Hour)
		}
		r := &race{Race: inventRace(d), tier: tier, isFinished: true, isListed: true}
		r.MainRaceID, r.Tier = firstID+horseracing.RaceID(races-1-i), tierNames[tier]
		r.StartTime = horseracing.NewTimestamp(at)
		r.RegistrationDeadline = horseracing.NewTimestamp(r.StartTime.Add(-time.Duration(between(d, 1, 5)) * time.Minute))
		n := r.Places
		if oneIn(d, 4) {
			n = between(d, 2, r.Places)
		}
		r.Participants = someHorses(d, n)
		run(&r.Race, d)
		w.races[r.MainRaceID] = r
		w.finished[tier] = append(w.finished[tier], r)
	}
	slices.SortFunc(w.finished[tier], (*race).compare)
	at = w.begin.Add(-24 * time.Hour)
	for i := range (races + 39) / 40 {
		at = at.Add(-time.Duration(between(d, 1, 12)) * time.Hour)
		w.addCup(newCup(tier, at, int(tier)<<20|i))
	}
}

// someHorses returns n horses that take part.
func someHorses(d *rand.Rand, n int) []horseracing.RaceParticipant {
	// An odd stride through a number of horses that is a power of two meets no horse twice.
	first, stride := d.IntN(horseCount), 2*d.IntN(horseCount/2)+1
	participants := make([]horseracing.RaceParticipant, n)
	for i := range participants {
		participants[i].Number = horseracing.HorseNumber(1 + (first+i*stride)%horseCount)
	}
	return participants
}

// opens returns when race k of the schedule opens.
func (w *world) opens(k int) time.Time {
	return w.begin.Add(time.Duration(k) * time.Hour / time.Duration(w.perHour))
}

// scheduled makes up race k of the schedule.
func (w *world) scheduled(k int, id horseracing.RaceID) *race {
	d := w.random(forScheduled, uint64(k)&0xffff_ffff)
	r := &race{Race: inventRace(d), tier: omega}
	if oneIn(d, 5) {
		r.tier = horseracing.TierID(between(d, 1, int(omega)-1))
	}
	open := time.Duration(between(d, 20, 60)) * time.Minute
	r.MainRaceID, r.Tier, r.Participants = id, tierNames[r.tier], []horseracing.RaceParticipant{}
	r.RegistrationDeadline = horseracing.NewTimestamp(w.opens(k).Add(open))
	r.StartTime = horseracing.NewTimestamp(r.RegistrationDeadline.Add(time.Duration(between(d, 1, 5)) * time.Minute))
	r.delayResult(d)

	// Other horses join at any time until the deadline, and often leave a place free.
	others := between(d, 2, r.Places-1)
	if oneIn(d, 4) {
		others = r.Places
	}
	for len(r.joins) < others {
		horse := horseracing.HorseNumber(between(d, w.users*horsesPerUser+1, horseCount))
		level := levelOf(horse)
		isJoining := slices.ContainsFunc(r.joins, func(j join) bool { return j.horse == horse })
		if level >= r.MinLevel && level <= r.MaxLevel && !isJoining {
			r.joins = append(r.joins, join{w.opens(k).Add(time.Duration(d.Int64N(int64(open)))), horse})
		}
	}
	slices.SortFunc(r.joins, func(a, b join) int { return a.at.Compare(b.at) })
	return r
}

// newCup returns the tournament of the fixture, finished, with another start and tier.
func newCup(tier horseracing.TierID, start time.Time, n int) *cup {
	c := &cup{Tournament: anyCup()}
	move := func(t horseracing.Timestamp) horseracing.Timestamp {
		return horseracing.NewTimestamp(t.Add(start.Sub(anyCup().StartTime.Time)))
	}
	c.RegistrationOpen, c.RegistrationDeadline, c.StartTime = move(c.RegistrationOpen), move(c.RegistrationDeadline), move(c.StartTime)
	c.Stages = slices.Clone(c.Stages)
	for i := range c.Stages {
		c.Stages[i].StartTime = move(c.Stages[i].StartTime)
	}
	c.Tier, c.ID = tier, horseracing.TournamentID(objectID(start, uint64(n)&0xffff_ffff))
	return c
}

const (
	horseCount    = 4096 // horses are numbered from 1; a power of two
	horsesPerUser = 6
)

// userLevels are the levels of each user's horses, so that there is one for every range
// that races have.
var userLevels = [horsesPerUser]int{15, 35, 50, 5, 75, 100}

func userKey(seed uint64, user int) string {
	return fmt.Sprintf("user-key-%d-%016x", user, random(seed, forKeys, uint64(user+1)).Uint64())
}

// horse returns the horse with a number, or nil if there is none.
func (w *world) horse(number horseracing.HorseNumber) *horse {
	if h := w.horses[number]; h != nil {
		return h
	}
	if number < 1 || number > w.lastHorse {
		return nil
	}
	return w.inventHorse(number)
}

// inventHorse makes up the horse with a number: that of the fixture, with another name,
// level and so on.
func (w *world) inventHorse(number horseracing.HorseNumber) *horse {
	d := w.random(forHorses, uint64(number))
	h := &horse{Horse: anyHorse(), owner: -1}
	h.Number, h.Level, h.Generation = number, levelOf(number), d.IntN(10)
	h.Name = pick(d, horseFirst) + " " + pick(d, horseSecond)
	h.Gender = pick(d, []horseracing.Gender{horseracing.GenderStallion, "Mare"})
	h.Tier = pick(d, tierNames[1:])
	if cooldown := w.begin.Add(time.Duration(between(d, -20*24, 10*24)) * time.Hour); cooldown.After(w.begin) {
		h.BreedingCooldown = &cooldown
	}
	if user := int(number-1) / horsesPerUser; user < w.users {
		h.owner, h.Level = user, userLevels[int(number-1)%horsesPerUser]
	}
	h.Image = "https://horses.invalid/image/" + strconv.Itoa(int(number)) + ".png"
	h.ExternalURL = "https://horses.invalid/horse/" + strconv.Itoa(int(number))
	return h
}

// levelOf returns the level of a horse that belongs to no user.
func levelOf(number horseracing.HorseNumber) int { return 1 + int(number*37%100) }

// horsesOf returns the horses of a user, in ascending order.
func (w *world) horsesOf(user int) (numbers []horseracing.HorseNumber) {
	for i := range horsesPerUser {
		if number := horseracing.HorseNumber(user*horsesPerUser + i + 1); w.horses[number] == nil {
			numbers = append(numbers, number)
		}
	}
	for number, h := range w.horses {
		if h.owner == user {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}
