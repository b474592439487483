package cost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
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
