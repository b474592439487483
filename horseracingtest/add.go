package horseracingtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// AddRaces adds races to the service, or replaces those with the same MainRaceID. A
// race with a FinalOrder, or with a StartTime that has passed, is in the results
// unchanged. The others are open: they take registrations until their deadline, run,
// and appear in the results one to thirty-five minutes after their start, like races of
// the schedule. Only the race's Participants and horses registered later take part.
//
// MainRaceID and StartTime are required. Other empty fields get a default: the
// deadline is the start, Tier is Omega, Type is best_time, Places is 12, or the
// number of participants if that is more, and MaxLevel is 100. It panics if a
// required field is missing, or if the fake does not have the tier.
func (s *Server) AddRaces(races ...horseracing.Race) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.catchUp()
	added := make([]*race, len(races))
	for i := range races {
		r, err := s.world.given(races[i])
		must(err)
		if r.tier == 0 {
			must(fmt.Errorf("race %d: there is no tier %q, only %q", r.MainRaceID, r.Tier, tierNames[1:]))
		}
		if r.isFinished = len(r.FinalOrder) > 0 || !r.start().After(now); !r.isFinished {
			for i := range r.Participants {
				r.Participants[i].Total, r.Participants[i].Lane = 0, 0
			}
		}
		added[i] = r
	}
	for _, r := range added {
		s.world.add(r)
	}
	s.world.due = time.Time{}
}

// given returns a race as the service has it.
func (w *world) given(from horseracing.Race) (*race, error) {
	switch {
	case from.MainRaceID <= 0:
		return nil, errors.New("a race has no MainRaceID")
	case from.StartTime.IsZero():
		return nil, fmt.Errorf("race %d has no StartTime", from.MainRaceID)
	}
	r := &race{Race: from}
	r.Tier = cmp.Or(r.Tier, tierNames[omega])
	r.Type = cmp.Or(r.Type, horseracing.RaceTypeBestTime)
	r.Places = cmp.Or(r.Places, max(12, len(r.Participants)))
	r.MaxLevel = cmp.Or(r.MaxLevel, 100)
	r.StartTime, r.RegistrationDeadline = horseracing.NewTimestamp(r.StartTime.Time), horseracing.NewTimestamp(r.RegistrationDeadline.Time)
	if r.RegistrationDeadline.IsZero() {
		r.RegistrationDeadline = r.StartTime
	}
	r.Participants, r.Prizes = slices.Clone(notNil(r.Participants)), notNil(r.Prizes)
	r.tier = tierOf(r.Tier)
	r.delayResult(w.random(forRuns, uint64(r.MainRaceID)))
	return r, nil
}

// RemoveRaces removes races from the service. Ids of races that do not exist are
// ignored.
func (s *Server) RemoveRaces(ids ...horseracing.RaceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	for _, id := range ids {
		s.world.remove(id)
	}
}

// AddTournaments adds tournaments to the service, or replaces those with the same ID.
// Those with Status 2 are in the results, the others are open. They are
// shown as given and do not change with the clock. ID and StartTime are required;
// Tier defaults to Omega. It panics if a required field is missing, or if the fake
// does not have the tier.
func (s *Server) AddTournaments(tournaments ...horseracing.Tournament) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	for _, t := range tournaments {
		t.Tier = cmp.Or(t.Tier, omega)
		switch {
		case t.ID == "":
			must(errors.New("a tournament has no ID"))
		case t.StartTime.IsZero():
			must(fmt.Errorf("tournament %s has no StartTime", t.ID))
		case t.Tier < 1 || t.Tier > omega:
			must(fmt.Errorf("tournament %s: there is no tier %d", t.ID, t.Tier))
		}
		t.Prizes, t.Participants, t.AdditionalPrizes = notNil(t.Prizes), notNil(t.Participants), notNil(t.AdditionalPrizes)
		t.Stages = slices.Clone(notNil(t.Stages))
		for i := range t.Stages {
			t.Stages[i].Results = notNil(t.Stages[i].Results)
		}
		s.world.addCup(&cup{t, true})
	}
}

// AddHorses adds horses of a user to the service, or replaces those with the same
// Number. User -1 is an owner without a key. Number is required. Every other field that is
// empty is generated, except Generation and BreedingCooldown. Horses with a Number above
// 4096 are not in the fake's own races. It panics if the user does not exist, or if a horse
// has no Number.
func (s *Server) AddHorses(user int, horses ...horseracing.Horse) {
	if user != -1 {
		s.mustHaveUser(user)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range horses {
		if from.Number <= 0 {
			must(fmt.Errorf("a horse has the Number %d", from.Number))
		}
		h := s.world.inventHorse(from.Number)
		h.owner, h.Generation, h.BreedingCooldown = user, from.Generation, from.BreedingCooldown
		h.Name, h.Image, h.ExternalURL = cmp.Or(from.Name, h.Name), cmp.Or(from.Image, h.Image), cmp.Or(from.ExternalURL, h.ExternalURL)
		h.Gender, h.Breed, h.Tier = cmp.Or(from.Gender, h.Gender), cmp.Or(from.Breed, h.Breed), cmp.Or(from.Tier, h.Tier)
		h.Height, h.Weight, h.Level = cmp.Or(from.Height, h.Height), cmp.Or(from.Weight, h.Weight), cmp.Or(from.Level, h.Level)
		if len(from.Appearance) > 0 {
			h.Appearance = slices.Clone(from.Appearance)
		}
		s.world.horses[h.Number] = h
	}
}

// SetBreeding replaces the horses that are offered for breeding.
func (s *Server) SetBreeding(listings ...horseracing.BreedingListing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.breeding = encode(notNil(listings))
}

// SetHorseMissions replaces the missions of these horses. It panics if a horse does
// not exist: add it first.
func (s *Server) SetHorseMissions(missions ...horseracing.HorseMissions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range missions {
		if s.world.horse(m.Number) == nil {
			must(fmt.Errorf("missions of horse %d, which does not exist", m.Number))
		}
		m.Missions = slices.Clone(notNil(m.Missions))
		for i := range m.Missions {
			m.Missions[i].Progress = notNil(m.Missions[i].Progress)
		}
		s.world.missions[m.Number] = encode(m)
	}
}

// SetCatalogue replaces the mission catalogue.
func (s *Server) SetCatalogue(catalogue horseracing.MissionCatalogue) {
	catalogue.Daily, catalogue.Weekly, catalogue.Monthly = notNil(catalogue.Daily), notNil(catalogue.Weekly), notNil(catalogue.Monthly)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.catalogue = encode(catalogue)
}

// NumUsers returns how many users the fake has keys for, numbered from 0. See
// [WithUsers].
func (s *Server) NumUsers() int { return s.settings.users }

// UserKey returns the key of a user, numbered from 0. It panics if the user does not
// exist.
func (s *Server) UserKey(user int) horseracing.UserKey {
	s.mustHaveUser(user)
	return horseracing.UserKey(userKey(s.settings.seed, user))
}

// Horses returns the horses of a user, in ascending order. Six belong to each
// user from the start, of levels 15, 35, 50, 5, 75 and 100; [Server.AddHorses]
// adds more. It panics if the user does not exist.
func (s *Server) Horses(user int) []horseracing.HorseNumber {
	s.mustHaveUser(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.world.horsesOf(user)
}

func (s *Server) mustHaveUser(user int) {
	if user < 0 || user >= s.settings.users {
		must(fmt.Errorf("there is no user %d, only 0 to %d", user, s.settings.users-1))
	}
}
