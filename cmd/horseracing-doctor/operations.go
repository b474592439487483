package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// operations calls every operation that reads, typed, so that what does not
// decode and what drifts shows.
func (d *doctor) operations(ctx context.Context) {
	s := &d.facts.Samples
	// First, so that a recording has the user's key before anything echoes it.
	if d.set.userKey != "" {
		var owned []horseracing.Horse
		call(d, ctx, "Horses.Owned", &owned, func(opt horseracing.CallOption) ([]horseracing.Horse, error) {
			return d.client.Horses.Owned(ctx, d.set.userKey, opt)
		})
		s.Horses = append(s.Horses, owned...)
	}
	call(d, ctx, "Races.Open", &s.Open, func(opt horseracing.CallOption) (v []horseracing.Race, err error) {
		v, err = d.client.Races.Open(ctx, opt)
		s.At = time.Now()
		return v, err
	})
	call(d, ctx, "Races.Results", &s.Finished, func(horseracing.CallOption) ([]horseracing.Race, error) {
		return sample(ctx, d.client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega}), 20)
	})
	call(d, ctx, "Races.ResultsV1", new([]horseracing.Race), func(horseracing.CallOption) ([]horseracing.Race, error) {
		return sample(ctx, d.client.Races.ResultsV1(horseracing.OffsetQuery{Tier: horseracing.TierOmega}), 10)
	})
	call(d, ctx, "Tournaments.Results", &s.Tournaments, func(horseracing.CallOption) ([]horseracing.Tournament, error) {
		return sample(ctx, d.client.Tournaments.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega}), 10)
	})
	call(d, ctx, "Tournaments.Open", new([]horseracing.Tournament), func(opt horseracing.CallOption) ([]horseracing.Tournament, error) {
		return d.client.Tournaments.Open(ctx, opt)
	})
	if len(s.Tournaments) > 0 {
		call(d, ctx, "Tournaments.Get", new(*horseracing.Tournament), func(opt horseracing.CallOption) (*horseracing.Tournament, error) {
			return d.client.Tournaments.Get(ctx, s.Tournaments[0].ID, opt)
		})
	}
	if race := slices.Concat(s.Open, s.Finished); len(race) > 0 {
		call(d, ctx, "Races.Get", new(*horseracing.Race), func(opt horseracing.CallOption) (*horseracing.Race, error) {
			return d.client.Races.Get(ctx, race[0].MainRaceID, opt)
		})
	}
	for _, number := range d.someHorses(3) {
		var horse *horseracing.Horse
		call(d, ctx, "Horses.Get", &horse, func(opt horseracing.CallOption) (*horseracing.Horse, error) {
			return d.client.Horses.Get(ctx, number, opt)
		})
		var missions *horseracing.HorseMissions
		call(d, ctx, "Horses.Missions", &missions, func(opt horseracing.CallOption) (*horseracing.HorseMissions, error) {
			return d.client.Horses.Missions(ctx, number, opt)
		})
		if horse != nil {
			s.Horses = append(s.Horses, *horse)
		}
		if missions != nil {
			s.Missions = append(s.Missions, *missions)
		}
	}
	call(d, ctx, "Horses.OpenForBreeding", &s.Breeding, func(opt horseracing.CallOption) ([]horseracing.BreedingListing, error) {
		return d.client.Horses.OpenForBreeding(ctx, opt)
	})
	call(d, ctx, "Missions.Catalogue", &s.Catalogue, func(opt horseracing.CallOption) (*horseracing.MissionCatalogue, error) {
		return d.client.Missions.Catalogue(ctx, opt)
	})
	d.prizeNames(ctx)
	d.values()
}

// call calls one operation and notes what came of it. Of several calls of the
// same operation a failed one is what counts.
func call[T any](d *doctor, ctx context.Context, name string, into *T, f func(horseracing.CallOption) (T, error)) {
	if ctx.Err() != nil || d.probe.left() == 0 {
		return
	}
	var captured horseracing.Response
	value, err := f(horseracing.CaptureResponse(&captured))
	if interrupted(ctx, err) {
		return
	}
	*into = value
	o := &outcome{Status: captured.StatusCode, Err: err}
	if captured.StatusCode != 0 {
		o.Shape = shapeOf(captured.Body)
	}
	if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
		o.Entries = list.Len()
	}
	if before := d.facts.Calls[name]; before == nil || before.Err == nil {
		d.facts.Calls[name] = o
	}
}

// sample reads so many entries of a listing, and returns those that can be read
// and the first error.
func sample[T any](ctx context.Context, p *horseracing.Pager[T], entries int) (read []T, first error) {
	for entry, err := range p.All(ctx) {
		switch {
		case err == nil:
			read = append(read, *entry)
		case first == nil:
			first = err
		}
		if entries--; entries == 0 {
			break
		}
	}
	return read, first
}

// someHorses returns numbers of horses that ran or are offered.
func (d *doctor) someHorses(most int) (numbers []horseracing.HorseNumber) {
	for _, race := range slices.Concat(d.facts.Samples.Finished, d.facts.Samples.Open) {
		for _, p := range race.Participants {
			if p.Number > 0 && !slices.Contains(numbers, p.Number) && len(numbers) < most {
				numbers = append(numbers, p.Number)
			}
		}
	}
	return numbers
}

