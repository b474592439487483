package simulation_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed of the simulation")
	seeds     = flag.Uint64("seeds", 5, "how many seeds to simulate; .ci/deep takes 1000")
)

// A day of everything, with every kind of trouble and each program killed anywhere:
// each finished race is once in each store, or named by an error, and none is invented;
// nobody pays twice, no budget is exceeded, and each ledger is equal to the service; no
// wait is beyond its bound, or silent; no key is in any error, log or file; and when
// everything has ended no goroutine is left.
//
// A seed decides about the service, its trouble and the programs. The waits of the
// library have jitter of their own, so a failure may need some runs to come again.
func TestADayOfEverything(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 2)
	}
	var mu sync.Mutex
	all := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for seed := *firstSeed; seed < *firstSeed+n; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("run it again: go test ./guarantees/simulation -count=5 -seeds=1 -seed=%d", seed)
					}
				})
				synctest.Test(t, func(t *testing.T) {
					one := simulate(t, seed)
					mu.Lock()
					defer mu.Unlock()
					for what, n := range one {
						all[what] += n
					}
				})
			})
		}
	})
	t.Log("simulated:", all)
}

func simulate(t *testing.T, seed uint64) map[string]int {
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
	races := w.finished()
	if len(*crawls) == 0 {
		t.Error("no crawl came to its end")
	}
	for _, s := range append(stores, *crawls...) {
		w.judge(s, races)
	}
	for id, race := range races {
		if !seen[id] && race.start.After(w.clock(w.calm.Add(2*time.Hour))) && race.start.Before(w.clock(w.end)) {
			t.Errorf("the watcher has not seen race %d, which started at %v", id, race.start)
		}
	}
	for id := range seen {
		if _, ok := races[id]; !ok {
			t.Errorf("the watcher has seen race %d, which there never was", id)
		}
	}
	for _, b := range bots {
		w.audit(b)
	}
	w.count["days"], w.count["registrations"] = 1, len(w.fake.Registrations())
	return w.count
}

// clock returns the service's time at a time.
func (w *world) clock(t time.Time) time.Time { return w.fake.Now().Add(time.Until(t)) }

// finishedRace is a race as the service has it at the end.
type finishedRace struct {
	start time.Time
	tier  horseracing.TierID
}

// finished reads all races from the service, by offset, while nothing happens.
func (w *world) finished() map[horseracing.RaceID]finishedRace {
	races := map[horseracing.RaceID]finishedRace{}
	for tier := range horseracing.TierID(5) {
		for offset, read := 0, -1; read != 0; offset += read {
			var page []horseracing.Race
			if err := w.fake.Client().Do(w.t.Context(), http.MethodGet, "/api/v1/races/results", map[string]int{"tier": int(tier + 1), "offset": offset}, &page); err != nil {
				w.t.Fatal(err)
			}
			read = len(page)
			for _, race := range page {
				races[race.MainRaceID] = finishedRace{race.StartTime.Time, tier + 1}
			}
		}
	}
	return races
}

// judge compares a store with what there was.
func (w *world) judge(s *store, races map[horseracing.RaceID]finishedRace) {
	w.hides(s.name, s.cursor)
	tiers := s.tiers
	if len(tiers) == 0 {
		tiers = []horseracing.TierID{horseracing.TierOmega}
	}
	told := map[string]bool{}
	for _, err := range s.holes {
		if told[err.Error()] {
			w.t.Errorf("%s was told twice: %v", s.name, err)
		}
		told[err.Error()] = true
	}
	for id, n := range s.times {
		race, ok := races[id]
		if !ok || race.start.Before(s.since.Truncate(time.Millisecond)) || !slices.Contains(tiers, race.tier) {
			w.t.Errorf("%s has race %d, which there is not, in tiers %v since %v", s.name, id, tiers, s.since)
		}
		if n > 1 {
			w.t.Errorf("%s has race %d of %v %d times", s.name, id, race.start, n)
		}
	}
	for id, race := range races {
		required := slices.Contains(tiers, race.tier) && !race.start.Before(s.from) && race.start.Before(s.before)
		if required && s.times[id] == 0 && !s.names(id, race.start) {
			w.t.Errorf("%s lacks race %d of %v, and no error names it: %v", s.name, id, race.start, s.holes)
		}
	}
}

// names reports whether an error says that a race, or one that starts at its time, may
// be missing.
func (s *store) names(id horseracing.RaceID, start time.Time) bool {
	return slices.ContainsFunc(s.holes, func(err error) bool {
		gap, isGap := errors.AsType[*horseracing.GapError](err)
		tie, isTie := errors.AsType[*horseracing.TieOverflowError](err)
		unreadable, isUnreadable := errors.AsType[*horseracing.DecodeError](err)
		return isUnreadable && unreadable.ID == fmt.Sprint(id) || isGap && !start.Before(gap.From.Time) && start.Before(gap.To.Time) || isTie && tie.StartTime.Equal(start)
	})
}

// audit settles a bot's ledger and compares it with what the service was paid.
func (w *world) audit(b *bot) {
	l, err := b.open(w.fake.Client())
	if err != nil {
		w.t.Error(err)
		return
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	if err := l.Settle(ctx); err != nil {
		w.t.Error(err)
	}
	type payment struct {
		Horse horseracing.HorseNumber
		Race  horseracing.RaceID
	}
	entered, paid := map[payment]string{}, map[payment]string{}
	sums := map[string]*big.Int{"all": new(big.Int)} // of the fees in all, and of each date
	for e := range l.Entries() {
		switch e.State {
		case ledger.Entered:
			date := e.Time.UTC().Format(time.DateOnly)
			entered[payment{e.Horse, e.Race}] = e.Fee.String()
			if sums[date] == nil {
				sums[date] = new(big.Int)
			}
			sums["all"].Add(sums["all"], e.Fee.Big())
			sums[date].Add(sums[date], e.Fee.Big())
		case ledger.Unknown, ledger.Sending:
			w.t.Errorf("%s: %v was not settled", b.path, e)
		}
	}
	for _, r := range w.fake.Registrations() {
		if r.User == b.user {
			paid[payment{r.Horse, r.Race}] = r.Fee.String()
		}
	}
	if diff := cmp.Diff(paid, entered); diff != "" {
		w.t.Errorf("%s differs from what was paid (-paid +entered):\n%s", b.path, diff)
	}
	for date, sum := range sums {
		budget := b.perDay
		if date == "all" {
			budget = b.total
		}
		if sum.Cmp(budget.Big()) > 0 {
			w.t.Errorf("%s: %s was paid of %s: %s", b.path, sum, budget, date)
		}
	}
	tries := map[payment]int{} // that may have been paid
	for _, r := range w.fake.Requests() {
		var sent struct {
			Horse horseracing.HorseNumber `json:"horse_number"`
			Race  horseracing.RaceID      `json:"main_race_id"`
		}
		if r.Method != http.MethodPost || json.Unmarshal(r.Body, &sent) != nil {
			continue
		}
		pair := payment{sent.Horse, sent.Race}
		if _, ok := paid[pair]; !ok {
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
	if err != nil {
		w.t.Error(err)
	}
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
