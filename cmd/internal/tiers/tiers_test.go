package tiers

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestATierIsFoundByIDOrNameWithTheFewestRequests(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	open := []horseracing.Race{{Tier: "New"}}
	for _, test := range []struct {
		words    string
		want     []Tier
		unknown  string
		requests int
	}{
		{"", nil, "", 0},
		{"omega, 5", []Tier{omega, omega}, "", 0},
		{"new", []Tier{{Name: "New"}}, "", 0},
		{"3", []Tier{{3, "Gamma"}}, "", 1},
		{"delta", []Tier{{4, "Delta"}}, "", 11},
		{"9", nil, `there are no races of a tier "9"; found: 1 Alpha, 2 Beta, 3 Gamma, 4 Delta, 5 Omega`, 11},
		{"3,gold", nil, `there are no races of a tier "gold"; found: 1 Alpha,`, 11},
	} {
		fake.ResetLog()
		f := New(fake.Client().Races)
		for range 2 { // the second time it is known
			got, err := f.Find(t.Context(), test.words, open)
			unknown, isUnknown := errors.AsType[UnknownError](err)
			if diff := cmp.Diff(test.want, got); diff != "" || isUnknown != (test.unknown != "") || !strings.HasPrefix(unknown.Error(), test.unknown) {
				t.Errorf("%q: %v %s", test.words, err, diff)
			}
		}
		if n := fake.RequestCount(); n != test.requests {
			t.Errorf("%q: %d requests, want %d", test.words, n, test.requests)
		}
	}
}

func TestAnIDThatCannotBeLookedUpIsReturnedWithTheError(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Path: "/api/v2/races/results", Status: 503, Times: -1})
	f := New(fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1})).Races)
	got, err := f.Find(t.Context(), "3,5", nil)
	if diff := cmp.Diff([]Tier{{ID: 3}, omega}, got); diff != "" || !errors.Is(err, horseracing.ErrServer) {
		t.Errorf("%v %s", err, diff)
	}
	fake.ClearFaults()
	if got, err := f.Find(t.Context(), "3", nil); err != nil || got[0].Name != "Gamma" {
		t.Errorf("a failure is kept: %v, %v", got, err)
	}
}
