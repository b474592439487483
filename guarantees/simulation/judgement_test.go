package simulation_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

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
	if len(*crawls) == 0 {
		t.Error("no crawl came to its end")
	}
	for _, s := range append(stores, *crawls...) {
		w.check(s, finished)
	}
	for _, s := range stores {
		if s.without > 0 {
			t.Errorf("%s has %d races without a final order", s.name, s.without)
		}
	}
	for race := range finished {
		if start := time.UnixMilli(race.start); !seen[race] && start.After(w.clock(w.calm.Add(2*time.Hour))) && start.Before(w.clock(w.end)) {
			t.Errorf("the watcher has not seen race %v, which started at %v", race, start)
		}
	}
	for race := range seen {
		if _, ok := finished[race]; !ok {
			t.Errorf("the watcher has seen race %v, which there never was", race)
		}
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
	w.hides(s.name, s.cursor)
	own := cmp.Or(s.tier, horseracing.TierOmega)
	noted := map[string]bool{}
	for _, err := range s.holes {
		if noted[err.Error()] {
			w.t.Errorf("%s was notified twice: %v", s.name, err)
		}
		noted[err.Error()] = true
	}
	for entry, n := range s.times {
		tier, ok := all[entry]
		if !ok || time.UnixMilli(entry.start).Before(s.since.Truncate(time.Millisecond)) || tier != own {
			w.t.Errorf("%s has %v, which there is not, in tier %v since %v", s.name, entry, own, s.since)
		}
		if n > 1 {
			w.t.Errorf("%s has %v of %v %d times", s.name, entry, time.UnixMilli(entry.start), n)
		}
	}
	for entry, tier := range all {
		start := time.UnixMilli(entry.start)
		required := tier == own && !start.Before(s.from) && start.Before(s.before)
		if required && s.times[entry] == 0 && !s.names(entry.id, start) {
			w.t.Errorf("%s lacks %v of %v, and no error names it: %v", s.name, entry, start, s.holes)
		}
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
	l, err := b.open(w.fake.Client())
	double.NoError(w.t, err)
	defer l.Close()
	showsNothing := w.readings.Participants == "until start" // whether a horse is in a race, once it is over
	err = l.Settle(double.Within(w.t, time.Hour))
	if !showsNothing || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
		double.NoError(w.t, err)
	}
	type payment struct {
		Horse horseracing.HorseNumber `json:"horse_number"`
		Race  horseracing.RaceID      `json:"main_race_id"`
	}
	entries, paid := map[payment]ledger.Entry{}, map[payment]bool{}
	sums := map[string]horseracing.BigInt{} // of the fees in all, and of each date
	for e := range l.Entries() {
		if e.State == ledger.Refused || e.State == ledger.Absent {
			continue
		}
		entries[payment{e.Horse, e.Race}] = e
		for _, when := range []string{"all", e.Time.UTC().Format(time.DateOnly)} {
			sums[when] = sums[when].Add(e.Fee)
		}
		if e.State != ledger.Entered && !showsNothing {
			w.t.Errorf("%s: %v was not settled", b.path, e)
		}
	}
	for when, sum := range sums {
		if sum.Cmp(b.perDay) > 0 && when != "all" || sum.Cmp(b.total) > 0 {
			w.t.Errorf("%s: %s was paid: %s", b.path, sum, when)
		}
	}
	for _, r := range w.fake.Registrations() {
		if r.User != b.user {
			continue
		}
		pair := payment{r.Horse, r.Race}
		paid[pair] = true
		if e, ok := entries[pair]; !ok || e.Fee.Cmp(r.Fee) < 0 || !w.readings.Heats && !e.Fee.Equal(r.Fee) {
			w.t.Errorf("%s has %v for %v, of which %s was paid", b.path, e, pair, r.Fee)
		}
	}
	for pair, e := range entries {
		if !paid[pair] && e.State == ledger.Entered {
			w.t.Errorf("%s has %v, which was not paid", b.path, e)
		}
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
		if tries[pair] > 1 {
			w.t.Errorf("horse %d in race %d was paid for, and sent again", pair.Horse, pair.Race)
		}
	}
	data, err := os.ReadFile(b.path)
	double.NoError(w.t, err)
	w.hides(b.path, string(data))
}

// hides checks that a text shows no key.
func (w *world) hides(what, text string) {
	for _, key := range []string{w.fake.APIKey, string(w.fake.UserKey(0)), string(w.fake.UserKey(1))} {
		if strings.Contains(text, key) {
			w.t.Errorf("%s shows a key: %s", what, text)
		}
	}
}
