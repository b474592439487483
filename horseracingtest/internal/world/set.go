package world

import (
	"encoding/json"
	"fmt"

	"github.com/horseracing-go/horseracing"
)

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
