package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// However the service reads its document, and whatever is lost: nothing is paid twice or
// beyond a budget, what is paid is Entered or Unknown, and Settle ends.
func TestNothingIsPaidTwiceOrBeyondABudgetUnderAnyReading(t *testing.T) {
	const affordable = 8
	for round := range double.Worlds(1, 10, 1) {
		for _, reading := range double.Readings() {
			double.RunBubble(t, reading.Name, func(t *testing.T, fake *horseracingtest.Server) {
				random := rand.New(rand.NewPCG(7, uint64(round)))
				path, way := filepath.Join(t.TempDir(), "l"), fake.HTTPClient()
				if reading.Participants == "" && random.IntN(2) == 0 { // the race lists its horses at once
					way = &http.Client{Transport: &double.Gateway{Next: way.Transport}}
				}
				client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: 1}), horseracing.WithHTTPClient(way))
				for day := range 4 { // on each other races
					addRaces(fake, 10*day+1, 10*day+4)
					injectLosses(fake)
					fake.Inject(
						horseracingtest.Fault{Path: registerPath, Probability: 0.1, Status: 429}, horseracingtest.Fault{Path: registerPath, Probability: 0.1, Delay: time.Minute},
						horseracingtest.Fault{Path: "/api/v1/races/", Method: "GET", Probability: 0.1, Status: 503},
					)
					for range 16 {
						l := open(t, path, client, ledger.WithBudget(tokens(10*affordable)))
						r := registration(fake, 10*day+1+random.IntN(4))
						r.Horse = fake.Horses(0)[random.IntN(2)]
						_, _ = client.Races.Get(t.Context(), r.Race) // a cache may have it from now on
						if _, err := l.Register(t.Context(), r, tokens(10)); errors.Is(err, horseracing.ErrOutcomeUnknown) {
							_ = l.Settle(t.Context())
						}
						time.Sleep(time.Duration(random.IntN(3)) * time.Minute)
						expectHonest(t, fake, l, affordable)
					}
					fake.ClearFaults()
					l := open(t, path, client)
					for range 5 { // until nothing is undecided
						undecided, ok := errors.AsType[*horseracing.UndecidedError](l.Settle(t.Context()))
						if !ok || undecided.RetryAt.IsZero() {
							break
						}
						time.Sleep(time.Until(undecided.RetryAt))
					}
					expectHonest(t, fake, l, affordable)
				}
			}, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithSeed(uint64(round)), horseracingtest.WithReadings(reading.Readings))
		}
	}
}

// injectLosses makes registrations fail in each way that leaves open what was paid.
func injectLosses(fake *horseracingtest.Server) {
	for _, fault := range []horseracingtest.Fault{{ResetBefore: true}, {ResetAfter: true}, {CutBody: 3}, {Status: 503}, {TakesEffectAfter: 30 * time.Minute}} {
		fault.Path, fault.Probability = registerPath, 0.1
		fake.Inject(fault)
	}
}

// expectHonest fails the test unless each pair was paid at most once, within the budget, and the
// ledger counts all that was paid and nothing else.
func expectHonest(t *testing.T, fake *horseracingtest.Server, l *ledger.Ledger, affordable int) {
	t.Helper()
	states := map[string]ledger.State{}
	for e := range l.Entries() {
		states[fmt.Sprint(e.Horse, e.Race)] = e.State
	}
	for _, r := range fake.Registrations() {
		p := fmt.Sprint(r.Horse, r.Race)
		if state := states[p]; state != ledger.Entered && state != ledger.Unknown && state != ledger.Sending {
			t.Errorf("%s was paid, and is %q", p, state)
		}
		states[p] = "paid before"
	}
	if n := len(fake.Registrations()); n > affordable {
		t.Errorf("%d paid of a budget for %d", n, affordable)
	}
	for p, state := range states {
		if state == ledger.Entered {
			t.Errorf("%s is entered, and was not paid", p)
		}
	}
}
