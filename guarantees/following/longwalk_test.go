package following_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// A history has no end, memory has: what a walk keeps of the races it handed
// out does not grow with them.
func TestALongWalkKeepsNothingOfWhatItYielded(t *testing.T) {
	double.UnlessShort(t)
	const races, early = longHistory, longHistory / 10
	for name, walk := range map[string]func(*horseracing.Client) *horseracing.Pager[horseracing.Race]{
		"by time, one at a time": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.Results(horseracing.ResultsQuery{})
		},
		"by time, four at once": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.Results(horseracing.ResultsQuery{Concurrency: 4})
		},
		"by offset": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.ResultsV1(horseracing.OffsetQuery{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(longListing)})
			pager, n := walk(c), 0
			var before uint64
			for _, err := range pager.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				switch n++; n {
				case early:
					before = double.LiveHeap()
				case races - early:
					if grown := int64(double.LiveHeap() - before); grown > 1<<20 {
						t.Errorf("%d KiB more are held after %d races than after %d", grown>>10, n, early)
					}
				}
			}
			if n != races {
				t.Errorf("%d races of %d", n, races)
			}
			if cursor := pager.Cursor().String(); len(cursor) > 1500 { // by offset, of forty ids and starts
				t.Errorf("a cursor of %d bytes", len(cursor))
			}
		})
	}
}

// longHistory is how many races longListing holds, three a minute.
const longHistory = 100_000

// longListing serves both listings of finished races.
func longListing(req *http.Request) (*http.Response, error) {
	const oldest = 1_600_000_000_000
	var body struct {
		From   *int64 `json:"start_time_from"`
		Offset int64
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return nil, err
	}
	shown := longHistory - body.Offset // race n, counted from the oldest, starts in minute n/3
	if body.From != nil {
		minutes := (*body.From - oldest + 59_999) / 60_000
		shown = min(3*minutes-1, longHistory)
	}
	var page []string
	for n := shown; n > max(0, shown-10); n-- {
		page = append(page, fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, n, oldest+n/3*60_000))
	}
	return double.Respond(200, "["+strings.Join(page, ",")+"]")(req)
}

// Concurrency is how many requests are in flight, no more, and reading ahead
// has its bound: 32 pages for each of them in the range that is read, and as
// many below it.
func TestAWalkKeepsToItsConcurrencyAndItsBound(t *testing.T) {
	for _, concurrency := range []int{1, 4, 8} {
		synctest.Test(t, func(t *testing.T) {
			var inFlight, most, shown atomic.Int64
			var listed sync.Map // the races that were returned
			c := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
				defer inFlight.Add(-1)
				if n := inFlight.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond)
				resp, err := longListing(req)
				if err != nil {
					return nil, err
				}
				text, _ := io.ReadAll(resp.Body)
				var page []horseracing.Race
				if err := json.Unmarshal(text, &page); err != nil {
					return nil, err
				}
				for _, race := range page {
					if _, again := listed.LoadOrStore(race.MainRaceID, true); !again {
						shown.Add(1)
					}
				}
				return double.Respond(200, string(text))(req)
			})})
			n, ahead := 0, int64(0)
			for _, err := range c.Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == longHistory/5 {
					break
				}
				ahead = max(ahead, shown.Load()-int64(n))
				time.Sleep(5 * time.Millisecond) // slower than the service
			}
			if most.Load() != int64(concurrency) {
				t.Errorf("%d requests in flight, want %d", most.Load(), concurrency)
			}
			if bound := int64(10 * (2*32*concurrency + concurrency)); ahead > bound {
				t.Errorf("at %d: read up to %d races ahead, want at most %d", concurrency, ahead, bound)
			}
		})
	}
}
