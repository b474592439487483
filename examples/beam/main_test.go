package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) {
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

// useFake starts a fake that has only these races, and that the workers, in this process, read.
func useFake(t *testing.T, races ...horseracing.Race) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	t.Cleanup(fake.Close)
	fake.AddRaces(races...)
	connect = sync.OnceValues(func() (*horseracing.Client, error) { return fake.Client(), nil })
	return fake
}

var (
	begin = time.Date(2025, 4, 29, 0, 0, 0, 0, time.UTC)
	later = begin.AddDate(0, 1, 0)
)

func race(id int, start time.Time) horseracing.Race {
	return horseracing.Race{
		MainRaceID: horseracing.RaceID(id), StartTime: horseracing.NewTimestamp(start),
		Participants: []horseracing.RaceParticipant{{Number: 11, Total: 70.5}, {Number: 22, Total: 69.25}}, FinalOrder: []int{1, 0},
	}
}

// crawlDays writes the files of the days from the 29th of April to before a day.
func crawlDays(t *testing.T, folder, before string, now time.Time) error {
	return crawl(t.Context(), readDay{5, folder}, "2025-04-29", before, now)
}

// read returns how often each race is in the file of each day.
func read(t *testing.T, folder string) map[string]map[int]int {
	t.Helper()
	files, _ := filepath.Glob(folder + "/*")
	days := map[string]map[int]int{}
	for _, name := range files {
		text, failed := os.ReadFile(name)
		day := map[int]int{}
		for line := range strings.Lines(string(text)) {
			var race struct {
				ID int `json:"main_race_id"`
			}
			failed = errors.Join(failed, json.Unmarshal([]byte(line), &race))
			day[race.ID]++
		}
		expect(t, name, nil, failed)
		days[filepath.Base(name)] = day
	}
	return days
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEachRaceOfADayIsInItsFileOnceAlthoughPagesFail(t *testing.T) {
	want := map[string]map[int]int{"tier5-2025-04-29.jsonl": {}, "tier5-2025-04-30.jsonl": {}, "tier5-2025-05-01.jsonl": {}}
	var races []horseracing.Race
	for i := range 300 { // every 20 minutes, from an hour before the first day; two at a time now and then
		start := begin.Add(time.Duration(i-i/7%2)*20*time.Minute - time.Hour)
		races = append(races, race(i+1, start))
		if i == 50 { // a fee that the client cannot read; whoever reads the file perhaps can
			races[i].EntryFee = horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil))
		}
		if day := want["tier5-"+start.Format(time.DateOnly)+".jsonl"]; day != nil {
			day[i+1] = 1
		}
	}
	fake := useFake(t, races...)
	fake.Inject(
		horseracingtest.Fault{Skip: 2, Status: 503}, horseracingtest.Fault{Skip: 4, ResetBefore: true},
		horseracingtest.Fault{Skip: 6, CutBody: 100}, horseracingtest.Fault{Skip: 8, Status: 429},
	)
	out := t.TempDir()
	expect(t, "crawl", nil, crawlDays(t, out, "2025-05-02", later))
	expect(t, "how often each race is in each file", want, read(t, out))
	expect(t, "remove a day", nil, os.Remove(out+"/tier5-2025-04-30.jsonl"))
	fake.ResetLog()
	expect(t, "crawl again", nil, crawlDays(t, out, "2025-05-02", later))
	expect(t, "how often each race is in each file", want, read(t, out))
	expect(t, "requests few pages", true, fake.RequestCount() <= 20)
}

func TestADayIsWrittenWhenItIsOverAndGetsWhatFinishesLater(t *testing.T) {
	fake := useFake(t, race(1, begin.Add(23*time.Hour)))
	out, midnight := t.TempDir(), begin.AddDate(0, 0, 1)
	file := out + "/tier5-2025-04-29.jsonl"
	for _, step := range []struct {
		after time.Duration // of midnight
		do    func()
		want  map[int]int // races of the file
	}{
		{time.Minute, func() {}, nil},
		{59 * time.Minute, func() {}, nil},
		{time.Hour, func() {}, map[int]int{1: 1}},
		{24 * time.Hour, func() { fake.AddRaces(race(2, begin.Add(22*time.Hour))) }, map[int]int{1: 1, 2: 1}},
		{25 * time.Hour, func() { // a race that the service does not list any more
			lines, _ := os.ReadFile(file)
			expect(t, "write", nil, os.WriteFile(file, append(lines, `{"main_race_id":3,"start_time":1}`+"\n"...), 0o644))
		}, map[int]int{1: 1, 2: 1, 3: 1}},
		{7 * 24 * time.Hour, func() { fake.AddRaces(race(4, begin.Add(21*time.Hour))) }, map[int]int{1: 1, 2: 1, 3: 1}},
	} {
		step.do()
		expect(t, "crawl", nil, crawlDays(t, out, "2025-04-30", midnight.Add(step.after)))
		expect(t, step.after.String()+" after the end of the day", step.want, read(t, out)[filepath.Base(file)])
	}
}

// An instant with more races than a page is reported, and the other races are written. A day that
// fails leaves no file and ends the job.
func TestADayThatIsIncompleteIsAnError(t *testing.T) {
	races := []horseracing.Race{race(1, begin.Add(time.Hour)), race(2, begin.Add(2*time.Hour))}
	for i := range 12 {
		races = append(races, race(10+i, begin.Add(90*time.Minute)))
	}
	fake, written, none := useFake(t, races...), t.TempDir(), t.TempDir()
	incomplete := crawlDays(t, written, "2025-04-30", later)
	expect(t, "races: a page of ten, and the two others", 12, len(read(t, written)["tier5-2025-04-29.jsonl"]))
	fake.Inject(horseracingtest.Fault{Status: 400, Times: -1})
	failed := crawlDays(t, none, "2025-04-30", later)
	expect(t, "files", 0, len(read(t, none)))
	for want, err := range map[string]error{"at 1 instants a whole page": incomplete, "status 400": failed} {
		expect(t, want, true, err != nil && strings.Contains(err.Error(), want))
	}
}
