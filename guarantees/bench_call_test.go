package guarantees_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// canned responds to every request with the same body, at once.
type canned []byte

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(c)), Body: io.NopCloser(bytes.NewReader(c)), Request: req,
	}, nil
}

const cannedURL = "https://races.example"

func (c canned) sdk(b testing.TB, opts ...horseracing.Option) *horseracing.Client {
	client, err := horseracing.NewClient(cannedURL, "key", append(opts, horseracing.WithHTTPClient(&http.Client{Transport: c}))...)
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// pageOfRaces is a page as the fake sends it: ten races, about 9 KB.
func pageOfRaces(b testing.TB) canned {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	var page []json.RawMessage
	if err := fake.Client().Do(context.Background(), http.MethodGet, "/api/v2/races/results", struct{}{}, &page); err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(page)
	if err != nil {
		b.Fatal(err)
	}
	return text
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
	page := pageOfRaces(b)
	from := map[string]int64{"start_time_from": 1_700_000_000_000}
	plain := func(c canned, path string, body any, into func() any, unmarshal func([]byte, any) error) func() error {
		client := &http.Client{Transport: c}
		return func() error { return plainCall(ctx, client, cannedURL+path, "key", body, into(), unmarshal) }
	}
	v2 := func(data []byte, into any) error { return jsonv2.Unmarshal(data, into) }
	races := func() any { return new([]plainRace) }

	sdk := page.sdk(b)
	onePage := func() error { _, err := sdk.Races.Open(ctx); return err }
	compare(b, "page/by-hand-encoding-json", onePage, plain(page, "/api/v1/races/open", nil, races, json.Unmarshal))
	compare(b, "page/by-hand-same-decoder", onePage, plain(page, "/api/v1/races/open", nil, races, v2))
	paged := func() error {
		_, err := sdk.Races.Results(horseracing.ResultsQuery{Before: time.UnixMilli(2_000_000_000_000)}).Take(ctx, 10)
		return err
	}
	compare(b, "page-through-a-pager/by-hand-encoding-json", paged, plain(page, "/api/v2/races/results", from, races, json.Unmarshal))

	empty := canned("[]")
	idle := empty.sdk(b)
	open := func() error { _, err := idle.Races.Open(ctx); return err }
	compare(b, "empty/by-hand", open, plain(empty, "/api/v1/races/open", nil, races, json.Unmarshal))

	listings := breedingListings(5_000)
	breeding := listings.sdk(b)
	compare(b, "5000-listings/by-hand", func() error { _, err := breeding.Horses.OpenForBreeding(ctx); return err },
		plain(listings, "/api/v1/horses/breeding/open", nil, func() any { return new([]plainListing) }, json.Unmarshal))

	watched := page.sdk(b, horseracing.WithDriftHandler(func(context.Context, horseracing.Drift) {}))
	compare(b, "page/drift-handler-against-none", func() error { _, err := watched.Races.Open(ctx); return err }, onePage)
}

// What a large response takes while it is read, garbage included.
func TestALargeResponseTakesNoMoreThanTwiceItsSizeAndTheResult(t *testing.T) {
	response := breedingListings(5_000)
	client := response.sdk(t)
	if _, err := client.Horses.OpenForBreeding(t.Context()); err != nil { // what is made once is made here
		t.Fatal(err)
	}
	heap := func() (allocated, live uint64) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc, m.HeapAlloc
	}
	settle := func() { runtime.GC(); runtime.GC() } // what pools hold goes with the second
	settle()
	before, liveBefore := heap()
	listings, err := client.Horses.OpenForBreeding(t.Context())
	after, _ := heap()
	settle()
	_, liveAfter := heap()
	if err != nil || len(listings) != 5_000 {
		t.Fatalf("%d listings, %v", len(listings), err)
	}
	taken, result := after-before, liveAfter-liveBefore
	if most := 2*uint64(len(response)) + result; taken > most {
		t.Errorf("%d bytes for a response of %d and a result of %d, more than %d", taken, len(response), result, most)
	}
	runtime.KeepAlive(listings)
	runtime.KeepAlive(client) // which holds the response
}

type plainListing struct {
	Name            string  `json:"name"`
	Number          int64   `json:"number"`
	Gender          string  `json:"gender"`
	WinsFirstCount  int     `json:"wins_first_count"`
	WinsSecondCount int     `json:"wins_second_count"`
	WinsThirdCount  int     `json:"wins_third_count"`
	TotalRaceCount  int     `json:"total_race_count"`
	Price           float64 `json:"price"`
	Generation      int     `json:"generation"`
	Tier            string  `json:"tier"`
}

func breedingListings(n int) canned {
	var text bytes.Buffer
	text.WriteByte('[')
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"name":"Horse number %d","number":%d,"gender":"Stallion","wins_first_count":%d,"wins_second_count":3,"wins_third_count":4,"total_race_count":%d,"price":%d,"generation":%d,"tier":"Omega"}`,
			i, i+1, i%17, i%300, i*1_000_000_000, i%9)
	}
	text.WriteByte(']')
	return text.Bytes()
}
