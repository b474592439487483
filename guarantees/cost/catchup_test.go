package cost_test

import (
	"iter"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// pasts are histories of the fake: how many races, and when the i-th of them started. Without
// start they are the fake's own, which has busy days and quiet months.
var pasts = []struct {
	name  string
	races int
	start func(i int) time.Duration
}{
	{"2,000 of the fake", 2_000, nil},
	{"1,000, one a day", 1_000, func(i int) time.Duration { return time.Duration(i+1) * 24 * time.Hour }},
	{"5,000, 50 in an hour, once a week", 5_000, func(i int) time.Duration {
		return time.Duration(i/50)*7*24*time.Hour + time.Duration(i%50+1)*72*time.Second
	}},
	{"20,000 of the fake", 20_000, nil},
}

// A follower catches up with a past in little more requests and time than a pager takes.
func TestCatchingUpCostsLittleMoreThanAPager(t *testing.T) {
	double.UnlessShort(t)
	for _, past := range pasts[:double.Worlds(3, 4, 0)] {
		own := past.races
		if past.start != nil {
			own = 0
		}
		double.RunBubble(t, past.name, func(t *testing.T, fake *horseracingtest.Server) {
			for i := range past.races - own {
				fake.AddRaces(double.Finished(horseracing.RaceID(i+1), -past.start(i))...)
			}
			var oldest time.Time
			measure := func(loop iter.Seq2[*horseracing.Race, error]) (first, requests int, took time.Duration) {
				fake.ResetLog()
				began, n := time.Now(), 0
				for race := range double.Each(t, loop) {
					if n++; n == 1 {
						first, oldest = fake.RequestCount(), race.StartTime.Time
					}
					if race.StartTime.Before(oldest) {
						oldest = race.StartTime.Time
					}
				}
				if n != past.races {
					t.Errorf("%d races of %d", n, past.races)
				}
				return first, fake.RequestCount(), time.Since(began)
			}
			races, since := fake.Client().Races, time.UnixMilli(1)
			mostRequests, mostTime := 1.4, 3.5 // in 1970 there is no race yet: the first one is found, and an empty page costs a pause
			for _, from := range []string{"1970", "the first race"} {
				for _, concurrency := range []int{1, 8} {
					_, paged, walked := measure(races.Results(horseracing.ResultsQuery{Since: since, Concurrency: concurrency}).All(t.Context()))
					first, requests, took := measure(races.Follow(horseracing.FollowQuery{Since: since, Concurrency: concurrency}).CatchUp(t.Context()))
					more, longer := float64(requests)/float64(paged), took.Seconds()/walked.Seconds()
					t.Logf("since %s, %d at once: %d requests of a pager, x%.2f, %d before the first race; %v, x%.2f", from, concurrency, paged, more, first, walked, longer)
					if more > mostRequests || longer > mostTime || first > 50 { // the order of responses varies by a few requests
						t.Errorf("that is more than %v times the requests, %v times the time, or 50 requests before the first race", mostRequests, mostTime)
					}
				}
				since, mostRequests, mostTime = oldest, 1.25, 2.3
			}
		}, horseracingtest.WithHistory(own), horseracingtest.WithSchedule(0), horseracingtest.WithLatency(20*time.Millisecond))
	}
}
