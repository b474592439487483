// Package simulation_test runs whole days of everything at once: a service in trouble,
// and programs that crawl, follow, watch and register, each killed anywhere and started
// again. See TestADayOfEverything.
package simulation_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

const (
	resultsPath  = "/api/v2/races/results"
	registerPath = "/api/v1/races/register"

	day       = 24 * time.Hour
	calm      = 4 * time.Hour    // at the end of the world, without trouble and kills
	published = 36 * time.Minute // after its start each race is in the results
)

// world is the service on one day, and what the programs did to it.
type world struct {
	t        *testing.T
	fake     *horseracingtest.Server
	way      http.RoundTripper // to it
	seed     uint64
	calm     time.Time // from then on there is no trouble
	end      time.Time
	programs sync.WaitGroup
	dir      string
	readings horseracingtest.Readings

	names uint64 // of the programs, how many
	kills atomic.Int64

	mu  sync.Mutex
	bad int // races whose id leaves this remainder cannot be read, nor can the pages of some
}

// newWorld starts a service with a past, of races that tie, and with ten races an hour
// that open, fill, close, run and finish late. Its clock is off, and its limits are of
// any kind.
func newWorld(t *testing.T, seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 0))
	time.Sleep(day / 2) // the bubble begins at midnight: the day has parts of two dates
	reading := drawReading(rand.New(rand.NewPCG(seed, 3)))
	readings := reading.Readings
	t.Logf("the service reads its document so that %s; to run it again: go test ./guarantees/simulation -count=5 -seed=%d", reading.Name, seed)
	end := time.Now().Add(time.Duration(double.Worlds(24, 24, 8)) * time.Hour)
	w := &world{readings: readings, t: t, seed: seed, calm: end.Add(-calm), end: end, dir: memory(t), bad: -1}
	skew := time.Duration(random.Int64N(int64(20*time.Minute))) - 10*time.Minute
	w.fake = horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithReadings(readings), horseracingtest.WithSeed(seed),
		horseracingtest.WithClock(func() time.Time { return time.Now().Add(skew) }),
		horseracingtest.WithLatency(time.Duration(1+random.IntN(200))*time.Millisecond),
		horseracingtest.WithHistory(random.IntN(400)), horseracingtest.WithTies(1+random.IntN(9)), horseracingtest.WithSchedule(10), horseracingtest.WithRequestLog(1<<20))
	w.way = w.fake.HTTPClient().Transport
	if readings.Participants == "" && random.IntN(2) == 0 { // a race lists its horses at once
		w.way = &double.Gateway{Next: w.way}
		t.Log("a proxy repeats registrations, and caches what is read")
	}
	inLine := horseracing.NewTimestamp(w.fake.Now().Add(-time.Duration(random.Int64N(int64(3 * day)))))
	onInstant := random.IntN(14) // more than a page holds, at times
	if readings.Inclusive {      // a full page at start_time_from is an ignored body
		onInstant = min(onInstant, 9)
	}
	for i := range horseracing.RaceID(onInstant) {
		w.fake.AddRaces(horseracing.Race{MainRaceID: 1<<40 + i, StartTime: inLine, FinalOrder: []int{0}, Participants: []horseracing.RaceParticipant{{Number: 1}}})
	}
	limits := []horseracingtest.RequestLimit{
		{PerSecond: 0.5 + 5*random.Float64(), Burst: 1 + random.IntN(20)},
		{PerWindow: 20 + random.IntN(100), Window: time.Minute, Sliding: random.IntN(2) == 0},
		{InFlight: 1 + random.IntN(4)},
		{Path: resultsPath, PerWindow: 20 + random.IntN(40), Window: time.Minute},
	}
	for i := range limits {
		limits[i].RetryAfter = []string{"", "seconds", "date"}[random.IntN(3)]
	}
	w.fake.SetRequestLimit(limits[random.IntN(len(limits))])
	return w
}

// memory returns a folder in memory, if there is one: a ledger syncs each of its lines.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "horseracing")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// drawReading returns a reading. Each kind is as probable as any other.
func drawReading(random *rand.Rand) double.Reading {
	kinds := map[string][]double.Reading{}
	for _, r := range double.Readings() {
		kinds[r.Kind] = append(kinds[r.Kind], r)
	}
	names := slices.Sorted(maps.Keys(kinds))
	kind := kinds[names[random.IntN(len(names))]]
	return kind[random.IntN(len(kind))]
}

