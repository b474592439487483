package guarantees_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// plainRace and plainPage are what a careful programmer writes by hand: plain
// structs, encoding/json, no retries, no overlap between pages.
type plainRace struct {
	MainRaceID           int64     `json:"main_race_id"`
	StartTime            int64     `json:"start_time"`
	RegistrationDeadline int64     `json:"registration_deadline"`
	Type                 string    `json:"type"`
	Length               int       `json:"length"`
	V2                   bool      `json:"v2"`
	NoEquipment          bool      `json:"no_equipment"`
	EntryFee             float64   `json:"entry_fee"`
	Prizes               []float64 `json:"prizes"`
	Tier                 string    `json:"tier"`
	Info                 struct {
		Name           string `json:"name"`
		HippodromeType string `json:"hippodrome_type"`
		HippodromeName string `json:"hippodrome_name"`
		Turf           string `json:"turf"`
	} `json:"info"`
	Places       int `json:"places"`
	MinLevel     int `json:"min_level"`
	MaxLevel     int `json:"max_level"`
	Participants []struct {
		Number int64   `json:"number"`
		Total  float64 `json:"total"`
		Lane   int     `json:"lane"`
	} `json:"participants"`
	Status     string `json:"status"`
	FinalOrder []int  `json:"final_order"`
	Winners    []int  `json:"winners"`
}

// plainCall makes a GET request with a body and decodes the response.
func plainCall(ctx context.Context, client *http.Client, url, key string, body, into any, unmarshal func([]byte, any) error) error {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, payload)
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return unmarshal(text, into)
}

// plainLoop pages through the results as most programs do: from the last start
// time on, until a page is empty.
func plainLoop(ctx context.Context, client *http.Client, url, key string, most int, each func(*plainRace)) error {
	body := map[string]int64{}
	for n := 0; n < most; {
		var page []plainRace
		if err := plainCall(ctx, client, url+"/api/v2/races/results", key, body, &page, json.Unmarshal); err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		for i := range page {
			each(&page[i])
		}
		n += len(page)
		body["start_time_from"] = page[len(page)-1].StartTime
	}
	return nil
}

// Most programs page from the last start time they saw. The service leaves out
// races that start at exactly that time, so those that share it are lost.
func TestThePlainLoopLosesRacesThatThePagerDoesNot(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(3_000), horseracingtest.WithSchedule(0))
	defer fake.Close()
	plain := map[int64]bool{}
	if err := plainLoop(t.Context(), fake.HTTPClient(), fake.URL, fake.APIKey, 1<<30, func(r *plainRace) { plain[r.MainRaceID] = true }); err != nil {
		t.Fatal(err)
	}
	all, lost := 0, []horseracing.RaceID{}
	for race, err := range fake.Client().Races.Results(horseracing.ResultsQuery{Concurrency: 4}).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all++
		if !plain[int64(race.MainRaceID)] {
			lost = append(lost, race.MainRaceID)
		}
	}
	if all != 3_000 {
		t.Errorf("the pager read %d of 3,000 races", all)
	}
	if len(lost) == 0 || len(plain)+len(lost) != all {
		t.Errorf("the plain loop read %d races and lost %d of %d", len(plain), len(lost), all)
	}
	t.Logf("the plain loop lost %d of %d races: %v", len(lost), all, lost)
}

// BenchmarkWalk compares walks over 5,000 races behind 20 ms of latency: one
// page at a time, sixteen at once, and a plain loop that loses races. An even
// history has a race every few minutes; the fake's own has busy days and quiet
// months, of which a walk must find out.
func BenchmarkWalk(b *testing.B) {
	const races = 5_000
	latency := horseracingtest.WithLatency(20 * time.Millisecond)
	own := horseracingtest.NewServer(horseracingtest.WithHistory(races), horseracingtest.WithSchedule(0), latency)
	defer own.Close()
	even := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0), latency)
	defer even.Close()
	some, err := own.Client().Races.Results(horseracing.ResultsQuery{}).Take(b.Context(), 10)
	if err != nil {
		b.Fatal(err)
	}
	at, rng := even.Now(), rand.New(rand.NewPCG(5, 5))
	for i := range races {
		race := some[i%len(some)]
		at = at.Add(-time.Duration(rng.IntN(10)) * time.Minute) // one in ten starts with another
		race.ID, race.MainRaceID, race.StartTime = fmt.Sprintf("race-%d", i), horseracing.RaceID(races-i), horseracing.NewTimestamp(at)
		even.AddRaces(race)
	}
	b.Run("even", func(b *testing.B) { benchmarkWalk(b, even, races) })
	b.Run("uneven", func(b *testing.B) { benchmarkWalk(b, own, races) })
}

