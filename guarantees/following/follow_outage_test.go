package following_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// While a quarter of the pages fail, a past is read in hours: the backoff begins anew with each entry
// that is read, and after each window.
func TestAFollowerAdvancesWhileAQuarterOfThePagesFail(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadGateway, Probability: 0.25, Times: -1})
		began, n := time.Now(), 0
		for _, err := range fake.Client(double.NoRetries()).Races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1)}).All(double.Within(t, 24*time.Hour)) {
			if err == nil {
				n++
			}
			if n == 2_000 {
				break
			}
		}
		if took := time.Since(began); n < 2_000 || took > 5*time.Hour {
			t.Errorf("%d races after %v", n, took)
		}
	}, horseracingtest.WithHistory(2_000), horseracingtest.WithSchedule(0))
}

// A body that is dropped on the way, or a tier that is ignored, is an error at once, and
// costs no race: neither a follower that catches up nor a walk passes over any.
func TestAnIgnoredBodyCostsNoRace(t *testing.T) {
	const races = 108
	for _, name := range []string{"a pager", "a follower"} {
		for what, body := range map[string]string{"the body": "", "start_time_from": `{"tier":5}`} {
			double.RunBubble(t, name+", without "+what, func(t *testing.T, fake *horseracingtest.Server) {
				addRaces(fake, 1, races, 10*time.Minute)
				left := 2 // errors, until bodies arrive
				through := fake.HTTPClient().Transport
				client := fake.Client(horseracing.WithHTTPClient(&http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
					if left > 0 {
						req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
					}
					return through.RoundTrip(req)
				})}))
				fake.ResetLog()
				times := map[horseracing.RaceID]int{}
				loop := loops(t.Context(), client, 5, 3)[name]
				for range 4 {
					var last error
					for race, err := range loop {
						if last = err; err == nil {
							times[race.MainRaceID]++
						} else if !errors.Is(err, horseracing.ErrBodyIgnored) || fake.RequestCount() > 8 {
							t.Errorf("after %d requests: %v", fake.RequestCount(), err)
						}
					}
					if last != nil {
						left--
					}
				}
				double.Equal(t, "races", once(1, races), times)
				double.Equal(t, "errors that are lacking", 0, left)
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		}
	}
}

// While every list is wrongly empty, from any request on, a walk and a follower that reads
// the past fail or wait, and lose nothing. Only the first list of all cannot be distinguished from
// that of an empty listing.
func TestEmptyListsLoseNothing(t *testing.T) {
	const races = 300
	for _, name := range []string{"a pager", "a pager by offset", "a follower"} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			for i := range horseracing.RaceID(races) {
				fake.AddRaces(double.Finished(i+1, -time.Duration(i+1)*3*time.Hour)...)
			}
			for first := 1; first < 60; first += double.Worlds(7, 1, 30) {
				for _, times := range []int{1, 2, 3, 5} {
					fake.ClearFaults()
					fake.Inject(horseracingtest.Fault{Status: http.StatusOK, Body: "[]", Skip: first, Times: times})
					got := collected(t, loops(t.Context(), fake.Client(), horseracing.TierOmega, 1+first%5)[name])
					n := 0
					for _, often := range got {
						n += often
					}
					if n != races || len(got) != races {
						t.Errorf("%d lists are empty after %d: %d races came, %d different ones of %d", times, first, n, len(got), races)
					}
				}
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// A poll that reads nothing at all where races were yielded, although it requests the
// list twice, is a failed one. Nothing is lost.
func TestAPollThatFindsNothingFails(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 1, 2, 10*time.Minute)
		var f followed
		for i, test := range []struct{ emptyLists, least, most int }{{0, 0, 0}, {1, 0, 0}, {-1, 6, 20}, {0, 0, 0}} {
			fake.ClearFaults()
			if test.emptyLists != 0 {
				fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusOK, Body: "[]", Times: test.emptyLists})
			}
			f.errors = nil
			f.run(t, fake.Client(), horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}, time.Hour)
			if n := len(f.errors); n < test.least || n > test.most {
				t.Errorf("hour %d: errors %q", i, f.errors)
			}
			addRaces(fake, horseracing.RaceID(3+i), horseracing.RaceID(3+i), time.Minute)
		}
		double.Equal(t, "races", once(1, 5), f.times)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
