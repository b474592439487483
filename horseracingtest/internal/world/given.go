package world

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/horseracing-go/horseracing"
)

// AddHorses adds horses of a user, or of none if it is -1, or replaces those with the
// same Number: all of them, or none if there is an error.
func (w *World) AddHorses(user int, horses ...horseracing.Horse) error {
	for i := range horses {
		if horses[i].Number <= 0 {
			return fmt.Errorf("a horse to add has the Number %d", horses[i].Number)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range horses {
		w.horses[int64(horses[i].Number)] = w.givenHorse(&horses[i], user)
	}
	return nil
}

// givenHorse turns a horse as users write it into one as the service has it.
func (w *World) givenHorse(from *horseracing.Horse, owner int) *horse {
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
func (w *World) SetBreeding(listings ...horseracing.BreedingListing) error {
	given, err := json.Marshal(notNil(listings))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breeding = given
	return nil
}

// SetHorseMissions replaces the missions of these horses.
func (w *World) SetHorseMissions(missions ...horseracing.HorseMissions) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	given := make([][]byte, len(missions))
	for n, from := range missions {
		if w.horse(int64(from.Number)) == nil {
			return fmt.Errorf("missions of horse %d, which does not exist", from.Number)
		}
		from.Missions = append([]horseracing.HorseMission{}, from.Missions...)
		for i := range from.Missions {
			from.Missions[i].Progress = notNil(from.Missions[i].Progress)
		}
		var err error
		if given[n], err = json.Marshal(from); err != nil {
			return err
		}
	}
	for n, from := range missions {
		w.missions[int64(from.Number)] = given[n]
	}
	return nil
}

// SetCatalogue replaces the mission catalogue.
func (w *World) SetCatalogue(catalogue horseracing.MissionCatalogue) error {
	catalogue.Daily, catalogue.Weekly, catalogue.Monthly = notNil(catalogue.Daily), notNil(catalogue.Weekly), notNil(catalogue.Monthly)
	given, err := json.Marshal(catalogue)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.catalogue = given
	return nil
}

// notNil is a list as the service shows it: it has no absent ones.
func notNil[E any](list []E) []E {
	if list == nil {
		return []E{}
	}
	return list
}
