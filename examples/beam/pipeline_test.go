package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"github.com/google/go-cmp/cmp"
	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) {
	programtest.Main(m, main)
}

var initBeam = sync.OnceFunc(func() {
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler))
})

// newFake starts a service that holds only the test's own races and that the workers, in this process, find
// in their environment.
func newFake(t *testing.T, races ...horseracing.Race) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	t.Cleanup(fake.Close)
	fake.AddRaces(races...)
	initBeam()
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", fake.APIKey)
	return fake
}

// finished is a race that started then, with three horses.
func finished(id int64, start time.Time) horseracing.Race {
	race := horseracing.Race{
		MainRaceID: horseracing.RaceID(id),
		Tier:       "Omega",
		Participants: []horseracing.RaceParticipant{
			{Number: 11, Total: 70.5, Lane: 1}, {Number: 22, Total: 69.25, Lane: 2}, {Number: 33, Total: 71, Lane: 3},
		},
		FinalOrder: []int{1, 0, 2},
		Winners:    []int{1},
	}
	race.StartTime.Time = start
	race.RegistrationDeadline.Time = start.Add(-time.Hour)
	return race
}

var day = time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)

func runCrawl(t *testing.T, c crawl) (map[string]int64, error) {
	t.Helper()
	initBeam()
	c.tier = int(horseracing.TierOmega)
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	build(scope, c)
	result, err := beamx.RunWithMetrics(t.Context(), pipeline)
	if err != nil {
		return nil, err
	}
	return totals(result.Metrics()), nil
}

