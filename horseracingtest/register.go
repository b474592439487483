package horseracingtest

import (
	"net/http"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

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
	s.catchUp()
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	return slices.Clone(s.world.registrations)
}

// register responds to POST /api/v1/races/register. The response is
// undocumented; the fake's own repeats the registration and names its cost.
func (s *Server) register(r *request) ([]byte, *refusal) {
	var horse, id int64
	var key string
	if no := parseBody(r.body,
		member{name: "horse_number", number: &horse, required: true},
		member{name: "user_key", text: &key, required: true},
		member{name: "main_race_id", number: &id, required: true},
	); no != nil {
		return nil, no
	}
	user, no := s.userOf(key)
	if no != nil {
		return nil, no
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	race, no := s.world.enter(user, horse, id, r.now)
	if no != nil {
		return nil, no
	}
	var fee horseracing.BigInt
	if err := fee.UnmarshalJSON([]byte(race.money.fee)); err != nil {
		panic(err) // fees are made up here, or come from a BigInt
	}
	s.world.registrations = append(s.world.registrations, Registration{
		Time: time.UnixMilli(r.now).UTC(), User: user,
		Horse: horseracing.HorseNumber(horse), Race: horseracing.RaceID(id), Fee: fee,
	})
	b := appendInt(nil, `{"registered":true,"main_race_id":`, id)
	b = appendInt(b, `,"horse_number":`, horse)
	b = append(append(b, `,"entry_fee":`...), race.money.fee...)
	return append(b, '}'), nil
}

// enter puts a horse into a race, if the race and the horse allow it.
func (w *world) enter(user int, horse, id, now int64) (*liveRace, *refusal) {
	race := w.live[id]
	if race == nil {
		if tier, _ := w.pastIndex(id); tier > 0 {
			return nil, refuse(http.StatusConflict, "registration_closed", "race %d is over", id)
		}
	}
	switch h := w.horse(horse); {
	case h == nil:
		return nil, w.unknownHorse(horse)
	case h.owner != user:
		return nil, refuse(http.StatusForbidden, "not_the_owner", "horse %d does not belong to the user of this user_key", horse)
	case race == nil:
		return nil, refuse(http.StatusNotFound, "unknown_race", "there is no race %d", id)
	case race.isFinished:
		return nil, refuse(http.StatusConflict, "registration_closed", "race %d is over", id)
	case now >= race.deadline:
		return nil, refuse(http.StatusConflict, "registration_closed", "the registration deadline of race %d has passed: it was %s, and it is %s", id, isoMillis(race.deadline), isoMillis(now))
	case race.has(horse):
		return nil, refuse(http.StatusConflict, "already_registered", "horse %d is registered in race %d already", horse, id)
	case race.ran(horse): // in reality it was accepted
	case h.level < race.minLevel || h.level > race.maxLevel:
		return nil, refuse(http.StatusConflict, "level_out_of_range", "horse %d is of level %d, and race %d takes levels %d to %d", horse, h.level, id, race.minLevel, race.maxLevel)
	case len(race.participants) >= race.places && race.result == nil:
		return nil, refuse(http.StatusConflict, "race_full", "race %d is full: all of its %d places are taken", id, race.places)
	}
	race.participants = append(race.participants, participant{horse: horse})
	return race, nil
}
