package horseracing

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var missionOperations = []OperationTest{{
	Name:     "Missions.Catalogue",
	Call:     func(ctx context.Context, c *Client, of IDs) (any, error) { return c.Missions.Catalogue(ctx) },
	Method:   http.MethodGet,
	Path:     "/api/v1/missions",
	Response: "missions.json",
	Want: &MissionCatalogue{
		Daily: []MissionTemplate{
			missionTemplate(MissionKindRunXRaces, "run some races", 1, 10, 106, 10, 10, 1),
			missionTemplate(MissionKindRunXFurlongRace, "run a race of one length", 1, 1, 116, 0, 11, 0, furlongs),
			missionTemplate(MissionKindRunOnXHippodrome, "run on one hippodrome", 1, 1, 116, 0, 11, 0, hippodromes),
			missionTemplate(MissionKindRunXRacesOfYFurlongsOnZ, "run races of one length on one hippodrome", 1, 3, 83, 33, 8, 3, hippodromes, furlongs),
			missionTemplate(MissionKindRunXRacesYFurlong, "run races of one length", 1, 5, 96, 20, 10, 2, furlongs),
			missionTemplate(MissionKindRunXRacesOnZ, "run races on one hippodrome", 1, 5, 96, 20, 10, 2, hippodromes),
		},
		Weekly: []MissionTemplate{
			missionTemplate(MissionKindRunXRaces, "run some races", 20, 50, 250, 16, 25, 1),
			missionTemplate(MissionKindRunXRacesOfYFurlongsOnZ, "run races of one length on one hippodrome", 10, 20, 83, 50, 8, 5, hippodromes, furlongs),
			missionTemplate(MissionKindTakePrizePlaceInXRaces, "take a prize place", 1, 5, 458, 125, 45, 12, places(3)),
			missionTemplate(MissionKindRunAllOnZHippodrome, "run every length on one hippodrome", 14, 14, 809, 1, 75, 1, hippodromes),
			missionTemplate(MissionKindRunXRacesOnZHippodrome, "run many races on one hippodrome", 15, 25, -166, 50, -16, 2),
		},
		Monthly: []MissionTemplate{
			missionTemplate(MissionKindRunXRaces, "run some races", 80, 100, -5666, 100, -550, 10),
			missionTemplate(MissionKindRunXRacesOfYFurlongsOnZ, "run races of one length on one hippodrome", 20, 40, 333, 100, 33, 10, hippodromes, furlongs),
			missionTemplate(MissionKindTakePrizePlaceInXRaces, "take a prize place", 10, 25, 1000, 133, 100, 13, places(3)),
			missionTemplate(MissionKindRunAll, "run every length", 30, 30, 3306, 1, 320, 1),
			missionTemplate(MissionKindRunXRacesOnZHippodrome, "run many races on one hippodrome", 25, 40, 333, 100, 33, 10, hippodromes),
			missionTemplate(MissionKindTakeIPlaceXRaces, "take one place again and again", 5, 10, 333, 400, 33, 40, places(12)),
		},
	},
}}

// missionTemplate builds a template from a line of the table in the interface
// document, section 4.13.
func missionTemplate(kind MissionKind, words string, min, max int, xp, xpPer, sugar, sugarPer float64, bounds ...func(*MissionTemplate)) MissionTemplate {
	t := MissionTemplate{
		Type: kind, Description: words, Min: min, Max: max,
		XPBase: xp, XPModifier: xpPer, SugarBase: sugar, SugarModifier: sugarPer,
	}
	for _, bound := range bounds {
		bound(&t)
	}
	return t
}

func furlongs(t *MissionTemplate)    { t.FurlongMin, t.FurlongMax = new(2), new(15) }
func hippodromes(t *MissionTemplate) { t.HippodromeTypeMin, t.HippodromeTypeMax = new(0), new(2) }
func places(last int) func(*MissionTemplate) {
	return func(t *MissionTemplate) { t.PlaceMin, t.PlaceMax = new(1), new(last) }
}

func TestMissionCatalogueAllGoesThroughThePeriodsInOrder(t *testing.T) {
	catalogue := MissionCatalogue{
		Daily:   []MissionTemplate{{Type: "a"}, {Type: "b"}},
		Monthly: []MissionTemplate{{Type: "c"}},
	}
	var got []string
	for period, template := range catalogue.All() {
		got = append(got, string(period)+" "+string(template.Type))
	}
	if diff := cmp.Diff([]string{"daily a", "daily b", "monthly c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range catalogue.All() {
		break // must not go on calling a loop that has ended
	}
}
