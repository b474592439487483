package horseracingtest

import (
	"math"
	"net/http"
)

// horse responds to GET /api/v1/horses/{horse_number}.
func (s *Server) horse(r *request) ([]byte, *refusal) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	h, no := s.horseOf(r)
	if no != nil {
		return nil, no
	}
	return appendHorse(nil, h, r.now), nil
}

// horseOf returns the horse in the path of the request.
func (s *Server) horseOf(r *request) (*horse, *refusal) {
	number, no := r.integer("horse_number")
	if no != nil {
		return nil, no
	}
	if h := s.world.horse(number); h != nil {
		return h, nil
	}
	return nil, s.world.unknownHorse(number)
}

func (w *world) unknownHorse(number int64) *refusal {
	return refuse(http.StatusNotFound, "unknown_horse", "there is no horse %d; this fake has 1 to %d, and those that were added", number, w.lastHorse)
}

// userHorses responds to GET /api/v1/horses/user.
func (s *Server) userHorses(r *request) ([]byte, *refusal) {
	var key string
	if no := parseBody(r.body, member{name: "user_key", text: &key, required: true}); no != nil {
		return nil, no
	}
	user, no := s.userOf(key)
	if no != nil {
		return nil, no
	}
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	horses := s.world.horsesOf(user)
	return appendList(nil, len(horses), func(b []byte, i int) []byte {
		return appendHorse(b, s.world.horse(horses[i]), r.now)
	}), nil
}

// missions responds to GET /api/v1/horses/missions/{horse_number}.
func (s *Server) missions(r *request) ([]byte, *refusal) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	h, no := s.horseOf(r)
	if no != nil {
		return nil, no
	}
	if given := s.world.missions[h.number]; given != nil {
		return given, nil
	}
	return s.world.appendMissions(nil, h.number), nil
}

// breeding responds to GET /api/v1/horses/breeding/open.
func (s *Server) breeding(r *request) ([]byte, *refusal) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	if given := s.world.breeding; given != nil {
		return given, nil
	}
	return s.world.appendBreeding(nil, r.now), nil
}

// results responds to GET /api/v2/races/results.
func (s *Server) results(r *request) ([]byte, *refusal) {
	tier, before, no := r.timeQuery()
	if no != nil {
		return nil, no
	}
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	return s.world.appendRaces(tier, s.world.races[tier].before(before), asFinished), nil
}

// resultsV1 responds to GET /api/v1/races/results.
func (s *Server) resultsV1(r *request) ([]byte, *refusal) {
	tier, offset := int64(omega), int64(0)
	if no := parseBody(r.body, member{name: "tier", number: &tier}, member{name: "offset", number: &offset}); no != nil {
		return nil, no
	}
	if no := checkTier(tier); no != nil {
		return nil, no
	}
	if offset < 0 {
		return nil, refuse(http.StatusBadRequest, "out_of_range", "offset must not be negative, got %d", offset)
	}
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	return s.world.appendRaces(int(tier), s.world.races[tier].skip(int(min(offset, math.MaxInt32))), asFinishedV1), nil
}

// timeQuery reads the body of the listings that are paged by start_time_from.
func (r *request) timeQuery() (tier int, before int64, no *refusal) {
	id := int64(omega)
	before = r.now
	if no := parseBody(r.body, member{name: "tier", number: &id}, member{name: "start_time_from", number: &before}); no != nil {
		return 0, 0, no
	}
	return int(id), before, checkTier(id)
}

func checkTier(id int64) *refusal {
	if !knownTier(id) {
		return refuse(http.StatusBadRequest, "unknown_tier", "there is no tier %d; this fake has 1 to %d", id, len(tierNames)-1)
	}
	return nil
}

// appendRaces writes a page of results.
func (w *world) appendRaces(tier int, page []place[*liveRace], form raceForm) []byte {
	var past race
	b := make([]byte, 0, 1024*len(page)+2)
	return appendList(b, len(page), func(b []byte, i int) []byte {
		if page[i].index < 0 {
			return appendRace(b, &page[i].entry.race, form)
		}
		w.pastRace(&past, tier, page[i].index)
		return appendRace(b, &past, form)
	})
}

// openRaces responds to GET /api/v1/races/open.
func (s *Server) openRaces(r *request) ([]byte, *refusal) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	var open []*liveRace
	for _, race := range s.world.upcoming {
		if race.isOpen(r.now) {
			open = append(open, race)
		}
	}
	return appendList(nil, len(open), func(b []byte, i int) []byte { return appendRace(b, &open[i].race, asOpen) }), nil
}

// race responds to GET /api/v1/races/{raceId} with an array of one race, or of none.
func (s *Server) race(r *request) ([]byte, *refusal) {
	id, no := r.integer("raceId")
	if no != nil {
		return nil, no
	}
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	b := []byte{'['}
	if race := s.world.live[id]; race != nil && race.isFinished {
		b = appendRace(b, &race.race, asFinishedByID)
	} else if race != nil {
		b = appendRace(b, &race.race, asOpen)
	} else if tier, index := s.world.pastIndex(id); tier > 0 {
		var past liveRace
		s.world.pastRace(&past.race, tier, index)
		b = appendRace(b, &past.race, asFinishedByID)
	}
	return append(b, ']'), nil
}

// tournamentResults responds to GET /api/v1/tournaments/results.
func (s *Server) tournamentResults(r *request) ([]byte, *refusal) {
	tier, before, no := r.timeQuery()
	if no != nil {
		return nil, no
	}
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	page := s.world.cups[tier].before(before)
	return appendList(nil, len(page), func(b []byte, i int) []byte {
		t := page[i].entry
		if page[i].index >= 0 {
			t = s.world.pastTournament(tier, page[i].index)
		}
		return appendTournament(b, t, r.now)
	}), nil
}

// openTournaments responds to GET /api/v1/tournaments/open with an array of all
// that are not over: the API reference lists the ongoing ones at the same path.
func (s *Server) openTournaments(r *request) ([]byte, *refusal) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	open := s.world.current
	return appendList(nil, len(open), func(b []byte, i int) []byte { return appendTournament(b, open[i], r.now) }), nil
}

// tournament responds to GET /api/v1/tournaments/{tournamentId} with an object.
func (s *Server) tournament(r *request) ([]byte, *refusal) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	t := s.world.tournament(r.argument)
	if t == nil {
		return nil, refuse(http.StatusNotFound, "unknown_tournament", "there is no tournament %.100q", r.argument)
	}
	return appendTournament(nil, t, r.now), nil
}

// missionCatalogue responds to GET /api/v1/missions.
func (s *Server) missionCatalogue(*request) ([]byte, *refusal) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	if given := s.world.catalogue; given != nil {
		return given, nil
	}
	return appendCatalogue(nil), nil
}
