package following_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// The beginning of the history is found in few requests, however long ago Since is.
func TestFollowFindsTheBeginningOfTheHistory(t *testing.T) {
	const races = 3_000
	for _, every := range []time.Duration{time.Minute, 10 * time.Minute, 3 * time.Hour, 24 * time.Hour} {
		double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
			for i := range horseracing.RaceID(races) {
				fake.AddRaces(double.Finished(races-i, -time.Duration(i+1)*every)...)
			}
			client, since := fake.Client(), time.Unix(0, 0)
			if all, err := client.Races.Results(horseracing.ResultsQuery{Since: since}).Take(t.Context(), races+1); err != nil || len(all) != races {
				t.Fatalf("%d races, %v", len(all), err)
			}
			requests := fake.RequestCount()
			follow := func(f *followed, n int) int { // returns how many requests that takes
				fake.ResetLog()
				f.process(t, double.ADay(t), client, horseracing.FollowQuery{Since: since}, n)
				return fake.RequestCount()
			}
			var all, half followed
			followed := follow(&all, races)
			follow(&half, races/2)
			resumed := follow(&half, 1)
			t.Logf("a race every %v: a pager makes %d requests, a follower %d, and %d if it resumes in the middle before it yields a race", every, requests, followed, resumed)
			if resumed > 25 {
				t.Error("more than 25 requests before it yields a race")
			}
			if diff := gocmp.Diff(once(1, races), all.times); diff != "" || followed > requests*13/10 {
				t.Errorf("more than 1.3 times as many requests, or races (-want +got):\n%s", diff)
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// A follower that resumes reads the races within Lookback, for late ones, but not each
// time that it looks for the first one after them.
func TestFollowResumesInFewRequestsAfterManyRacesWithinLookback(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		const races, within = 2_000, 720
		for i := range horseracing.RaceID(races) {
			fake.AddRaces(double.Finished(races-i, -time.Duration(i+1)*time.Minute)...)
		}
		query := horseracing.FollowQuery{Since: time.Now().Add(-races * time.Minute), Lookback: within * time.Minute}
		var f followed
		f.process(t, double.ADay(t), fake.Client(), query, within)
		fake.ResetLog()
		f.process(t, double.ADay(t), fake.Client(), query, 1)
		if diff := gocmp.Diff(once(1, within+1), f.times); diff != "" || fake.RequestCount() > within/10+60 {
			t.Errorf("%d requests before it yields a race, races (-want +got):\n%s", fake.RequestCount(), diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// A schedule lets races start together: that costs few requests, and a follower ends
// even if more start at one instant than it reads at first.
func TestFollowReadsRacesThatStartTogether(t *testing.T) {
	const times = 150
	tierNames := []horseracing.TierName{1: "Alpha", 2: "Beta", 3: "Gamma", 5: "Omega"}
	for name, test := range map[string]struct {
		tiers    []horseracing.TierID
		together int // in each of the tiers
		every    time.Duration
	}{
		"twelve a day":                 {[]horseracing.TierID{5}, 12, 24 * time.Hour},
		"an hour's eight of each tier": {[]horseracing.TierID{1, 2, 3, 5}, 8, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
				for n := range times * test.together {
					for _, tier := range test.tiers {
						races := double.Finished(horseracing.RaceID(10*n)+horseracing.RaceID(tier), -time.Duration(n/test.together+1)*test.every)
						races[0].Tier = tierNames[tier]
						fake.AddRaces(races...)
					}
				}
				client, since := fake.Client(), time.Unix(0, 0)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				count := func(races iter.Seq2[*horseracing.Race, error]) (n, requests int) {
					fake.ResetLog()
					for _, err := range races {
						if _, isTie := errors.AsType[*horseracing.TieOverflowError](err); err != nil && !isTie {
							t.Fatal(err)
						}
						n++
					}
					return n, fake.RequestCount()
				}
				listed, paged := count(client.Races.Results(horseracing.ResultsQuery{Since: since, Tiers: test.tiers}).All(ctx))
				n, followed := count(client.Races.Follow(horseracing.FollowQuery{Since: since, Tiers: test.tiers}).CatchUp(ctx))
				t.Logf("a pager makes %d requests, a follower %d", paged, followed)
				if n != listed || ctx.Err() != nil || followed > paged*15/10+60 {
					t.Errorf("%d entries of %d, %v; or more than 1.5 times as many requests, and 60", n, listed, ctx.Err())
				}
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0), horseracingtest.WithLatency(50*time.Millisecond))
		})
	}
}

// withRaceAhead lists a race in the future on top of the newest page.
func withRaceAhead(fake *horseracingtest.Server, id horseracing.RaceID, start time.Time) horseracing.Option {
	return horseracing.WithHTTPClient(&http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := fake.HTTPClient().Transport.RoundTrip(req)
		if err != nil || bytes.Contains(body, []byte("start_time_from")) {
			return resp, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		rest := strings.TrimPrefix(string(text), "[")
		if rest != "]" {
			rest = "," + rest
		}
		page := fmt.Sprintf(`[{"main_race_id":%d,"start_time":%d}`, id, start.UnixMilli()) + rest
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(page)), int64(len(page))
		return resp, nil
	})})
}

