package following_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// What the service may be, where its document leaves something open.

// entry is a race as a follower or a walk distinguishes it from others.
type entry struct {
	ID    horseracing.RaceID
	Start int64
}

// collected counts what a loop yields that continues after each error.
func collected(t *testing.T, loop iter.Seq2[*horseracing.Race, error]) map[entry]int {
	t.Helper()
	got := map[entry]int{}
	for range 20 {
		var last error
		for race, err := range loop {
			if last = err; err == nil {
				got[entry{race.MainRaceID, race.StartTime.UnixMilli()}]++
			}
		}
		if last == nil {
			return got
		}
	}
	t.Error("it does not end")
	return got
}

// loops are all ways to read the finished races of a tier.
func loops(ctx context.Context, c *horseracing.Client, tier horseracing.TierID, concurrency int) map[string]iter.Seq2[*horseracing.Race, error] {
	return map[string]iter.Seq2[*horseracing.Race, error]{
		"a pager":           c.Races.Results(horseracing.ResultsQuery{Tier: tier, Concurrency: concurrency}).All(ctx),
		"a pager by offset": c.Races.ResultsV1(horseracing.OffsetQuery{Tier: tier}).All(ctx),
		"a follower":        c.Races.Follow(horseracing.FollowQuery{Tier: tier, Since: time.UnixMilli(1), Concurrency: concurrency}).CatchUp(ctx),
	}
}

// A race may be listed before it has its result: it comes once, with it. One that never gets one
// comes, as it is, once a race is listed that starts Lookback later. One that nobody entered has none.
func TestARaceIsHeldBackUntilItHasItsResult(t *testing.T) {
	for name, test := range map[string]struct {
		others, late, isEmpty bool
		outage                time.Duration // that begins once its page was read
		want, slack           time.Duration // after its start
	}{
		"it has one after 20 minutes":                               {others: true, late: true, want: 20 * time.Minute, slack: 2 * time.Minute},
		"it has one after 20 minutes, and the poll lasts for hours": {others: true, late: true, outage: 2 * time.Hour, want: 130 * time.Minute, slack: 7 * time.Minute},
		"it never has one":                                          {others: true, want: 75 * time.Minute, slack: 2 * time.Minute},
		"no race has one":                                           {want: 75 * time.Minute, slack: 2 * time.Minute},
		"nobody entered it":                                         {others: true, isEmpty: true, want: 10 * time.Minute, slack: 2 * time.Minute},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			race := double.Finished(7, -10*time.Minute)[0]
			start := race.StartTime.Time
			for _, other := range append(double.Finished(100, -70*time.Minute, -40*time.Minute, -20*time.Minute), race) {
				if other.MainRaceID == 7 || !test.others {
					other.FinalOrder, other.Winners = nil, nil
				}
				if other.MainRaceID == 7 && test.isEmpty {
					other.Participants = nil
				}
				fake.AddRaces(other)
			}
			time.AfterFunc(65*time.Minute, func() { fake.AddRaces(double.Finished(8, -10*time.Minute)...) })
			if test.late {
				time.AfterFunc(10*time.Minute, func() { fake.AddRaces(race) })
			}
			if test.outage > 0 {
				fake.Inject(horseracingtest.Fault{Path: double.ResultsPath, Status: http.StatusBadGateway, Skip: 1, Times: -1})
				time.AfterFunc(test.outage, fake.ClearFaults)
			}
			f := fake.Client().Races.Follow(horseracing.FollowQuery{Since: start.Add(-2 * time.Hour), Interval: time.Minute})
			var times []time.Duration
			for r, err := range f.All(double.Within(t, 3*time.Hour)) {
				if err == nil && r.MainRaceID == 7 {
					times = append(times, time.Since(start))
					if test.late && !r.Finished() {
						t.Error("it came without its result")
					}
				}
			}
			if len(times) != 1 || times[0] < test.want || times[0] > test.want+test.slack {
				t.Errorf("it came %v after its start, want once, %v after it", times, test.want)
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

// Whichever readings and faults come together, a walk and a follower yield each race
// once; an error does not end it.
func TestReadingsAndFaultsLoseNothing(t *testing.T) {
	const races = 120
	check := func(drawn *rapid.T) {
		readings := horseracingtest.Readings{
			Heats: rapid.Bool().Draw(drawn, "heats"), Inclusive: rapid.Bool().Draw(drawn, "inclusive"),
			TierName:  rapid.SampledFrom([]string{"", "Omega", "5"}).Draw(drawn, "tier"),
			EmptyList: rapid.SampledFrom([]string{"", "null", "204"}).Draw(drawn, "empty list"),
		}
		faults := make([]horseracingtest.Fault, rapid.IntRange(0, 3).Draw(drawn, "faults"))
		for i := range faults {
			faults[i] = horseracingtest.Fault{Path: double.ResultsPath, Skip: rapid.IntRange(2, 20).Draw(drawn, "skip"), Times: rapid.IntRange(1, 5).Draw(drawn, "times")}
			switch rapid.IntRange(min(i, 1), 3).Draw(drawn, "fault") {
			case 0: // once: docs/unknowns.md says what a list costs that is empty again when it is checked
				faults[i].Status, faults[i].Body, faults[i].Times = http.StatusOK, "[]", 1
			case 1:
				faults[i].Status, faults[i].Body = http.StatusOK, "<html>maintenance</html>"
			case 2:
				faults[i].Status = http.StatusServiceUnavailable
			case 3:
				faults[i].Status, faults[i].Header = http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}
			}
		}
		concurrency := rapid.IntRange(1, 5).Draw(drawn, "concurrency")
		tier := rapid.SampledFrom([]horseracing.TierID{3, 5}).Draw(drawn, "tier of the query")
		if readings.TierName == "Omega" {
			tier = horseracing.TierOmega // another tier with that name is ErrBodyIgnored
		}
		problem := ""
		double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
			client := fake.Client()
			want := collected(t, loops(t.Context(), client, tier, 1)["a pager"])
			for name, loop := range loops(t.Context(), client, tier, concurrency) {
				fake.ClearFaults()
				fake.Inject(faults...)
				if diff := cmp.Diff(want, collected(t, loop)); diff != "" {
					problem = fmt.Sprintf("%s (-want +got):\n%s", name, diff)
				}
			}
			if tier == horseracing.TierOmega && len(want) != races || len(want) < races/15 {
				problem = fmt.Sprintf("%d races of %d", len(want), races)
			}
		}, horseracingtest.WithHistory(races), horseracingtest.WithTies(3), horseracingtest.WithSchedule(0), horseracingtest.WithReadings(readings))
		if problem != "" {
			drawn.Fatal(problem)
		}
	}
	for range double.Worlds(1, 6, 1) { // a hundred each
		rapid.Check(t, check)
	}
}
