package route_test

import (
	"testing"

	"github.com/horseracing-go/horseracing/internal/route"
)

func TestFillPutsTheIDInPlaceOfThePlaceholder(t *testing.T) {
	for path, want := range map[string]string{"/v1/horses/{number}": "/v1/horses/7", "/v1/{kind}/races": "/v1/7/races", "/v1/races/open": "/v1/races/open"} {
		if got := route.Fill(path, "7"); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}
