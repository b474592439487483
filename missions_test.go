package horseracing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
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
	if diff := cmp.Diff([]string{"daily a", "daily b", "monthly c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range catalogue.All() {
		break // must not go on calling a loop that has ended
	}
}
