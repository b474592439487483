package horseracing_test

import (
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

func TestMissionsCatalogueMayBeEmptyButIsNoOtherObject(t *testing.T) {
	for body, isCatalogue := range map[string]bool{
		`{}`: true, `{"daily":null}`: true, `{"daily":[],"weekly":null,"monthly":[]}`: true,
		`{"status":503,"message":"asleep"}`: false, `{"daily":null,"status":503}`: false, `{"daily":7}`: false,
	} {
		catalogue, err := responding(t, body).Missions.Catalogue(t.Context())
		if (err == nil) != isCatalogue || isCatalogue && len(catalogue.Daily)+len(catalogue.Weekly)+len(catalogue.Monthly) > 0 {
			t.Errorf("%s: %+v, %v", body, catalogue, err)
		}
	}
}

func TestMissionCatalogueAllGoesThroughThePeriodsInOrder(t *testing.T) {
	catalogue := horseracing.MissionCatalogue{
		Daily:   []horseracing.MissionTemplate{{Type: "a"}, {Type: "b"}},
		Monthly: []horseracing.MissionTemplate{{Type: "c"}},
	}
	var got []string
	for period, template := range catalogue.All() {
		got = append(got, string(period)+" "+string(template.Type))
	}
	double.Equal(t, "templates", []string{"daily a", "daily b", "monthly c"}, got)
	for range catalogue.All() {
		break // must not continue to call a loop that has ended
	}
}
