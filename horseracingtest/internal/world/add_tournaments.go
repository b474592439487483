package world

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/horseracing-go/horseracing"
)

// AddTournaments adds tournaments, or replaces added ones with the same ID: all of
// them, or none if there is an error.
func (w *World) AddTournaments(tournaments ...horseracing.Tournament) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, from := range tournaments {
		switch {
		case from.ID == "":
			return errors.New("a tournament to add has no ID")
		case from.StartTime.IsZero():
			return fmt.Errorf("tournament %s has no StartTime", from.ID)
		case from.Tier != 0 && !knownTier(int64(from.Tier)):
			return fmt.Errorf("tournament %s: there is no tier %d", from.ID, from.Tier)
		}
	}
	added := make([]*tournament, len(tournaments))
	for n, from := range tournaments {
		from.Tier = cmp.Or(from.Tier, horseracing.TierOmega)
		from.Prizes = notNil(from.Prizes)
		from.Participants = notNil(from.Participants)
		from.AdditionalPrizes = notNil(from.AdditionalPrizes)
		from.Stages = slices.Clone(notNil(from.Stages))
		for i := range from.Stages {
			from.Stages[i].Results = notNil(from.Stages[i].Results)
		}
		given, err := json.Marshal(from)
		if err != nil {
			return err
		}
		added[n] = &tournament{id: string(from.ID), tier: int(from.Tier), start: from.StartTime.UnixMilli(), given: given}
	}
	for n, t := range added {
		w.addTournament(t, tournaments[n].Status == cupIsOver)
	}
	return nil
}

func (w *World) addTournament(t *tournament, over bool) {
	if old := w.tournaments[t.id]; old != nil {
		w.current = slices.DeleteFunc(w.current, func(other *tournament) bool { return other == old })
		w.cups[old.tier].remove(old.start, old.id)
	}
	w.tournaments[t.id] = t
	if over {
		w.cups[t.tier].add(t.start, t.id, t)
	} else {
		w.current = append(w.current, t)
	}
}
