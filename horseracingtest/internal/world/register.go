package world

import (
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Registrations returns the accepted registrations, in the order in which they
// arrived.
func (w *World) Registrations() []Registration {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.Clone(w.registrations)
}

// register registers a horse. The response is undocumented; the fake's own repeats the
// registration and names its cost.
func (w *World) register(body Body, now int64) ([]byte, *Refusal) {
	user, no := w.userOf(body.UserKey)
	if no != nil {
		return nil, no
	}
	race, no := w.enter(user, body.Horse, body.Race, now)
	if no != nil {
		return nil, no
	}
	var fee horseracing.BigInt
	if err := fee.UnmarshalJSON([]byte(race.money.fee)); err != nil {
		panic(err) // fees are made up here, or come from a BigInt
	}
	w.registrations = append(w.registrations, Registration{
		Time: time.UnixMilli(now).UTC(), User: user,
		Horse: horseracing.HorseNumber(body.Horse), Race: horseracing.RaceID(body.Race), Fee: fee,
	})
	b := appendInt(nil, `{"registered":true,"main_race_id":`, body.Race)
	b = appendInt(b, `,"horse_number":`, body.Horse)
	return append(append(append(b, `,"entry_fee":`...), fee.String()...), '}'), nil
}

// IsRegistered reports whether a horse was registered in a race with a user's key.
func (w *World) IsRegistered(horse, race int64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.ContainsFunc(w.registrations, func(r Registration) bool { return int64(r.Horse) == horse && int64(r.Race) == race })
}

// enter puts a horse into a race, if the race and the horse allow it.
func (w *World) enter(user int, horse, id, now int64) (*liveRace, *Refusal) {
	race := w.live[id]
	if race == nil {
		if w.pastTier(id) > 0 {
			return nil, Refuse(conflict, "registration_closed", "race %d is over", id)
		}
	}
	switch h := w.horse(horse); {
	case h == nil:
		return nil, w.unknownHorse(horse)
	case h.owner != user:
		return nil, Refuse(forbidden, "not_the_owner", "horse %d does not belong to the user of this user_key", horse)
	case race == nil:
		return nil, Refuse(notFound, "unknown_race", "there is no race %d", id)
	case race.isFinished:
		return nil, Refuse(conflict, "registration_closed", "race %d is over", id)
	case now >= race.deadline:
		return nil, Refuse(conflict, "registration_closed", "the registration deadline of race %d has passed: it was %s, and it is %s", id, isoMillis(race.deadline), isoMillis(now))
	case race.has(horse):
		return nil, Refuse(conflict, "already_registered", "horse %d is registered in race %d already", horse, id)
	case race.ran(horse): // in reality it was accepted
	case h.level < race.minLevel || h.level > race.maxLevel:
		return nil, Refuse(conflict, "level_out_of_range", "horse %d is of level %d, and race %d takes levels %d to %d", horse, h.level, id, race.minLevel, race.maxLevel)
	case len(race.participants) >= race.places && race.result == nil:
		return nil, Refuse(conflict, "race_full", "race %d is full: all of its %d places are taken", id, race.places)
	}
	race.participants = append(race.participants, participant{horse: horse})
	return race, nil
}
