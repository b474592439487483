package ledger_test

import (
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// undecided returns the errors that Settle joins.
func undecided(t *testing.T, err error) (all []*horseracing.UndecidedError) {
	t.Helper()
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		t.Fatalf("Settle: %v", err)
	}
	for _, err := range joined.Unwrap() {
		one, ok := errors.AsType[*horseracing.UndecidedError](err)
		if !ok || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Fatalf("Settle: %v", err)
		}
		all = append(all, one)
	}
	return all
}

func TestSettleReadsEachRaceOnceAtMostEightAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 12)
		lose(t, fake, l, lostResponse, 1)
		lose(t, fake, l, horseracingtest.Fault{TakesEffectAfter: 10 * time.Minute}, 2)
		lose(t, fake, l, lostRequest, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		if _, err := fake.Client().Races.Register(t.Context(), registration(fake, 12)); err != nil {
			t.Fatal(err)
		}
		write(t, path, read(t, path)+lineOf(12, ledger.Sending, fake.URL)) // by a process that was killed
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/", Delay: time.Second, Times: -1})
		fake.ResetLog()
		err := l.Settle(t.Context())
		if n, most := fake.RequestCount(), fake.MaxInFlight(); n != 12 || most != 8 {
			t.Errorf("%d requests, %d at the same time", n, most)
		}
		again := undecided(t, err)
		if len(again) != 10 || !strings.Contains(err.Error(), path+": horse 1 in race 2: ") {
			t.Fatalf("Settle: %v", err)
		}
		if paid, held := ledger.Sum(l.Entries(), time.Time{}); !paid.Equal(tokens(20)) || !held.Equal(tokens(100)) {
			t.Errorf("paid %s, held %s", paid, held)
		}
		time.Sleep(time.Until(again[9].RetryAt))
		if err := l.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		expectStates(t, open(t, path, fake.Client()), "1 entered", "2 entered", "3 absent", "4 absent", "5 absent", "6 absent",
			"7 absent", "8 absent", "9 absent", "10 absent", "11 absent", "12 entered")
		if paid := len(fake.Registrations()); paid != 3 || posts(fake) != 0 {
			t.Errorf("%d paid, %d sent again", paid, posts(fake))
		}
	})
}

// A mock of a caller may end the goroutine that reads, as t.Fatal does.
func TestSettleEndsIfItsReadingsEndTheirGoroutine(t *testing.T) {
	fake, path, l := newLedger(t, 0)
	for race := 1; race <= 9; race++ {
		write(t, path, read(t, path)+lineOf(race, ledger.Sending, fake.URL))
	}
	wrapped := open(t, path, fake.Client(double.Wrap(func(http.RoundTripper, *http.Request) (*http.Response, error) {
		runtime.Goexit()
		return nil, nil
	})))
	for _, err := range undecided(t, wrapped.Settle(t.Context())) {
		if !strings.Contains(err.Error(), "goroutine") || time.Until(err.RetryAt) < 50*time.Second {
			t.Error(err)
		}
	}
	expectStates(t, l, "1 sending", "2 sending", "3 sending", "4 sending", "5 sending", "6 sending", "7 sending", "8 sending", "9 sending")
}

// While a race is read, others can be registered, and what somebody else records stays, except
// that what the service confirms is always recorded.
func TestAnotherOutcomeThatIsRecordedMeanwhileStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 3)
		lose(t, fake, l, lostRequest, 1, 2)
		time.Sleep(3 * time.Hour)
		addRaces(fake, 3, 3)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/", Method: "GET", Delay: 10 * time.Second, Times: 2})
		settled := make(chan error)
		go func() { settled <- l.Settle(t.Context()) }() // both are absent
		synctest.Wait()
		other, horse := open(t, path, fake.Client()), fake.Horses(0)[0]
		decided := errors.Join(other.Decide(horse, 1, ledger.Absent, ""), other.Decide(horse, 2, ledger.Entered, "the game shows it"))
		lose(t, fake, l, lostRequest, 1) // once more: the reading is of the earlier one
		fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			decided = errors.Join(decided, other.Decide(horse, 3, ledger.Absent, "too early"))
			return horseracingtest.Response{}, false
		})
		e, err := l.Register(t.Context(), registration(fake, 3), tokens(10))
		if err = errors.Join(err, decided, <-settled); err != nil || e.State != ledger.Entered {
			t.Errorf("%v, %v", e, err)
		}
		expectStates(t, other, "2 entered", "1 unknown", "3 entered")
	})
}

