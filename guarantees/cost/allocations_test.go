//go:build !race

package cost_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// The allocations of a call are those of docs/performance.md: a few more go unnoticed in a
// time, and not here. Under the race detector pools drop some of what they hold.
func TestACallAllocatesLittle(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	var page json.RawMessage
	double.NoError(t, fake.Client().Do(t.Context(), http.MethodGet, double.ResultsPath, struct{}{}, &page))
	for text, most := range map[string]float64{"[]": 30, string(page): 200} {
		client := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)), Request: req,
			}, nil
		})})
		allocations := testing.AllocsPerRun(100, func() {
			if _, err := client.Races.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		if allocations > most {
			t.Errorf("%v allocations, at most %v wanted, for %s", allocations, most, text)
		}
	}
}
