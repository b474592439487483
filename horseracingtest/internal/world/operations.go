package world

import (
	"fmt"
	"math"
)

// Do is the one door for requests: it does what an operation does at that time, and
// returns the response. It does not advance the world.
func (w *World) Do(operation Operation, argument Argument, body Body, now int64) (status int, json []byte) {
	if operation == Register {
		w.mu.Lock()
		defer w.mu.Unlock()
	} else {
		w.mu.RLock()
		defer w.mu.RUnlock()
	}
	json, no := w.respond(operation, argument, body, now)
	if no != nil {
		return no.Status, no.JSON()
	}
	return ok, json
}

func (w *World) respond(operation Operation, argument Argument, body Body, now int64) ([]byte, *Refusal) {
	switch operation {
	case UserHorses:
		return w.respondUserHorses(body.UserKey, now)
	case GetHorse, HorseMissions:
		h := w.horse(argument.Number)
		if h == nil {
			return nil, w.unknownHorse(argument.Number)
		}
		if operation == GetHorse {
			return appendHorse(nil, h, now), nil
		}
		return w.respondMissions(h.number), nil
	case OpenBreeding:
		return w.respondBreeding(now), nil
	case Register:
		return w.register(body, now)
	case OpenRaces:
		return w.respondOpenRaces(now), nil
	case GetRace:
		return w.respondRace(argument.Number), nil
	case OpenTournaments:
		return appendTournaments(w.current, now), nil
	case GetTournament:
		if t := w.tournaments[argument.Text]; t != nil {
			return appendTournament(nil, t, now), nil
		}
		return nil, Refuse(notFound, "unknown_tournament", "there is no tournament %.100q", argument.Text)
	case Catalogue:
		return w.respondCatalogue(), nil
	}
	if !knownTier(body.Tier) {
		return nil, Refuse(badRequest, "unknown_tier", "there is no tier %d; this fake has 1 to %d", body.Tier, len(tierNames)-1)
	}
	tier := int(body.Tier)
	switch {
	case operation == TournamentResults:
		var page []*tournament
		for _, e := range w.cups[tier].before(body.StartTimeFrom, pageSize) {
			page = append(page, e.value)
		}
		return appendTournaments(page, now), nil
	case operation == RaceResults:
		return w.appendRaces(tier, w.races[tier].before(body.StartTimeFrom, pageSize), asFinished), nil
	case operation != RaceResultsV1:
		panic(fmt.Sprintf("the fake does nothing for operation %d", operation))
	case body.Offset < 0:
		return nil, Refuse(badRequest, "out_of_range", "offset must not be negative, got %d", body.Offset)
	}
	return w.appendRaces(tier, w.races[tier].skip(int(min(body.Offset, math.MaxInt32))), asFinishedV1), nil
}

func (w *World) respondUserHorses(key string, now int64) ([]byte, *Refusal) {
	user, no := w.userOf(key)
	if no != nil {
		return nil, no
	}
	horses := w.horsesOf(user)
	return appendList(nil, len(horses), func(b []byte, i int) []byte {
		return appendHorse(b, w.horse(horses[i]), now)
	}), nil
}

func (w *World) respondMissions(horse int64) []byte {
	if given := w.missions[horse]; given != nil {
		return given
	}
	return appendMissions(nil, w.seed, horse)
}

func (w *World) respondBreeding(now int64) []byte {
	if w.breeding != nil {
		return w.breeding
	}
	return w.appendBreeding(nil, now)
}

func (w *World) respondCatalogue() []byte {
	if w.catalogue != nil {
		return w.catalogue
	}
	return appendCatalogue(nil)
}

// appendRaces writes a page of results.
func (w *World) appendRaces(tier int, page listing[int64, liveRace], form raceForm) []byte {
	var past race
	b := make([]byte, 0, 1024*len(page)+2)
	return appendList(b, len(page), func(b []byte, i int) []byte {
		if live := page[i].value; live != nil {
			return appendRace(b, &live.race, form)
		}
		w.pastRace(&past, tier, page[i].id)
		return appendRace(b, &past, form)
	})
}

func (w *World) respondOpenRaces(now int64) []byte {
	var open []*liveRace
	for _, race := range w.upcoming {
		if race.isOpen(now) {
			open = append(open, race)
		}
	}
	return appendList(nil, len(open), func(b []byte, i int) []byte { return appendRace(b, &open[i].race, asOpen) })
}

// respondRace writes an array of one race, or of none.
func (w *World) respondRace(id int64) []byte {
	b := []byte{'['}
	if live := w.live[id]; live != nil && live.isFinished {
		b = appendRace(b, &live.race, asFinishedByID)
	} else if live != nil {
		b = appendRace(b, &live.race, asOpen)
	} else if tier := w.pastTier(id); tier > 0 {
		var past race
		w.pastRace(&past, tier, id)
		b = appendRace(b, &past, asFinishedByID)
	}
	return append(b, ']')
}

func appendTournaments(list []*tournament, now int64) []byte {
	return appendList(nil, len(list), func(b []byte, i int) []byte { return appendTournament(b, list[i], now) })
}
