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