// trouble lets the service fail in some way for a while, again and again, until the
// world is calm.
func (w *world) trouble() {
	random := rand.New(rand.NewPCG(w.seed, 1))
	for {
		w.fake.ClearFaults()
		w.spoil(-1)
		good := time.Duration(random.Int64N(int64(40 * time.Minute)))
		if !time.Now().Add(good).Before(w.calm) {
			return
		}
		time.Sleep(good)
		w.fake.Inject(w.kind(random)...)
		lasts := time.Duration(random.Int64N(int64(20 * time.Minute)))
		if random.IntN(4) == 0 {
			lasts *= 9
		}
		time.Sleep(min(lasts, time.Until(w.calm)))
	}
}

// kind returns the faults of one kind of trouble.
func (w *world) kind(random *rand.Rand) []horseracingtest.Fault {
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	share := []float64{0.05, 0.3, 0.9, 0.98}[random.IntN(4)]
	failure := []int{500, 502, 503, 504}[random.IntN(4)]
	echo := fmt.Sprintf(`{"error":{"message":"%s is not welcome"}}`, w.fake.APIKey)
	var faults []horseracingtest.Fault
	switch random.IntN(12) {
	case 0: // an outage
		faults = []horseracingtest.Fault{{Status: failure, Times: -1}}
	case 1: // and one in which a few requests pass
		faults = []horseracingtest.Fault{{Status: failure, Body: "<html>down</html>", Probability: share}}
	case 2:
		faults = []horseracingtest.Fault{{ResetBefore: true, Probability: share}}
	case 3:
		faults = []horseracingtest.Fault{{ResetAfter: true, Probability: share}}
	case 4: // a registration that takes effect, now or later, without a response
		faults = []horseracingtest.Fault{
			{Path: registerPath, ResetAfter: true, Probability: 0.3},
			{Path: registerPath, TakesEffectAfter: time.Duration(1 + random.Int64N(int64(time.Hour))), Probability: share},
		}
	case 5:
		faults = []horseracingtest.Fault{{Delay: time.Duration(random.Int64N(int64(time.Minute))), Probability: share}}
	case 6: // a page of a gateway
		faults = []horseracingtest.Fault{{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>maintenance</html>", Probability: share}}
	case 7:
		faults = []horseracingtest.Fault{{CutBody: 1 + random.IntN(900), Probability: share}}
	case 8: // a replica that lags
		faults = []horseracingtest.Fault{{Path: pick(resultsPath, "/api/v1/races/open"), Status: http.StatusOK, Body: "[]", Skip: random.IntN(5)}}
	case 9: // maintenance of a route
		faults = []horseracingtest.Fault{{
			Path: pick(resultsPath, "/api/v1/races/", registerPath), Status: []int{429, 503}[random.IntN(2)], Times: -1,
			Header: http.Header{"Retry-After": {fmt.Sprint(random.IntN(1800))}},
		}}
	case 10: // a Retry-After that is wrong, and an echo of the key; 400 may be that of "already registered"
		faults = []horseracingtest.Fault{{
			Status: []int{418, 429, 500, 503}[random.IntN(4)], Body: echo, Probability: min(share, 0.3),
			Header: http.Header{"Retry-After": {pick("0", "-5", "soon", "86400", "9223372037", "Fri, 31 Dec 1999 23:59:59 GMT")}},
		}}
	case 11: // races that cannot be read, and pages
		w.spoil(random.IntN(64))
	}
	return faults
}

// spoil sets which races and pages cannot be read from now on.
func (w *world) spoil(bad int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad = bad
}

var raceID = regexp.MustCompile(`"main_race_id":(\d+),`)

// spoiled returns a page of results as it is at the moment.
func (w *world) spoiled(page []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, found := range raceID.FindAllSubmatchIndex(page, -1) {
		switch id, _ := strconv.Atoi(string(page[found[2]:found[3]])); {
		case w.bad < 0:
		case id%64 == w.bad:
			return page[:found[1]]
		case id%32 == w.bad:
			return slices.Concat(page[:found[1]], []byte(`"winners":7,`), page[found[1]:])
		}
	}
	return page
}
