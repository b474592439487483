package world

import (
	"cmp"
	"math"
	"slices"
)

const minuteMillis = 60 * 1000

// schedule is what opens when after the start, and what has opened before it
// and has not started yet.
type schedule struct {
	seed    uint64
	begin   int64
	perHour int
	firstID int64 // of the first race
	foreign int64 // the first horse that belongs to none of the users: only these come into races on their own
}

// firstRace is the number of the first race: the ones below zero opened within
// the longest time a race is open before the start.
func (s *schedule) firstRace() int { return -2 * s.perHour }

func (s *schedule) opens(k int) int64 {
	return s.begin + int64(k)*hourMillis/int64(s.perHour)
}

// race makes up race k of the schedule.
func (s *schedule) race(k int) *liveRace {
	d := drawFrom(s.seed, forLiveRaces, uint64(k))
	r := &liveRace{key: d.next()}
	r.describe(&d)
	r.id = s.firstID + int64(k-s.firstRace())
	r.tier = omega
	if d.oneIn(5) {
		r.tier = d.between(1, omega-1)
	}
	opens := s.opens(k)
	r.deadline = opens + int64(d.between(20, 60))*minuteMillis
	r.start = r.deadline + int64(d.between(1, 5))*minuteMillis
	r.runs()

	// Other horses come in at any time until the deadline, and leave a place
	// free more often than not.
	others := d.between(2, r.places-1)
	if d.oneIn(4) {
		others = r.places
	}
	for len(r.joins) < others {
		horse := int64(d.between(int(s.foreign), horseCount))
		if level := foreignLevel(s.seed, horse); level < r.minLevel || level > r.maxLevel || r.joining(horse) {
			continue
		}
		r.joins = append(r.joins, join{opens + d.below64(r.deadline-opens), horse})
	}
	slices.SortFunc(r.joins, func(a, b join) int { return cmp.Compare(a.at, b.at) })
	return r
}

// liveRace is a race that is, or was, open while the fake runs: first horses
// come in, then it runs, then its result is published, some minutes late at times.
type liveRace struct {
	race
	key        uint64
	joins      []join // still to come, earliest first
	appears    int64  // when the result is published
	isFinished bool   // the result is published
	isListed   bool   // it is in the results
	result     *race  // of a recorded race: what it will be
}

type join struct{ at, horse int64 }

// published is what catchUp returns for a race that moves no more.
const published = math.MaxInt64

// runs decides when the result will be there: after one to fifteen minutes,
// and in one case of four up to twenty minutes late, after races that started
// later.
func (r *liveRace) runs() {
	d := drawFrom(r.key, forRuns, 0)
	r.appears = r.start + int64(d.between(minuteMillis, 15*minuteMillis))
	if d.oneIn(4) {
		r.appears += int64(d.between(2*minuteMillis, 20*minuteMillis))
	}
}

// catchUp makes happen what was to happen until now, and returns when the next
// thing happens.
func (r *liveRace) catchUp(now int64) int64 {
	if r.isFinished {
		return published
	}
	for len(r.joins) > 0 && r.joins[0].at <= now {
		if horse := r.joins[0].horse; (len(r.participants) < r.places || r.result != nil) && !r.has(horse) {
			r.participants = append(r.participants, participant{horse: horse})
		}
		r.joins = r.joins[1:]
	}
	switch {
	case now < r.start && len(r.joins) > 0:
		return min(r.joins[0].at, r.start)
	case now < r.start:
		return r.start
	case now < r.appears:
		return r.appears
	}
	if r.result != nil {
		r.reveal()
	} else {
		d := drawFrom(r.key, forRuns, 1)
		r.run(&d)
		r.status = "" // if a test gave it one, that was of the open race
	}
	r.isFinished = true
	return published
}

// isOpen reports whether the race is listed as open: it is until it starts,
// also when its registration deadline has passed.
func (r *liveRace) isOpen(now int64) bool { return !r.isFinished && now < r.start }

func (r *race) has(horse int64) bool {
	return slices.ContainsFunc(r.participants, func(p participant) bool { return p.horse == horse })
}

func (r *liveRace) joining(horse int64) bool {
	return slices.ContainsFunc(r.joins, func(j join) bool { return j.horse == horse })
}

// reveal gives a race its recorded result. Registered horses that did not really
// run follow those that did.
func (r *liveRace) reveal() {
	registered := r.participants
	r.race = *r.result
	for _, p := range registered {
		if !r.has(p.horse) {
			r.participants = append(r.participants, participant{horse: p.horse})
		}
	}
}

// ran reports whether a horse ran in a race that is played.
func (r *liveRace) ran(horse int64) bool { return r.result != nil && r.result.has(horse) }
