package ledger_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

// lookingLedger opens a ledger with the default options.
func lookingLedger(t *testing.T, fake *horseracingtest.Server, client *horseracing.Client) *ledger.Ledger {
	t.Helper()
	return double.Must(ledger.Open(t.Context(), create(t, fake.Client()), client))
}

// The race is read just before a registration is noted. Unless it can be entered for the fee, nothing is sent or noted.
func TestRegisterLooksBeforeItPays(t *testing.T) {
	race := func(status int, body string) horseracingtest.Fault {
		return horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/1", Status: status, Body: body, Times: -1}
	}
	none := horseracingtest.Fault{Method: http.MethodGet, Path: "/none", Status: 500}
	for name, test := range map[string]struct {
		entered bool // by somebody else
		fault   horseracingtest.Fault
		want    error
		text    string
	}{
		"it is open":       {false, none, nil, ""},
		"it lists it":      {true, none, ledger.ErrEntered, ""},
		"another fee":      {false, race(200, `[{"main_race_id":1,"entry_fee":11}]`), ledger.ErrFee, "costs 11 now, and not 10"},
		"without a fee":    {false, race(200, `[{"main_race_id":1}]`), ledger.ErrFee, "costs 0 now, and not 10"},
		"there is no race": {false, race(404, ""), horseracing.ErrNotFound, "nothing was sent"},
		"it is unreadable": {false, race(200, `[{"main_race_id":1,"entry_fee":{}}]`), cmpopts.AnyError, "nothing was sent"},
		"it has no id":     {false, race(200, `{"entry_fee":10}`), cmpopts.AnyError, "nothing was sent"},
	} {
		double.Run(t, name, func(t *testing.T) {
			fake := newFake(t, 1)
			l := lookingLedger(t, fake, fake.Client())
			if test.entered {
				double.Must(fake.Client().Races.Register(t.Context(), registration(fake, 1)))
			}
			fake.Inject(test.fault)
			fake.ResetLog()
			e, err := register(t, l, fake, 1)
			expectError(t, test.want, err, test.text)
			sent := 0
			if test.want == nil {
				sent = 1
			}
			expectSent(t, fake, sent)
			double.Equal(t, "noted", sent, len(entries(l)))
			double.Equal(t, "the entry says so", test.entered || sent == 1, e.State == ledger.Entered)
			reads := requests(fake, http.MethodGet)
			double.Equal(t, "reads", 1, len(reads))
			double.Equal(t, "past caches", "no-cache", reads[0].Header.Get("Cache-Control"))
		})
	}
}

// The client itself may wait before it sends.
func TestALookSeesAFeeThatRisesWhileTheRegistrationWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(t, 1)
		limiter := double.WaitFunc(func(context.Context) error {
			time.Sleep(10 * time.Second)
			closes := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
			fake.AddRaces(horseracing.Race{MainRaceID: 1, StartTime: closes, RegistrationDeadline: closes, EntryFee: tokens(90)})
			return nil
		})
		_, err := register(t, lookingLedger(t, fake, fake.Client(horseracing.WithLimiter(limiter))), fake, 1)
		expectError(t, ledger.ErrFee, err, "costs 90 now, and not 10")
		expectSent(t, fake, 0)
	})
}

// In a backoff one request at a time is sent, and it is the look's own registration that is being sent.
func TestALookWaitsForItsOwnRegistrationAtMostFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(t, 1)
		client := fake.Client(double.NoRetries())
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusTooManyRequests})
		_, err := client.Races.Open(t.Context())
		expectError(t, horseracing.ErrRateLimited, err)
		l, began := lookingLedger(t, fake, client), time.Now()
		double.Must(register(t, l, fake, 1))
		double.FailIf(t, time.Since(began) > 6*time.Second, "it took %v", time.Since(began))
	})
}

// What was paid since an older copy was made is not in it, but in the races.
func TestAnOlderCopyPaysAgainOnlyWhatIsNotListedYet(t *testing.T) {
	for name, isListed := range map[string]bool{"listed": true, "not listed yet": false} {
		double.Run(t, name, func(t *testing.T) {
			fake := newFake(t, 1)
			db := create(t, fake.Client())
			double.Must(register(t, open(db, fake.Client()), fake, 1))
			write(t, db, `DELETE FROM horseracing_entries`)
			write(t, db, `UPDATE horseracing_ledger SET writes = 0`)
			if !isListed {
				fake.Inject(horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/1", Status: 200, Body: `[{"main_race_id":1,"entry_fee":10}]`})
			}
			again := double.Must(ledger.Open(t.Context(), db, fake.Client()))
			_, err := register(t, again, fake, 1)
			if isListed {
				expectError(t, ledger.ErrEntered, err)
				expectSent(t, fake, 1)
			} else {
				expectSent(t, fake, 2) // docs/unknowns.md says so
			}
		})
	}
}
