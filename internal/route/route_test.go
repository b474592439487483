package route_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/route"
)

func TestMatchFindsWhatFillWrote(t *testing.T) {
	routes := []string{"/v1/horses/{number}", "/v1/horses/{number}/races", "/v1/{kind}/7", "/v1/races/open"}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom(routes).Draw(t, "route")
		id := rapid.StringMatching(`[^/]+`).Draw(t, "id")
		got, ok := route.Match(pattern, route.Fill(pattern, id))
		if !strings.Contains(pattern, "{") {
			id = ""
		}
		if !ok || got != id {
			t.Fatalf("%s with %q is %q, %v", pattern, id, got, ok)
		}
	})
}

func TestMatchRefusesOtherPaths(t *testing.T) {
	for _, path := range []string{"/v1/horses//races", "/v1/horses/7", "/v1/horses/7/8/races", "/v1/horses/7/races/", "/v1/horses/races"} {
		if id, ok := route.Match("/v1/horses/{number}/races", path); ok {
			t.Errorf("%s matches with %q", path, id)
		}
	}
}