func benchmarkWalk(b *testing.B, fake *horseracingtest.Server, races int) {
	walk := func(concurrency int) (requests int, took time.Duration) {
		client := fake.Client()
		fake.ResetLog()
		started := time.Now()
		n := 0
		for _, err := range client.Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != races {
			b.Fatalf("%d of %d races", n, races)
		}
		return fake.RequestCount(), time.Since(started)
	}
	for b.Loop() {
		one, slow := walk(1)
		var several int
		var times []time.Duration
		for range 5 { // a walk takes less than a second and is soon disturbed
			requests, took := walk(16)
			several, times = max(several, requests), append(times, took)
		}
		slices.Sort(times)
		fast := times[len(times)/2]
		started := time.Now()
		if err := plainLoop(b.Context(), fake.HTTPClient(), fake.URL, fake.APIKey, 1<<30, func(*plainRace) {}); err != nil {
			b.Fatal(err)
		}
		plain := time.Since(started)
		b.ReportMetric(slow.Seconds()/fast.Seconds(), "times-as-fast-at-16")
		b.ReportMetric(plain.Seconds()/fast.Seconds(), "plain-loop/at-16")
		b.ReportMetric(float64(10*one)/float64(races), "requests/page")
		b.ReportMetric(float64(several)/float64(one), "requests-at-16/one")
	}
}

// BenchmarkCrawl walks as fast as it can, by turns with a plain loop. The fake
// shares the processor, and its time is counted with either's.
func BenchmarkCrawl(b *testing.B) {
	const races = 20_000
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(races), horseracingtest.WithSchedule(0))
	defer fake.Close()
	type cost struct{ wall, cpu time.Duration }
	measure := func(total *cost, crawl func()) {
		started, used := time.Now(), cpuTime()
		crawl()
		total.wall += time.Since(started)
		total.cpu += cpuTime() - used
	}
	for _, concurrency := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("concurrency-%d", concurrency), func(b *testing.B) {
			client := fake.Client()
			var sdk, plain cost
			for b.Loop() {
				measure(&sdk, func() {
					for _, err := range client.Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(b.Context()) {
						if err != nil {
							b.Fatal(err)
						}
					}
				})
				measure(&plain, func() {
					if err := plainLoop(b.Context(), fake.HTTPClient(), fake.URL, fake.APIKey, 1<<30, func(*plainRace) {}); err != nil {
						b.Fatal(err)
					}
				})
			}
			n := float64(races * b.N)
			b.ReportMetric(n/sdk.wall.Seconds(), "races/s")
			b.ReportMetric(sdk.cpu.Seconds()/n*1e6, "cpu-s/million-races")
			b.ReportMetric(plain.wall.Seconds()/sdk.wall.Seconds(), "times-as-fast-as-plain")
			b.ReportMetric(sdk.cpu.Seconds()/max(plain.cpu, 1).Seconds(), "cpu/plain")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkFake compares what the fake can serve with what one client takes
// from it: sixteen readers that throw the pages away, by turns with one walk.
func BenchmarkFake(b *testing.B) {
	const races, readers, pages, walk = 1_000_000, 16, 8_000, 1_000
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(races), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLog(1))
	defer fake.Close()
	ctx, client, plain := b.Context(), fake.Client(), fake.HTTPClient()
	newest, err := client.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1)
	if err != nil {
		b.Fatal(err)
	}
	discard := func([]byte, any) error { return nil }
	var served, walked time.Duration
	requests := 0
	for b.Loop() {
		started := time.Now()
		var group sync.WaitGroup
		for r := range readers {
			group.Go(func() {
				for n := range pages / readers {
					from := newest[0].StartTime.UnixMilli() - int64(n*readers+r)*3_600_000
					err := plainCall(ctx, plain, fake.URL+"/api/v2/races/results", fake.APIKey, map[string]int64{"start_time_from": from}, nil, discard)
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		served += time.Since(started)

		fake.ResetLog()
		started = time.Now()
		if _, err := client.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 10*walk); err != nil {
			b.Fatal(err)
		}
		walked += time.Since(started)
		requests += fake.RequestCount()
	}
	serves, takes := float64(pages*b.N)/served.Seconds(), float64(requests)/walked.Seconds()
	b.ReportMetric(serves, "pages/s-served")
	b.ReportMetric(takes, "pages/s-taken")
	b.ReportMetric(serves/takes, "served/taken")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLiveHeap walks over a million races and prints how the live heap
// grows from the 10,000th to the last.
func BenchmarkLiveHeap(b *testing.B) {
	const races = 1_000_000
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(races), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLog(1))
	defer fake.Close()
	live := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	for b.Loop() {
		client := fake.Client()
		var early float64
		n, grown := 0, -1e9
		for _, err := range client.Races.Results(horseracing.ResultsQuery{Concurrency: 2}).All(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			switch n++; {
			case n == 10_000:
				early = live()
			case n%100_000 == 0:
				grown = max(grown, live()-early)
			}
		}
		if n != races {
			b.Fatalf("%d of %d races", n, races)
		}
		b.ReportMetric(early, "MB-at-10k-races")
		b.ReportMetric(grown, "MB-more-up-to-1M-races")
		if grown > 2 {
			b.Errorf("the live heap grew by %.1f MB", grown)
		}
	}
}
