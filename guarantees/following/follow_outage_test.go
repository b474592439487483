package following_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// A service that is down, wholly or for most requests, also in the middle of a poll, costs no
// race.
func TestAnOutageCostsNoRace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(double.Worlds(4, 240, 2)) {
		double.RunBubble(t, fmt.Sprint(seed), func(t *testing.T, fake *horseracingtest.Server) {
			random := rand.New(rand.NewPCG(seed, 1))
			down := 30*time.Minute + time.Duration(random.Int64N(int64(23*time.Hour)))
			passes := []float64{0, 0.02, 0.05, 0.1}[seed%4]
			time.AfterFunc(2*time.Hour, func() {
				fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadGateway, Body: "<html>down</html>", Skip: random.IntN(4), Probability: 1 - passes, Times: -1})
				time.AfterFunc(down, fake.ClearFaults)
			})
			races := horseracing.RaceID((6*time.Hour + down) / (90 * time.Second))
			for id := range races {
				time.AfterFunc(time.Duration(id)*90*time.Second, func() { fake.AddRaces(double.Finished(id+1, -time.Second)...) })
			}
			var f followed
			f.run(t, fake.Client(), horseracing.FollowQuery{Since: time.Now().Add(-time.Hour), Interval: 2 * time.Minute}, 6*time.Hour+down)
			for id := horseracing.RaceID(1); id < races-5; id++ {
				if f.times[id] != 1 {
					t.Errorf("down for %v, %v of the requests pass: race %d came %d times", down, passes, id, f.times[id])
				}
			}
			if passes == 0 && len(f.errors) == 0 {
				t.Errorf("down for %v: no error", down)
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// Without retries a quarter of the pages fail, and races that have no result yet are listed
// among those that have: a follower advances all the same.
func TestAFollowerAdvancesWhileAQuarterOfThePagesFail(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, 1, 400, 30*time.Second)
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadGateway, Probability: 0.25, Times: -1})
		for _, catchUp := range []bool{false, true} {
			follower := fake.Client(double.NoRetries()).Races.Follow(horseracing.FollowQuery{Since: time.Now().AddDate(0, 0, -1)})
			loop, loops := follower.All, 1
			if catchUp {
				loop, loops = follower.CatchUp, 400
			}
			times, failures := map[horseracing.RaceID]int{}, 0
			for range loops {
				for race, err := range loop(double.Within(t, 5*time.Hour)) {
					if err != nil {
						failures++
					} else {
						times[race.MainRaceID]++
					}
				}
			}
			double.Equal(t, fmt.Sprintf("races, CatchUp %v", catchUp), once(1, 400), times)
			if failures < 10 {
				t.Errorf("%d failures", failures)
			}
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0), horseracingtest.WithSeed(3))
}

// A body that is dropped on the way, or a tier that is ignored, is an error at once, and
// costs no race: neither a follower that catches up nor a walk passes over any.
func TestAnIgnoredBodyCostsNoRace(t *testing.T) {
	const races = 108
	for _, name := range []string{"a pager", "a follower"} {
		for what, body := range map[string]string{"the body": "", "start_time_from": `{"tier":5}`} {
			double.RunBubble(t, name+", without "+what, func(t *testing.T, fake *horseracingtest.Server) {
				addRaces(fake, 1, races, 10*time.Minute)
				isDropped, ignored := true, 0
				through := fake.HTTPClient().Transport
				client := fake.Client(horseracing.WithHTTPClient(&http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
					if isDropped {
						req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
					}
					return through.RoundTrip(req)
				})}))
				fake.ResetLog()
				times := map[horseracing.RaceID]int{}
				loop := loops(t.Context(), client, 3)[name]
				for range 4 {
					for race, err := range loop {
						switch {
						case err == nil:
							times[race.MainRaceID]++
						case !errors.Is(err, horseracing.ErrBodyIgnored):
							t.Error(err)
						default:
							ignored++
						}
					}
					if isDropped = ignored < 2; isDropped && fake.RequestCount() > 8 {
						t.Errorf("it is noticed after %d requests", fake.RequestCount())
					}
				}
				double.Equal(t, "races", once(1, races), times)
				if ignored != 2 {
					t.Errorf("%d errors", ignored)
				}
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		}
	}
}

// catchUpOnce is a process that ends with the first error, and reports whether there was
// one.
func (f *followed) catchUpOnce(ctx context.Context, t *testing.T, c *horseracing.Client, q horseracing.FollowQuery) bool {
	t.Helper()
	follower := f.resumed(t, c, q)
	defer func() { f.cursor = follower.Cursor() }()
	for race, err := range follower.CatchUp(ctx) {
		if err != nil {
			f.errors = append(f.errors, err.Error())
			return true
		}
		f.times[race.MainRaceID]++
	}
	return false
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
			for first := 1; first < 60; first += double.Worlds(7, 1, 11) {
				for _, times := range []int{1, 2, 3, 5} {
					fake.ClearFaults()
					fake.Inject(horseracingtest.Fault{Status: http.StatusOK, Body: "[]", Skip: first, Times: times})
					got := collected(t, loops(t.Context(), fake.Client(), 1+first%5)[name])
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
		fake.AddRaces(double.Finished(1, -20*time.Minute, -10*time.Minute)...)
		query := horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}
		var f followed
		f.run(t, fake.Client(), query, 10*time.Minute)
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusOK, Body: "[]"})
		if f.catchUpOnce(t.Context(), t, fake.Client(), query) {
			t.Errorf("one list is empty: errors %q", f.errors)
		}
		fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusOK, Body: "[]", Times: -1})
		fake.AddRaces(double.Finished(3, -time.Minute)...)
		f.run(t, fake.Client(), query, time.Hour)
		failures := len(f.errors)
		if failures < 6 || failures > 20 {
			t.Errorf("errors %q", f.errors)
		}
		fake.ClearFaults()
		f.run(t, fake.Client(), query, time.Hour)
		if diff := cmp.Diff(once(1, 3), f.times); diff != "" || len(f.errors) != failures {
			t.Errorf("errors %q, races (-want +got):\n%s", f.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestCatchUpYieldsWhatIsNewAndEnds(t *testing.T) {
	for name, since := range map[string]time.Duration{"since a day ago": 24 * time.Hour, "from now on": 0} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			addRaces(fake, 1, 45, 10*time.Minute)
			query, first := horseracing.FollowQuery{}, horseracing.RaceID(46)
			if since > 0 {
				query.Since, first = time.Now().Add(-since), 1
			}
			f := followed{times: map[horseracing.RaceID]int{}}
			read := func(last horseracing.RaceID) {
				t.Helper()
				began := time.Now()
				if f.catchUpOnce(t.Context(), t, fake.Client(), query) || time.Since(began) > time.Second {
					t.Errorf("it ends after %v, errors %q", time.Since(began), f.errors)
				}
				double.Equal(t, fmt.Sprint("races up to ", last), once(first, last), f.times)
			}
			read(45)
			read(45)
			time.Sleep(30 * time.Minute)
			fake.AddRaces(double.Finished(46, -20*time.Minute, -10*time.Minute)...)
			read(47)
			time.Sleep(12 * time.Hour)
			fake.AddRaces(double.Finished(48, -9*time.Hour, -time.Minute)...)
			read(49)
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}
