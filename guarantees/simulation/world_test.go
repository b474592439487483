// Package simulation_test runs whole days of everything at once: a service in trouble,
// and programs that crawl, follow, watch and register, each killed anywhere and started
// again. See TestADayOfEverything.
package simulation_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

const (
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

	bad atomic.Int64 // races whose id leaves this remainder cannot be read, nor can the pages of some
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
	w := &world{readings: readings, t: t, seed: seed, calm: end.Add(-calm), end: end, dir: t.TempDir()}
	w.bad.Store(-1)
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
		{Path: double.ResultsPath, PerWindow: 20 + random.IntN(40), Window: time.Minute},
	}
	for i := range limits {
		limits[i].RetryAfter = []string{"", "seconds", "date"}[random.IntN(3)]
	}
	w.fake.SetRequestLimit(limits[random.IntN(len(limits))])
	return w
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
		w.bad.Store(-1)
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

// kind returns the faults of one kind of trouble, or sees to it that some races and pages cannot be read.
func (w *world) kind(random *rand.Rand) []horseracingtest.Fault {
	type faults = []horseracingtest.Fault
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	upTo := func(d time.Duration) time.Duration { return 1 + time.Duration(random.Int64N(int64(d))) }
	share := []float64{0.05, 0.3, 0.9, 0.98}[random.IntN(4)]
	failure := []int{500, 502, 503, 504}[random.IntN(4)]
	wrong := pick("0", "-5", "soon", "86400", "9223372037", "Fri, 31 Dec 1999 23:59:59 GMT")
	kinds := []faults{
		{{Status: failure, Times: -1}},                                     // an outage
		{{Status: failure, Body: "<html>down</html>", Probability: share}}, // and one in which a few requests pass
		{{ResetBefore: true, Probability: share}},
		{{ResetAfter: true, Probability: share}},
		{ // a registration that takes effect, now or later, without a response
			{Path: registerPath, ResetAfter: true, Probability: 0.3},
			{Path: registerPath, TakesEffectAfter: upTo(time.Hour), Probability: share},
		},
		{{Delay: upTo(time.Minute), Probability: share}},
		{{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>maintenance</html>", Probability: share}}, // a page of a gateway
		{{CutBody: 1 + random.IntN(900), Probability: share}},
		{{Path: pick(double.ResultsPath, "/api/v1/races/open"), Status: http.StatusOK, Body: "[]", Skip: random.IntN(5)}}, // a replica that lags
		{{ // maintenance of a route
			Path: pick(double.ResultsPath, "/api/v1/races/", registerPath), Status: []int{429, 503}[random.IntN(2)], Times: -1,
			Header: http.Header{"Retry-After": {fmt.Sprint(random.IntN(1800))}},
		}},
		{{ // a Retry-After that is wrong, and an echo of the key; 400 may be that of "already registered"
			Status: []int{418, 429, 500, 503}[random.IntN(4)], Body: fmt.Sprintf(`{"error":{"message":"%s is not welcome"}}`, w.fake.APIKey),
			Header: http.Header{"Retry-After": {wrong}}, Probability: min(share, 0.3),
		}},
		nil,
	}
	i := random.IntN(len(kinds))
	if kinds[i] == nil {
		w.bad.Store(random.Int64N(64))
	}
	return kinds[i]
}

var raceID = regexp.MustCompile(`"main_race_id":(\d+),`)

// spoiled returns a page of results as it is at the moment.
func (w *world) spoiled(page []byte) []byte {
	bad := int(w.bad.Load())
	for _, found := range raceID.FindAllSubmatchIndex(page, -1) {
		switch id, _ := strconv.Atoi(string(page[found[2]:found[3]])); {
		case bad < 0:
		case id%64 == bad:
			return page[:found[1]]
		case id%32 == bad:
			return slices.Concat(page[:found[1]], []byte(`"winners":7,`), page[found[1]:])
		}
	}
	return page
}

var (
	firstSeed = flag.Uint64("seed", 2, "the first seed of the simulation")
	seeds     = flag.Uint64("seeds", 1, "how many seeds to simulate; .ci/deep takes 1000")
)

// A day of everything, with every kind of trouble and each program killed anywhere: each
// finished race is once in each store, or named by an error, and none is invented; nobody
// pays twice, no budget is exceeded, and each ledger is equal to the service; no wait is
// beyond its bound; no key is in any error, log or file; and when everything has ended no
// goroutine is left.
//
// A seed decides about the service, its trouble and the programs. The waits of the
// library have jitter of their own, so a failure may need some runs to come again.
func TestADayOfEverything(t *testing.T) {
	debug.SetGCPercent(400) // a day costs less
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	defer w.fake.Close()
	crawls := w.crawl()
	stores := []*store{w.follow("follow", false), w.follow("catch up", true)}
	seen := w.watch()
	bots := []*bot{w.register(0), w.register(1)}
	w.trouble()
	w.programs.Wait()

	w.fake.SetRequestLimit()
	time.Sleep(3 * time.Hour) // until each race that was open is finished
	finished := w.finished()
	double.FailIf(t, len(*crawls) == 0, "no crawl came to its end")
	for _, s := range append(stores, *crawls...) {
		w.check(s, finished)
	}
	for _, s := range stores {
		double.Equal(t, s.name+": races without a final order", 0, s.without)
	}
	for race := range finished {
		if start := time.UnixMilli(race.start); !seen[race] && start.After(w.clock(w.calm.Add(2*time.Hour))) && start.Before(w.clock(w.end)) {
			t.Errorf("the watcher has not seen race %v, which started at %v", race, start)
		}
	}
	for race := range seen {
		double.FailIf(t, finished[race] == 0, "the watcher has seen race %v, which there never was", race)
	}
	for _, b := range bots {
		w.audit(b)
	}
	t.Logf("%d requests, %d registrations, %d kills", w.fake.RequestCount(), len(w.fake.Registrations()), w.kills.Load())
}

// clock returns the service's time at a time.
func (w *world) clock(t time.Time) time.Time { return w.fake.Now().Add(time.Until(t)) }

// finished reads all races with their tiers, while nothing happens.
func (w *world) finished() map[key]horseracing.TierID {
	all := map[key]horseracing.TierID{}
	for tier := horseracing.TierID(1); tier <= horseracing.TierOmega; tier++ {
		for race := range double.Each(w.t, w.fake.Client().Races.ResultsV1(horseracing.OffsetQuery{Tier: tier}).All(w.t.Context())) {
			all[raceKey(race)] = tier
		}
	}
	return all
}

// check compares a store with the entries that there were.
func (w *world) check(s *store, all map[key]horseracing.TierID) {
	w.hides(s.name, s.cursor.String())
	own := cmp.Or(s.tier, horseracing.TierOmega)
	noted := map[string]bool{}
	for _, err := range s.holes {
		double.FailIf(w.t, noted[err.Error()], "%s was notified twice: %v", s.name, err)
		noted[err.Error()] = true
	}
	for entry, n := range s.times {
		tier, ok := all[entry]
		if !ok || time.UnixMilli(entry.start).Before(s.since.Truncate(time.Millisecond)) || tier != own {
			w.t.Errorf("%s has %v, which there is not, in tier %v since %v", s.name, entry, own, s.since)
		}
		double.FailIf(w.t, n > 1, "%s has %v of %v %d times", s.name, entry, time.UnixMilli(entry.start), n)
	}
	for entry, tier := range all {
		start := time.UnixMilli(entry.start)
		required := tier == own && !start.Before(s.from) && start.Before(s.before)
		double.FailIf(w.t, required && s.times[entry] == 0 && !s.names(entry.id, start), "%s lacks %v of %v, and no error names it: %v", s.name, entry, start, s.holes)
	}
}

// names reports whether an error says that an entry, or one that starts at its time, may
// be missing.
func (s *store) names(id string, start time.Time) bool {
	return slices.ContainsFunc(s.holes, func(err error) bool {
		tie, isTie := errors.AsType[*horseracing.TieOverflowError](err)
		unreadable, isUnreadable := errors.AsType[*horseracing.DecodeError](err)
		return isUnreadable && unreadable.ID == id || isTie && tie.StartTime.Equal(start)
	})
}

// audit settles a bot's ledger and compares it with what the service was paid.
func (w *world) audit(b *bot) {
	db, l := b.open(w.fake.Client())
	defer db.Close()
	showsNothing := w.readings.Participants == "until start" // whether a horse is in a race, once it is over
	err := l.Settle(double.Within(w.t, time.Hour))
	if !showsNothing || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
		double.NoError(w.t, err)
	}
	type payment struct {
		Horse horseracing.HorseNumber `json:"horse_number"`
		Race  horseracing.RaceID      `json:"main_race_id"`
	}
	entries, paid := map[payment]ledger.Entry{}, map[payment]bool{}
	sums := map[string]horseracing.BigInt{} // of the fees in all, and of each date
	for _, e := range double.Must(l.Entries(context.Background())) {
		if e.State == ledger.Refused || e.State == ledger.Absent {
			continue
		}
		entries[payment{e.Horse, e.Race}] = e
		for _, when := range []string{"all", e.Time.UTC().Format(time.DateOnly)} {
			sums[when] = sums[when].Add(e.Fee)
		}
		double.FailIf(w.t, e.State != ledger.Entered && !showsNothing, "%s: %v was not settled", b.path, e)
	}
	for when, sum := range sums {
		double.FailIf(w.t, sum.Cmp(b.perDay) > 0 && when != "all" || sum.Cmp(b.total) > 0, "%s: %s was paid: %s", b.path, sum, when)
	}
	for _, r := range w.fake.Registrations() {
		if r.User != b.user {
			continue
		}
		pair := payment{r.Horse, r.Race}
		paid[pair] = true
		e, ok := entries[pair]
		double.FailIf(w.t, !ok || e.Fee.Cmp(r.Fee) < 0 || !w.readings.Heats && !e.Fee.Equal(r.Fee), "%s has %v for %v, of which %s was paid", b.path, e, pair, r.Fee)
	}
	for pair, e := range entries {
		double.FailIf(w.t, !paid[pair] && e.State == ledger.Entered, "%s has %v, which was not paid", b.path, e)
	}
	tries := map[payment]int{} // that may have been paid
	for _, r := range w.fake.Requests() {
		var pair payment
		if r.Method != http.MethodPost || r.Header.Get(double.Repeated) != "" || json.Unmarshal(r.Body, &pair) != nil || !paid[pair] {
			continue
		}
		if refused := r.Status >= 400 && r.Status < 500; !refused || tries[pair] > 0 {
			tries[pair]++
		}
		double.FailIf(w.t, tries[pair] > 1, "horse %d in race %d was paid for, and sent again", pair.Horse, pair.Race)
	}
	w.hides(b.path, string(double.Must(os.ReadFile(b.path))))
}

// hides checks that a text shows no key.
func (w *world) hides(what, text string) {
	for _, key := range []string{w.fake.APIKey, string(w.fake.UserKey(0)), string(w.fake.UserKey(1))} {
		double.FailIf(w.t, strings.Contains(text, key), "%s shows a key: %s", what, text)
	}
}
