package cost_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// pasts are histories of the fake: the starts of their races, newest first, or how many
// of its own, which has busy days and quiet months.
var pasts = []struct {
	name   string
	own    int
	starts func(yield func(ago time.Duration) bool)
}{
	{"2,000 of the fake", 2_000, nil},
	{"20,000 of the fake", 20_000, nil},
	{"50 in an hour, once a week", 0, func(yield func(time.Duration) bool) {
		for i := range 5_000 {
			if !yield(time.Duration(i/50)*7*24*time.Hour + time.Duration(i%50+1)*72*time.Second) {
				return
			}
		}
	}},
	{"one a day", 0, func(yield func(time.Duration) bool) {
		for i := range 1_000 {
			if !yield(time.Duration(i+1) * 24 * time.Hour) {
				return
			}
		}
	}},
}

// A follower catches up with a past in little more requests and time than a pager takes.
func TestCatchingUpCostsLittleMoreThanAPager(t *testing.T) {
	double.UnlessShort(t)
	for _, past := range pasts {
		t.Run(past.name, func(t *testing.T) {
			t.Parallel()
			if past.own > double.Worlds(2_000, 20_000, 0) {
				t.Skip("HORSERACING_DEEP is not set")
			}
			double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
				races := past.own
				if past.starts != nil {
					for ago := range past.starts {
						races++
						fake.AddRaces(double.Finished(horseracing.RaceID(races), -ago)...)
					}
				}
				client := fake.Client()
				for _, concurrency := range []int{1, 8} {
					measure := func(loop iter.Seq2[*horseracing.Race, error]) (first, requests int, took time.Duration, oldest time.Time) {
						fake.ResetLog()
						began, n := time.Now(), 0
						for race, err := range loop {
							if err != nil {
								t.Fatal(err)
							}
							if n++; n == 1 {
								first = fake.RequestCount()
							}
							oldest = race.StartTime.Time
						}
						if n != races {
							t.Errorf("%d races of %d", n, races)
						}
						return first, fake.RequestCount(), time.Since(began), oldest
					}
					since := time.UnixMilli(1)
					for _, from := range []string{"1970", "the first race"} {
						_, paged, walked, oldest := measure(client.Races.Results(horseracing.ResultsQuery{Since: since, Concurrency: concurrency}).All(t.Context()))
						first, requests, took, _ := measure(client.Races.Follow(horseracing.FollowQuery{Since: since, Concurrency: concurrency}).CatchUp(t.Context()))
						more, longer := float64(requests)/float64(paged), took.Seconds()/walked.Seconds()
						line := fmt.Sprintf("%d at once, since %s: a pager %d requests, %v; a follower %d (x%.2f, %d before the first race), %v (x%.2f)",
							concurrency, from, paged, walked.Round(time.Millisecond), requests, more, first, took.Round(time.Millisecond), longer)
						t.Log(line)
						most := walked * 22 / 10
						if from == "1970" {
							most += 6 * time.Second // an empty page is requested again, after 200 ms
						}
						if more > 1.4 || took > most || first > 80 { // the order of responses varies by a few requests
							t.Errorf("that is more than 1.4 times the requests, %v, or 80 requests before the first race", most)
						}
						since = oldest
					}
				}
			}, horseracingtest.WithHistory(past.own), horseracingtest.WithSchedule(0), horseracingtest.WithLatency(20*time.Millisecond))
		})
	}
}
