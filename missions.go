package horseracing

import (
	"context"
	"iter"
	"net/http"
)

// MissionsService reads the catalogue of missions.
type MissionsService struct{ *backend }

// MissionTemplate describes a mission that a horse may get. The formula for the reward is undocumented.
type MissionTemplate struct {
	Type              MissionKind `json:"type"`
	Min               int         `json:"min"`         // probably the least HorseMission.Count
	Max               int         `json:"max"`         // probably the greatest HorseMission.Count
	Description       string      `json:"description"` // a short phrase
	XPBase            float64     `json:"xp_base"`     // may be negative
	XPModifier        float64     `json:"xp_modifier"`
	SugarBase         float64     `json:"sugar_base"` // may be negative
	SugarModifier     float64     `json:"sugar_modifier"`
	FurlongMin        *int        `json:"furlong_min,omitzero"`         // nil if unbounded; furlongs
	FurlongMax        *int        `json:"furlong_max,omitzero"`         // nil if unbounded; furlongs
	HippodromeTypeMin *int        `json:"hippodrome_type_min,omitzero"` // nil if unbounded; which type a number means is undocumented
	HippodromeTypeMax *int        `json:"hippodrome_type_max,omitzero"` // nil if unbounded
	PlaceMin          *int        `json:"place_min,omitzero"`           // nil if unbounded
	PlaceMax          *int        `json:"place_max,omitzero"`           // nil if unbounded
}

// MissionCatalogue holds the mission templates by period.
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

// Catalogue returns all mission templates.
//
// GET /api/v1/missions:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#413-mission-templates
func (s *MissionsService) Catalogue(ctx context.Context, opts ...CallOption) (*MissionCatalogue, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/missions", objectOrArray: true}
	return getEntry[MissionCatalogue](ctx, s, op, opts)
}