// A race that is listed a year ahead does not move what was settled. The time is the
// service's, whatever the local clock shows.
func TestARaceInTheFutureHoldsUpNoOther(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"the clocks agree": 0, "the service's clock is two years ahead": 2 * 365 * 24 * time.Hour} {
		for what, since := range map[string]bool{"since an hour ago": true, "from now on": false} {
			t.Run(name+", "+what, func(t *testing.T) {
				double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
					fake.Advance(ahead)
					fake.AddRaces(double.Finished(1, ahead-2*time.Hour, ahead-59*time.Minute, ahead-time.Minute)...)
					query, want := horseracing.FollowQuery{}, once(100, 104)
					if since {
						query.Since, want = fake.Now().Add(-time.Hour), once(2, 3, 9, 9, 100, 104)
					}
					client := fake.Client(withRaceAhead(fake, 9, fake.Now().AddDate(1, 0, 0)))
					var f followed
					f.run(t, client, query, 10*time.Minute)
					for i := range horseracing.RaceID(5) {
						fake.AddRaces(double.Finished(100+i, ahead-time.Duration(5-i)*time.Minute)...)
						f.run(t, client, query, 10*time.Minute)
					}
					if diff := gocmp.Diff(want, f.times); diff != "" || len(f.errors) > 0 {
						t.Errorf("errors %q, races (-want +got):\n%s", f.errors, diff)
					}
				}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
			})
		}
	}
}

func TestTheLongestLookbackIsOneOfManyYears(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range horseracing.RaceID(40) {
			fake.AddRaces(double.Finished(1+i, -time.Duration(50-i)*time.Minute)...)
		}
		query := horseracing.FollowQuery{Lookback: math.MaxInt64}
		var f followed
		f.run(t, fake.Client(), query, time.Hour)
		fake.AddRaces(double.Finished(100, -2*time.Hour)...)
		f.run(t, fake.Client(), query, time.Hour)
		if diff := gocmp.Diff(once(100, 100), f.times); diff != "" || len(f.errors) > 0 {
			t.Errorf("errors %q, races (-want +got):\n%s", f.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// What the first poll lists is old, also what it cannot read.
func TestAFollowerFromNowOnYieldsNoErrorOfWhatIsOld(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range horseracing.RaceID(30) {
			fake.AddRaces(double.Finished(100+i, -time.Duration(30-i)*time.Minute)...)
		}
		d, client := damaged(fake, unreadable(115))
		var f followed
		f.run(t, client, horseracing.FollowQuery{}, 10*time.Minute)
		fake.AddRaces(double.Finished(200, -time.Second)...)
		d.repair()
		f.run(t, client, horseracing.FollowQuery{}, 3*time.Hour)
		if diff := gocmp.Diff(once(200, 200), f.times); diff != "" || len(f.errors) > 0 || d.struck == 0 {
			t.Errorf("errors %q, races (-want +got):\n%s", f.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
