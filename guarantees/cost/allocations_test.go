//go:build !race

package cost_test

import "testing"

// The allocations of a call are those of docs/performance.md: a few more go unnoticed in a
// time, and not here. Under the race detector pools drop some of what they hold.
func TestACallAllocatesLittle(t *testing.T) {
	for name, test := range map[string]struct {
		response canned
		most     float64
	}{
		"an empty list":       {canned("[]"), 30},
		"a page of ten races": {pageOfRaces(t), 200},
	} {
		client := test.response.sdk(t)
		allocations := testing.AllocsPerRun(100, func() {
			if _, err := client.Races.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		if allocations > test.most {
			t.Errorf("%s: %v allocations, at most %v wanted", name, allocations, test.most)
		}
	}
}
