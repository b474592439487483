package horseracing_test

import (
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

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