func TestEveryRaceComesOutOnceAcrossFaultsAndCuts(t *testing.T) {
	// Races across a month's end, one every three minutes; at every sixteenth instant five start at once, and some lie
	// on the edges of the span and just outside.
	since, before := day, day.Add(24*time.Hour)
	var races []horseracing.Race
	want := map[int64]int{}
	add := func(start time.Time) {
		id := int64(1000 + len(races))
		races = append(races, finished(id, start))
		if !start.Before(since) && start.Before(before) {
			want[id] = 1
		}
	}
	for i := range 480 {
		add(since.Add(time.Duration(i) * 3 * time.Minute))
		if i%16 == 0 {
			for range 4 {
				add(since.Add(time.Duration(i) * 3 * time.Minute))
			}
		}
	}
	add(since.Add(-time.Millisecond))
	add(before)
	add(before.Add(-time.Millisecond))
	fake := newFake(t, races...)
	fake.Inject(
		horseracingtest.Fault{Skip: 2, Status: 503},
		horseracingtest.Fault{Skip: 4, ResetBefore: true},
		horseracingtest.Fault{Skip: 6, ResetAfter: true},
		horseracingtest.Fault{Skip: 8, CutBody: 100},
		horseracingtest.Fault{Skip: 10, Status: 429},
		// A window that makes no progress is one that Prism cuts.
		horseracingtest.Fault{Skip: 12, Times: 4, Delay: time.Second},
	)

	out := t.TempDir()
	sums, err := runCrawl(t, crawl{since: since, before: before, window: 12 * time.Hour, concurrency: 1, out: out})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("metrics: %v, requests: %d", sums, fake.RequestCount())

	got := map[int64]int{}
	for month, lines := range readFolder(t, out) {
		for _, race := range lines {
			got[int64(race.MainRaceID)]++
			if race.StartTime.UTC().Format("2006-01") != month {
				t.Errorf("race %d of %v lies in the file of %s", race.MainRaceID, race.StartTime, month)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("how often each race came out (-want +got):\n%s", diff)
	}
	if sums["races"] != int64(len(want)) || sums["overflows"] != 0 {
		t.Errorf("metrics %v, want %d races and no overflow", sums, len(want))
	}
	if sums["windows"] <= 2 {
		t.Errorf("metrics %v: the runner did not cut windows while they were read", sums)
	}
}

func TestInstantsThatTheListingCannotShowWholeAreCounted(t *testing.T) {
	var races []horseracing.Race
	for i := range 12 {
		races = append(races, finished(int64(i+1), day))
	}
	newFake(t, append(races, finished(100, day.Add(-time.Hour)), finished(101, day.Add(time.Hour)))...)
	sums, err := runCrawl(t, crawl{since: day.Add(-2 * time.Hour), before: day.Add(2 * time.Hour), window: time.Hour, concurrency: 1, out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if sums["overflows"] != 1 || sums["races"] != 12 { // a page of ten, and the two around it
		t.Errorf("metrics %v, want 1 overflow and 12 races", sums)
	}
}

func TestRacesThatCannotBeReadAreCountedAndCostOnlyThemselves(t *testing.T) {
	second := finished(2, day)
	second.EntryFee = horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil)) // beyond what is read
	newFake(t, finished(1, day), second, finished(3, day.Add(-time.Hour)))
	c := crawl{since: day.Add(-2 * time.Hour), before: day.Add(2 * time.Hour), window: time.Hour, concurrency: 1, out: t.TempDir()}
	sums, err := runCrawl(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if sums["unreadable"] != 1 || sums["races"] != 2 || sums["overflows"] != 0 {
		t.Errorf("metrics %v, want 1 unreadable race and 2 others", sums)
	}
	var out strings.Builder
	if err := report(&out, sums, c); err == nil || err.Error() != "incomplete: 1 races could not be read and are in no file" || strings.Contains(out.String(), "Complete") {
		t.Errorf("it printed %q and returned %v", out.String(), err)
	}
}

func TestPipelineHoldsNeitherKeyNorAddress(t *testing.T) {
	fake := newFake(t)
	pipeline, scope := beam.NewPipelineWithRoot()
	build(scope, crawl{since: day, before: day.Add(time.Hour), window: time.Hour, concurrency: 1, out: "out"})
	edges, _, err := pipeline.Build()
	if err != nil {
		t.Fatal(err)
	}
	environment, err := graphx.CreateEnvironment(t.Context(), "beam:env:docker:v1", func(context.Context) string { return "image" })
	if err != nil {
		t.Fatal(err)
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	wire, err := proto.Marshal(model)
	if err != nil {
		t.Fatal(err)
	}
	if !holds(string(wire), "Concurrency") {
		t.Error("the search finds not even what the pipeline does hold")
	}
	for what, secret := range map[string]string{"key": fake.APIKey, "address": fake.URL} {
		if holds(string(wire), secret) {
			t.Errorf("the pipeline that is sent to the runner holds the service's %s", what)
		}
	}
}

var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{16,}=*`)

// holds looks for a secret in text and in whatever is in it as base64, which is how Beam packs its functions.
func holds(text, secret string) bool {
	if strings.Contains(text, secret) {
		return true
	}
	return slices.ContainsFunc(base64Text.FindAllString(text, -1), func(packed string) bool {
		inner, err := base64.StdEncoding.DecodeString(packed)
		return err == nil && holds(string(inner), secret)
	})
}

func TestAWorkerWithoutAddressNamesTheMissingVariable(t *testing.T) {
	t.Setenv("HORSERACING_BASE_URL", "")
	t.Setenv("HORSERACING_API_KEY", "key")
	_, err := runCrawl(t, crawl{since: day, before: day.Add(time.Hour), window: time.Hour, concurrency: 1, out: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "HORSERACING_BASE_URL") {
		t.Errorf("error = %v, want one that names the variable", err)
	}
}

// readFolder decodes every line of every file of a folder, by the file's month.
func readFolder(t *testing.T, folder string) map[string][]horseracing.Race {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	months := map[string][]horseracing.Race{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		month := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		for line := range strings.Lines(string(text)) {
			var race horseracing.Race
			if err := json.Unmarshal([]byte(line), &race); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			months[month] = append(months[month], race)
		}
	}
	return months
}