// prizeNames finds out what the members of additional prizes are called.
func (d *doctor) prizeNames(ctx context.Context) {
	var raw []struct {
		Prizes []map[string]json.RawMessage `json:"additional_prizes"`
	}
	o, body := d.get(ctx, "/api/v1/tournaments/results", map[string]any{"tier": 5})
	if o == nil || o.Err != nil || json.Unmarshal(body, &raw) != nil {
		return
	}
	d.facts.Samples.Prizes = counts{}
	for _, t := range raw {
		for _, prize := range t.Prizes {
			for name := range maps.Keys(prize) {
				d.facts.Samples.Prizes[name]++
			}
		}
	}
}

// values collects the values of members whose documented sets are incomplete.
func (d *doctor) values() {
	note := func(member, value string) {
		if d.facts.Values[member] == nil {
			d.facts.Values[member] = counts{}
		}
		d.facts.Values[member][value]++
	}
	s := d.facts.Samples
	for _, race := range slices.Concat(s.Open, s.Finished) {
		note("Race.type", string(race.Type))
		note("Race.status", string(race.Status))
		note("Race.tier", string(race.Tier))
		note("Race.info.hippodrome_type", race.Info.HippodromeType)
		note("Race.info.hippodrome_name", race.Info.HippodromeName)
		note("Race.info.turf", race.Info.Turf)
	}
	for _, t := range s.Tournaments {
		note("Tournament.type", string(t.Type))
		note("Tournament.status", fmt.Sprint(t.Status))
		note("Tournament.tier", fmt.Sprint(t.Tier))
		note("Tournament.turf", fmt.Sprint(t.Turf))
		for _, stage := range t.Stages {
			note("Stage.status", fmt.Sprint(stage.Status))
		}
	}
	for _, horse := range s.Horses {
		note("Horse.gender", string(horse.Gender))
		note("Horse.breed", horse.Breed)
		note("Horse.tier", string(horse.Tier))
	}
	for _, offer := range s.Breeding {
		note("BreedingListing.gender", string(offer.Gender))
		note("BreedingListing.tier", string(offer.Tier))
	}
	for _, missions := range s.Missions {
		for _, m := range missions.Missions {
			note("HorseMission.type", string(m.Type))
			note("HorseMission.mission", string(m.Mission))
			note("HorseMission.processed/completed", fmt.Sprintf("%t/%t", m.Processed, m.Completed))
			for _, element := range m.Progress {
				note("HorseMission.progress[]", kindOf(element))
			}
		}
	}
	if s.Catalogue != nil {
		for _, template := range s.Catalogue.All() {
			note("MissionTemplate.type", string(template.Type))
		}
	}
}

func kindOf(raw json.RawMessage) string {
	switch first := strings.TrimSpace(string(raw)); {
	case strings.HasPrefix(first, "{"):
		return shapeOf(raw)
	case strings.HasPrefix(first, "["):
		return "array"
	case strings.HasPrefix(first, `"`):
		return "string"
	case first == "true" || first == "false":
		return "boolean"
	case first == "null":
		return "null"
	}
	return "number"
}

// unknownIDs requests what does not exist.
func (d *doctor) unknownIDs(ctx context.Context) {
	for name, path := range map[string]string{
		"Horses.Get":      "/api/v1/horses/999999999",
		"Horses.Missions": "/api/v1/horses/missions/999999999",
		"Races.Get":       "/api/v1/races/999999999999",
		"Tournaments.Get": "/api/v1/tournaments/000000000000000000000000",
	} {
		if o, _ := d.get(ctx, path, nil); o != nil {
			d.facts.Unknown[name] = o
		}
	}
}

// raceIDs finds out which id a race is read by, and what a finished one shows.
func (d *doctor) raceIDs(ctx context.Context) {
	s := d.facts.Samples
	found := &raceByID{}
	var races []entry
	if len(s.Open) > 0 {
		o, body := d.get(ctx, fmt.Sprintf("/api/v1/races/%d", s.Open[0].MainRaceID), nil)
		found.MainID = o
		found.MainMatches = json.Unmarshal(body, &races) == nil && len(races) == 1 && races[0].ID == int64(s.Open[0].MainRaceID)
		if id := s.Open[0].ID; id != "" && !strings.ContainsAny(id, "/?#%. ") {
			found.OpaqueID, _ = d.get(ctx, "/api/v1/races/"+id, nil)
		}
	}
	if len(s.Finished) > 0 {
		var captured horseracing.Response
		race, err := d.client.Races.Get(ctx, s.Finished[0].MainRaceID, horseracing.CaptureResponse(&captured))
		if !interrupted(ctx, err) {
			found.Finished = &outcome{Status: captured.StatusCode, Err: err, Shape: shapeOf(captured.Body)}
			found.FinalOrder = err == nil && race.Finished()
		}
	}
	d.facts.RaceByID = found
}

// isNotThere reports whether an outcome is the service's way to report that there
// is no such thing.
func (o *outcome) isNotThere() bool {
	return o.Status == http.StatusNotFound || errors.Is(o.Err, horseracing.ErrNotFound) || o.Shape == "null" || o.Shape == "an array of 0"
}
