package cost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// canned is a client that gets the same body for every request, at once.
func canned(body string) *http.Client {
	return &http.Client{Transport: double.TripFunc(double.Respond(http.StatusOK, body, "Content-Type: application/json"))}
}

// pageOfRaces is a page as the fake sends it: ten races, about 9 KB.
func pageOfRaces(tb testing.TB) string {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	var page []json.RawMessage
	double.NoError(tb, fake.Client().Do(tb.Context(), http.MethodGet, double.ResultsPath, struct{}{}, &page))
	return string(double.Must(json.Marshal(page)))
}

// plainRace is what a careful programmer writes by hand: a plain struct.
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

// plainCall makes a GET request and decodes the response, without retries.
func plainCall(ctx context.Context, client *http.Client, url, key string, into any, unmarshal func([]byte, any) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
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

// compare runs two things by turns, so that both meet the same noise, and
// reports what the first costs as a share of the second.
func compare(b *testing.B, name string, one, other func() error) {
	b.Run(name, func(b *testing.B) {
		var ratios []float64
		time1 := func(f func() error) time.Duration {
			started := time.Now()
			for range 20 {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			return time.Since(started)
		}
		for b.Loop() {
			ratios = append(ratios, time1(one).Seconds()/time1(other).Seconds())
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "time-ratio")
		allocs := func(f func() error) float64 { return testing.AllocsPerRun(50, func() { _ = f() }) }
		first, second := allocs(one), allocs(other)
		b.ReportMetric(first, "allocs")
		b.ReportMetric(second, "allocs-other")
		b.ReportMetric(first/second, "allocs-ratio")
		b.ReportMetric(0, "ns/op") // of forty calls: no use
	})
}

// BenchmarkCall compares calls of the SDK with what a careful programmer
// writes by hand, without retries.
func BenchmarkCall(b *testing.B) {
	ctx := context.Background()
	test := func(name, body string, unmarshal func([]byte, any) error) {
		sdk, plain := double.Connect(b, double.Service, canned(body)), canned(body)
		compare(b, name, func() error { return double.OpenRaces(ctx, sdk) }, func() error {
			return plainCall(ctx, plain, double.Service+"/api/v1/races/open", "key", new([]plainRace), unmarshal)
		})
	}
	page := pageOfRaces(b)
	test("page/by-hand-encoding-json", page, json.Unmarshal)
	test("page/by-hand-same-decoder", page, func(data []byte, into any) error { return jsonv2.Unmarshal(data, into) })
	test("empty/by-hand", "[]", json.Unmarshal)
}

// The allocations of a call are those of docs/performance.md: a few more go unnoticed in a
// time, and not here.
func TestACallAllocatesLittle(t *testing.T) {
	double.UnlessShort(t)
	for most, body := range map[float64]string{30: "[]", 200: pageOfRaces(t)} {
		client := double.Connect(t, double.Service, canned(body))
		allocations := testing.AllocsPerRun(100, func() { double.NoError(t, double.OpenRaces(t.Context(), client)) })
		double.FailIf(t, allocations > most, "%v allocations for %d bytes, at most %v wanted", allocations, len(body), most)
	}
}

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
				double.Equal(t, "races", past.races, n)
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
