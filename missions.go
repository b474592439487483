package horseracing

import (
	"context"
	"iter"
	"net/http"
)

// MissionsService reads the catalogue of mission templates. Reach it as
// [Client.Missions]; the missions of one horse are [HorsesService.Missions].
type MissionsService struct{ client *Client }

// MissionPeriod says how often a mission comes round. A value not seen in the
// interface document passes through.
type MissionPeriod string

// The mission periods of the interface document, section 2.3.
const (
	MissionPeriodDaily   MissionPeriod = "daily"
	MissionPeriodWeekly  MissionPeriod = "weekly"
	MissionPeriodMonthly MissionPeriod = "monthly"
)

// MissionKind says what a mission asks for. A value not seen in the interface
// document passes through.
type MissionKind string

// The kinds that occur in the missions of a horse (interface document, section
// 2.3) and in the catalogue (section 4.13).
const (
	MissionKindAllDaily                MissionKind = "all_daily"
	MissionKindAllWeekly               MissionKind = "all_weekly"
	MissionKindRunAll                  MissionKind = "run_all"
	MissionKindRunAllOnZHippodrome     MissionKind = "run_all_on_z_hippodrome"
	MissionKindRunOnXHippodrome        MissionKind = "run_on_x_hippodrome"
	MissionKindRunXFurlongRace         MissionKind = "run_x_furlong_race"
	MissionKindRunXRaces               MissionKind = "run_x_races"
	MissionKindRunXRacesOfYFurlongsOnZ MissionKind = "run_x_races_of_y_furlongs_on_z"
	MissionKindRunXRacesOnZ            MissionKind = "run_x_races_on_z"
	MissionKindRunXRacesOnZHippodrome  MissionKind = "run_x_races_on_z_hippodrome"
	MissionKindRunXRacesYFurlong       MissionKind = "run_x_races_y_furlong"
	MissionKindTakeIPlaceXRaces        MissionKind = "take_i_place_x_races"
	MissionKindTakePrizePlaceInXRaces  MissionKind = "take_prize_place_in_x_races"
)

// MissionTemplate describes a mission that may be given out (interface
// document, section 2.6). How base, modifier and count make a reward is not
// stated there; the missions of a horse carry their final reward. Section 4.13
// lists the values of every template.
type MissionTemplate struct {
	Type              MissionKind `json:"type"`
	Min               int         `json:"min"`         // of the count, as it seems
	Max               int         `json:"max"`         // of the count, as it seems
	Description       string      `json:"description"` // a short phrase
	XPBase            float64     `json:"xp_base"`     // may be negative
	XPModifier        float64     `json:"xp_modifier"`
	SugarBase         float64     `json:"sugar_base"` // may be negative
	SugarModifier     float64     `json:"sugar_modifier"`
	FurlongMin        *int        `json:"furlong_min,omitzero"`         // nil: no bound; furlongs
	FurlongMax        *int        `json:"furlong_max,omitzero"`         // nil: no bound; furlongs
	HippodromeTypeMin *int        `json:"hippodrome_type_min,omitzero"` // nil: no bound; which type a number means is not shown
	HippodromeTypeMax *int        `json:"hippodrome_type_max,omitzero"` // nil: no bound
	PlaceMin          *int        `json:"place_min,omitzero"`           // nil: no bound
	PlaceMax          *int        `json:"place_max,omitzero"`           // nil: no bound
}

// MissionCatalogue holds the templates by period (interface document, section 4.13).
type MissionCatalogue struct {
	Daily   []MissionTemplate `json:"daily,omitzero"`
	Weekly  []MissionTemplate `json:"weekly,omitzero"`
	Monthly []MissionTemplate `json:"monthly,omitzero"`
}

// All ranges over every template with its period: daily, weekly, monthly.
func (c *MissionCatalogue) All() iter.Seq2[MissionPeriod, MissionTemplate] {
	return func(yield func(MissionPeriod, MissionTemplate) bool) {
		for _, group := range []struct {
			period    MissionPeriod
			templates []MissionTemplate
		}{
			{MissionPeriodDaily, c.Daily}, {MissionPeriodWeekly, c.Weekly}, {MissionPeriodMonthly, c.Monthly},
		} {
			for _, t := range group.templates {
				if !yield(group.period, t) {
					return
				}
			}
		}
	}
}

// Catalogue returns all mission templates (GET /api/v1/missions; interface
// document, section 4.13).
func (s *MissionsService) Catalogue(ctx context.Context, opts ...CallOption) (*MissionCatalogue, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/missions"}
	return getOne[MissionCatalogue](ctx, s.client, op, opts)
}
