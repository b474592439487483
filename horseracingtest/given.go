package horseracingtest

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/horseracing-go/horseracing"
)

// AddHorses adds horses of a user to the service, or replaces those with the same
// Number. User -1 is an owner without a key. Number is required; horses with a Number
// above 4096 are not in the fake's own races. Other empty fields are generated, except
// Generation and BreedingCooldown. It panics if the user does not exist, or if a horse
// has no Number.
func (s *Server) AddHorses(user int, horses ...horseracing.Horse) {
	if user != -1 {
		s.mustHaveUser(user)
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for i := range horses { // before any is in the world
		if horses[i].Number <= 0 {
			panic(fmt.Sprintf("horseracingtest: a horse to add has the Number %d", horses[i].Number))
		}
	}
	for i := range horses {
		s.world.horses[int64(horses[i].Number)] = s.world.givenHorse(&horses[i], user)
	}
}

// givenHorse turns a horse as users write it into one as the service has it.
func (w *world) givenHorse(from *horseracing.Horse, owner int) *horse {
	h := w.inventHorse(int64(from.Number))
	h.owner, h.generation, h.cooldown = owner, from.Generation, 0
	h.name = cmp.Or(from.Name, h.name)
	h.image = cmp.Or(from.Image, h.image)
	h.url = cmp.Or(from.ExternalURL, h.url)
	h.gender = cmp.Or(string(from.Gender), h.gender)
	h.breed = cmp.Or(from.Breed, h.breed)
	h.tier = cmp.Or(string(from.Tier), h.tier)
	h.height = cmp.Or(from.Height, h.height)
	h.weight = cmp.Or(from.Weight, h.weight)
	h.level = cmp.Or(from.Level, h.level)
	if len(from.Appearance) > 0 {
		h.appearance = append([]horseracing.Trait(nil), from.Appearance...)
	}
	if from.BreedingCooldown != nil {
		h.cooldown = from.BreedingCooldown.UnixMilli()
	}
	return h
}

// SetBreeding replaces the horses that are offered for breeding.
func (s *Server) SetBreeding(listings ...horseracing.BreedingListing) {
	given := encode(notNil(listings))
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.breeding = given
}

// SetHorseMissions replaces the missions of these horses. It panics if a horse does
// not exist: add it first.
func (s *Server) SetHorseMissions(missions ...horseracing.HorseMissions) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, from := range missions { // before any is in the world
		if s.world.horse(int64(from.Number)) == nil {
			panic(fmt.Sprintf("horseracingtest: missions of horse %d, which does not exist", from.Number))
		}
	}
	for _, from := range missions {
		from.Missions = append([]horseracing.HorseMission{}, from.Missions...)
		for i := range from.Missions {
			from.Missions[i].Progress = notNil(from.Missions[i].Progress)
		}
		s.world.missions[int64(from.Number)] = encode(from)
	}
}

// SetCatalogue replaces the mission catalogue.
func (s *Server) SetCatalogue(catalogue horseracing.MissionCatalogue) {
	catalogue.Daily, catalogue.Weekly, catalogue.Monthly = notNil(catalogue.Daily), notNil(catalogue.Weekly), notNil(catalogue.Monthly)
	given := encode(catalogue)
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.catalogue = given
}

// encode writes a value as the service would. It panics if it cannot, such as when
// the value has a json.RawMessage that is not JSON.
func encode(value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		panic("horseracingtest: " + err.Error())
	}
	return b
}

// notNil is a list as the service shows it: it has no absent ones.
func notNil[E any](list []E) []E {
	if list == nil {
		return []E{}
	}
	return list
}