func TestARefusalIsAnEntryIfTheRaceListsTheHorseAndUnknownIfThatIsUncertain(t *testing.T) {
	type faults = []horseracingtest.Fault
	reading := func(status int, body string) faults {
		return faults{{Method: http.MethodGet, Path: "/api/v1/races/1", Status: status, Body: body}}
	}
	const others = `"registration_deadline":4102444800000,"start_time":4102444800000,"entry_fee":10,"participants":[{"number":9999}]}`
	limited := horseracingtest.Fault{Path: registerPath, Status: 429}
	for name, test := range map[string]struct {
		status  int
		entered bool   // before
		others  faults // before the refusal, or of the reading
		want    ledger.State
	}{
		"400, and it is listed":        {400, true, nil, ledger.Entered},
		"409, and it is listed":        {409, true, nil, ledger.Entered},
		"422, and it is listed":        {422, true, nil, ledger.Entered},
		"403 needs no reading":         {403, true, nil, ledger.Refused},
		"it is not listed":             {409, false, nil, ledger.Refused},
		"there is no race":             {400, false, reading(404, ""), ledger.Refused},
		"the race cannot be read":      {409, false, reading(400, ""), ledger.Unknown},
		"after a 429 it is not listed": {409, false, faults{limited}, ledger.Refused},
		"after a 429 it is listed":     {409, true, faults{limited}, ledger.Entered},
		"the second heat lists it":     {409, false, reading(200, `[{"main_race_id":1,`+others+`,{"main_race_id":1,"participants":[{"number":1}]}]`), ledger.Entered},
		"no heat lists it":             {409, false, reading(200, `[{"main_race_id":1,`+others+`,{"main_race_id":1,`+others+`]`), ledger.Refused},
		"it lists nobody":              {409, false, reading(200, `[{"main_race_id":1}]`), ledger.Refused},
		"a heat cannot be read":        {409, false, reading(200, `[{"main_race_id":1,`+others+`,{"main_race_id":1,"entry_fee":{}}]`), ledger.Unknown},
		"a horse without a number":     {409, false, reading(200, `[{"main_race_id":1,"participants":[{}]}]`), ledger.Unknown},
		"a race without an id":         {409, false, reading(200, `[{`+others+`]`), ledger.Unknown},
		"another race":                 {409, false, reading(200, `[{"main_race_id":2,`+others+`]`), ledger.Unknown},
		"another shape":                {409, false, reading(200, `"asleep"`), ledger.Unknown},
		"403 after a 429":              {403, false, faults{limited}, ledger.Refused},
	} {
		double.Run(t, name, func(t *testing.T) {
			fake, path, l := newLedger(t, 1)
			if test.entered {
				if _, err := fake.Client().Races.Register(t.Context(), registration(fake, 1)); err != nil {
					t.Fatal(err)
				}
			}
			fake.Inject(append(test.others, horseracingtest.Fault{Path: registerPath, Status: test.status, Body: `{"message":"already in it"}`})...)
			fake.ResetLog()
			e, err := l.Register(t.Context(), registration(fake, 1), tokens(10))
			if e.State != test.want || (err == nil) != (test.want == ledger.Entered) || errors.Is(err, horseracing.ErrOutcomeUnknown) != (test.want == ledger.Unknown) || !strings.Contains(e.Note, "already in it") {
				t.Errorf("%v, %v", e, err)
			}
			reads := 0
			for _, r := range fake.Requests() {
				if r.Method == http.MethodGet && r.Header.Get("Cache-Control") == "no-cache" {
					reads++
				}
			}
			if all := fake.RequestCount() - posts(fake); (reads == 1) != (test.status != 403) || reads != all {
				t.Errorf("%d readings, %d of them past caches", all, reads)
			}
			expectStates(t, open(t, path, fake.Client()), "1 "+string(test.want))
		})
	}
}

func TestOnlyAHeldEntryCanBeDecided(t *testing.T) {
	fake, path, l := newLedger(t, 0)
	write(t, path, lineOf(1, ledger.Sending, fake.URL)+lineOf(2, ledger.Unknown, fake.URL))
	for _, test := range []struct {
		race  horseracing.RaceID
		state ledger.State
		ok    bool
	}{
		{1, ledger.Unknown, false}, {1, ledger.Refused, false}, {1, "", false}, {1, ledger.Entered, true}, {1, ledger.Absent, false},
		{2, ledger.Absent, true}, {2, ledger.Entered, false}, {3, ledger.Entered, false},
	} {
		before := read(t, path)
		err := l.Decide(1, test.race, test.state, "by me")
		if (err == nil) != test.ok || err != nil && !errors.Is(err, horseracing.ErrInvalidArgument) || (read(t, path) != before) != test.ok {
			t.Errorf("race %d as %q: %v", test.race, test.state, err)
		}
	}
	expectStates(t, open(t, path, fake.Client()), "1 entered", "2 absent")
}
