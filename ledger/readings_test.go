package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// However the service reads its document, and whatever is lost: nothing is paid twice or
// beyond a budget, what is paid is Entered or Unknown, and Settle ends.
func TestNothingIsPaidTwiceOrBeyondABudgetUnderAnyReading(t *testing.T) {
	rounds := 1
	if os.Getenv("HORSERACING_DEEP") != "" {
		rounds = 10
	}
	literal := double.Reading{Name: "literal"}
	for _, reading := range append(double.Readings(), literal) {
		t.Run(reading.Name, func(t *testing.T) {
			for round := range rounds {
				synctest.Test(t, func(t *testing.T) {
					playReading(t, reading.Readings, rand.New(rand.NewPCG(7, uint64(round))))
				})
			}
		})
	}
}

const fee, affordable = 10, 8 // a race's fee, and how many of them the budget allows

func playReading(t *testing.T, readings horseracingtest.Readings, random *rand.Rand) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now),
		horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithReadings(readings))
	defer fake.Close()
	path := filepath.Join(t.TempDir(), "l")
	client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: 1}))
	for day := range 4 { // on each other races, for other horses
		addRaces(fake, 10*day+1, 10*day+4)
		l := open(t, path, client, ledger.WithBudget(tokens(fee*affordable)))
		for range 16 {
			r := horseracing.Registration{Horse: fake.Horses(0)[random.IntN(2)], Race: horseracing.RaceID(10*day + 1 + random.IntN(4)), UserKey: fake.UserKey(0)}
			injectLoss(fake, random)
			if _, err := l.Register(t.Context(), r, tokens(fee)); errors.Is(err, horseracing.ErrOutcomeUnknown) {
				_ = l.Settle(t.Context())
			}
			time.Sleep(time.Duration(random.IntN(3)) * time.Minute)
			if random.IntN(4) == 0 { // the program is started again
				l.Close()
				l = open(t, path, client, ledger.WithBudget(tokens(fee*affordable)))
			}
			expectHonest(t, fake, l, affordable)
		}
		fake.ClearFaults()
		for range 5 { // until nothing is undecided
			undecided, ok := errors.AsType[*horseracing.UndecidedError](l.Settle(t.Context()))
			if !ok || undecided.RetryAt.IsZero() {
				break
			}
			time.Sleep(time.Until(undecided.RetryAt))
		}
		expectHonest(t, fake, l, affordable)
	}
}

// injectLoss makes the next registration, and perhaps a reading, fail in some way.
func injectLoss(fake *horseracingtest.Server, random *rand.Rand) {
	faults := []horseracingtest.Fault{
		{ResetBefore: true}, {ResetAfter: true}, {TakesEffectAfter: time.Duration(1+random.IntN(70)) * time.Minute},
		{CutBody: 3}, {Status: 502}, {Status: 429}, {Delay: time.Minute},
	}
	if i := random.IntN(2 * len(faults)); i < len(faults) {
		faults[i].Path = registerPath
		fake.Inject(faults[i])
	}
	if random.IntN(8) == 0 {
		fake.Inject(horseracingtest.Fault{Method: "GET", Path: "/api/v1/races/", Status: 503, Times: 3})
	}
}

// expectHonest fails the test unless each pair was paid at most once, within the budget, and the
// ledger counts all that was paid. It returns how many were paid.
func expectHonest(t *testing.T, fake *horseracingtest.Server, l *ledger.Ledger, affordable int) int {
	t.Helper()
	entries := map[string]ledger.State{}
	for e := range l.Entries() {
		entries[fmt.Sprint(e.Horse, e.Race)] = e.State
	}
	paid := map[string]bool{}
	for _, r := range fake.Registrations() {
		p := fmt.Sprint(r.Horse, r.Race)
		if paid[p] {
			t.Errorf("%s was paid twice", p)
		}
		paid[p] = true
		if state := entries[p]; state != ledger.Entered && state != ledger.Unknown && state != ledger.Sending {
			t.Errorf("%s was paid, and is %q", p, state)
		}
	}
	if len(paid) > affordable {
		t.Errorf("%d paid of a budget for %d", len(paid), affordable)
	}
	for p, state := range entries {
		if state == ledger.Entered && !paid[p] {
			t.Errorf("%s is entered, and was not paid", p)
		}
	}
	return len(paid)
}
