package horseracingtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// race is a race in its life: it opens, horses join until its deadline, it runs at its
// start, and its result is published some minutes later.
type race struct {
	horseracing.Race
	tier       horseracing.TierID
	joins      []join            // still to come, earliest first
	published  time.Time         // when the result is published
	result     *horseracing.Race // that it will have, if it is known
	isFinished bool              // the result is published
	isListed   bool              // it is in the results
	text       [forms][]byte     // as it is shown, until something changes
}

// join is a horse that will join a race by itself.
type join struct {
	at    time.Time
	horse horseracing.HorseNumber
}

func (r *race) start() time.Time { return r.StartTime.Time }

func (r *race) compare(other *race) int {
	return cmp.Or(r.StartTime.Compare(other.StartTime.Time), cmp.Compare(r.MainRaceID, other.MainRaceID))
}

// delayResult decides when the result is published: after one to fifteen minutes, and in
// one case of four up to twenty minutes later, after races that started later.
func (r *race) delayResult(d *rand.Rand) {
	delay := between(d, minuteMillis, 15*minuteMillis)
	if oneIn(d, 4) {
		delay += between(d, 2*minuteMillis, 20*minuteMillis)
	}
	r.published = r.start().Add(time.Duration(delay) * time.Millisecond)
}

// catchUp lets everything happen to the race that was to happen until now.
func (r *race) catchUp(now time.Time, seed uint64) {
	for ; len(r.joins) > 0 && !r.joins[0].at.After(now); r.joins = r.joins[1:] {
		if horse := r.joins[0].horse; (len(r.Participants) < r.Places || r.result != nil) && !has(&r.Race, horse) {
			r.enter(horse)
		}
	}
	if r.isFinished || now.Before(r.published) {
		return
	}
	if r.result != nil {
		r.reveal()
	} else {
		run(&r.Race, random(seed, forRuns, uint64(r.MainRaceID)))
		r.Status = "" // a status that a test gave it was that of the open race
	}
	r.isFinished, r.text = true, [forms][]byte{}
}

// next returns when something happens to the race next.
func (r *race) next() time.Time {
	if len(r.joins) > 0 {
		return r.joins[0].at
	}
	return r.published
}

// enter adds a horse to the participants.
func (r *race) enter(horse horseracing.HorseNumber) {
	r.Participants = append(r.Participants, horseracing.RaceParticipant{Number: horse})
	r.text = [forms][]byte{}
}

// reveal gives the race its known result. Horses that joined and are not in the result
// follow those that are.
func (r *race) reveal() {
	joined := r.Participants
	r.Race = *r.result
	r.Participants = slices.Clone(r.Participants)
	for _, p := range joined {
		if !has(&r.Race, p.Number) {
			r.Participants = append(r.Participants, horseracing.RaceParticipant{Number: p.Number})
		}
	}
}

// run gives every participant a lane and a time, and finds out who won.
func run(r *horseracing.Race, d *rand.Rand) {
	r.FinalOrder = make([]int, len(r.Participants))
	for i, lane := range d.Perm(len(r.Participants)) {
		millis := max(1, r.Length)*between(d, 6800, 7900) + between(d, 1, 9) // seven seconds a furlong
		r.Participants[i].Total, r.Participants[i].Lane = float64(millis)/1000, lane+1
		r.FinalOrder[i] = i
	}
	slices.SortStableFunc(r.FinalOrder, func(a, b int) int {
		if r.Type == horseracing.RaceTypeWorstTime {
			a, b = b, a
		}
		return cmp.Compare(r.Participants[a].Total, r.Participants[b].Total)
	})
	winners := min(len(r.FinalOrder), 3)
	r.Winners = r.FinalOrder[:winners:winners]
}

func has(r *horseracing.Race, horse horseracing.HorseNumber) bool {
	return slices.ContainsFunc(r.Participants, func(p horseracing.RaceParticipant) bool { return p.Number == horse })
}

// Registration is a registration that the fake accepted.
type Registration struct {
	Time  time.Time // by the fake's clock
	User  int       // the user whose key was sent
	Horse horseracing.HorseNumber
	Race  horseracing.RaceID
	Fee   horseracing.BigInt // the entry fee of the race
}

// Registrations returns the accepted registrations, in the order in which they
// arrived.
func (s *Server) Registrations() []Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	return slices.Clone(s.world.registrations)
}

// register registers a horse. The response is undocumented; the fake's own repeats the
// registration and names its cost.
func (w *world) register(b entryBody, now time.Time) ([]byte, *refusal) {
	if b.Horse == 0 || b.Race == 0 || b.UserKey == "" {
		return nil, refuse(http.StatusBadRequest, "missing_member", "the request body needs horse_number, user_key and main_race_id")
	}
	user, no := w.userOf(b.UserKey)
	if no != nil {
		return nil, no
	}
	r, h := w.races[b.Race], w.horse(b.Horse)
	if no := w.objection(r, h, user, b, now); no != nil {
		return nil, no
	}
	r.enter(b.Horse)
	w.registrations = append(w.registrations, Registration{now, user, b.Horse, b.Race, r.EntryFee})
	return fmt.Appendf(nil, `{"registered":true,"main_race_id":%d,"horse_number":%d,"entry_fee":%s}`, b.Race, b.Horse, r.EntryFee), nil
}

// objection returns why a race, or nil, does not take a horse, or nil, of a user.
func (w *world) objection(r *race, h *horse, user int, b entryBody, now time.Time) *refusal {
	closed := func(format string, args ...any) *refusal {
		return refuse(http.StatusConflict, "registration_closed", format, args...)
	}
	switch {
	case h == nil:
		return w.unknownHorse(b.Horse)
	case h.owner != user:
		return refuse(http.StatusForbidden, "not_the_owner", "horse %d does not belong to the user of this user_key", b.Horse)
	case r == nil:
		return refuse(http.StatusNotFound, "unknown_race", "there is no race %d", b.Race)
	case r.isFinished:
		return closed("race %d is over", b.Race)
	case !now.Before(r.RegistrationDeadline.Time):
		return closed("the registration deadline of race %d has passed: it was %v, and it is %v", b.Race, r.RegistrationDeadline, now)
	case has(&r.Race, b.Horse):
		return refuse(http.StatusConflict, "already_registered", "horse %d is registered in race %d already", b.Horse, b.Race)
	case r.result != nil && has(r.result, b.Horse): // it was accepted in reality
		return nil
	case h.Level < r.MinLevel || h.Level > r.MaxLevel:
		return refuse(http.StatusConflict, "level_out_of_range", "horse %d is of level %d, and race %d takes levels %d to %d", b.Horse, h.Level, b.Race, r.MinLevel, r.MaxLevel)
	case len(r.Participants) >= r.Places && r.result == nil:
		return refuse(http.StatusConflict, "race_full", "race %d is full: all of its %d places are taken", b.Race, r.Places)
	}
	return nil
}

// isRegistered reports whether a horse was registered in a race with a user's key.
func (w *world) isRegistered(horse horseracing.HorseNumber, id horseracing.RaceID) bool {
	return slices.ContainsFunc(w.registrations, func(r Registration) bool { return r.Horse == horse && r.Race == id })
}
