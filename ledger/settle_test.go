package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestSettleFindsOutSeveralOutcomesAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 6)
		lose(t, fake, l, lostResponse, 1, 2)
		lose(t, fake, l, horseracingtest.Fault{TakesEffectAfter: 10 * time.Minute}, 3)
		lose(t, fake, l, lostRequest, 4, 5, 6)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/", Delay: time.Second, Times: 6})
		fake.ResetLog()
		began := time.Now()
		err := l.Settle(t.Context())
		if took, n := time.Since(began), fake.MaxInFlight(); took > time.Minute || n != 6 {
			t.Errorf("it took %v, and read %d races at the same time", took, n)
		}
		undecided, ok := errors.AsType[*horseracing.UndecidedError](err)
		if !ok || !errors.Is(err, horseracing.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "race 3: ") || strings.Contains(err.Error(), "race 1: ") {
			t.Fatalf("Settle: %v", err)
		}
		expectStates(t, l, []string{"1 entered", "2 entered", "3 unknown", "4 unknown", "5 unknown", "6 unknown"})
		if paid, held := ledger.Sum(l.Entries(), time.Time{}); !paid.Equal(tokens(20)) || !held.Equal(tokens(40)) {
			t.Errorf("paid %s, held %s", paid, held)
		}
		time.Sleep(time.Until(undecided.RetryAt) + time.Minute) // the races are a few seconds apart
		if err := l.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		want := []string{"1 entered", "2 entered", "3 entered", "4 absent", "5 absent", "6 absent"}
		expectStates(t, l, want)
		if paid := len(fake.Registrations()); paid != 3 || posts(fake) != 0 {
			t.Errorf("%d paid, %d sent again", paid, posts(fake))
		}
		l.Close()
		expectStates(t, open(t, path, fake.Client()), want)
	})
}

// While the races are read, others can be registered, and a person can decide.
func TestRegisterAndDecideWorkBesideSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, _, l := newLedger(t, 3)
		lose(t, fake, l, lostRequest, 1, 2)
		time.Sleep(3 * time.Hour)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/", Method: "GET", Delay: 10 * time.Second, Times: 2})
		settled := make(chan error)
		go func() { settled <- l.Settle(t.Context()) }() // both are absent
		synctest.Wait()
		if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) {
			t.Errorf("the pair that is being settled: %v", err)
		}
		if err := l.Decide(fake.Horses(0)[0], 2, ledger.Entered, "the game shows it"); err != nil {
			t.Error(err)
		}
		if err := <-settled; err != nil {
			t.Error(err)
		}
		expectStates(t, l, []string{"1 absent", "2 entered"})
	})
}

// A proxy may repeat a registration, whose repeat is refused because the first one succeeded.
func TestARefusalOfAHorseThatTheRaceListsIsAnEntry(t *testing.T) {
	for status, want := range map[int]string{400: "entered", 409: "entered", 422: "entered", 403: "refused", 404: "refused"} {
		fake, _, l := newLedger(t, 2)
		if _, err := fake.Client().Races.Register(t.Context(), registration(fake, 1)); err != nil {
			t.Fatal(err)
		}
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: status, Body: `{"message":"already in it"}`, Times: 2})
		fake.ResetLog()
		e, err := l.Register(t.Context(), registration(fake, 1), tokens(10))
		if string(e.State) != want || (err == nil) != (want == "entered") || !strings.Contains(e.Note, "already in it") {
			t.Errorf("%d: %v, %v", status, e, err)
		}
		if e, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); e.State != ledger.Refused || err == nil {
			t.Errorf("%d of a race that does not list it: %v, %v", status, e, err)
		}
		if n := fake.RequestCount(); want == "entered" && n != 4 || want == "refused" && n != 2 {
			t.Errorf("%d: %d requests", status, n)
		}
		expectStates(t, l, []string{"1 " + want, "2 refused"})
	}
}

func TestWhatCannotBeSettledStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 3)
		fake.Inject(horseracingtest.Fault{Path: registerPath, ResetBefore: true, Times: 3})
		for race := 1; race <= 3; race++ {
			_, err := l.Register(t.Context(), registration(fake, race), tokens(10))
			if text := err.Error(); !strings.Contains(text, path) || !strings.Contains(text, "horse 1 in race ") || !strings.Contains(text, "call Settle") || strings.Contains(text, "Races.") {
				t.Errorf("Register: %v", err)
			}
		}
		fake.RemoveRaces(1)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/2", Status: 403, Times: -1})
		time.Sleep(3 * time.Hour)
		err := l.Settle(t.Context())
		if !errors.Is(err, horseracing.ErrNotFound) || !errors.Is(err, horseracing.ErrForbidden) || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Errorf("Settle: %v", err)
		}
		text := err.Error()
		for _, part := range []string{path, "horse 1 in race 1: outcome unknown", "horse 1 in race 2: outcome unknown", "Decide"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not hold %q", text, part)
			}
		}
		if strings.Contains(text, "race 3") || strings.Contains(text, "Races.") {
			t.Errorf("Settle: %v", err)
		}
		expectStates(t, l, []string{"1 unknown", "2 unknown", "3 absent"})
	})
}

func TestOnlyAnUnknownOutcomeCanBeDecided(t *testing.T) {
	fake, path, l := newLedger(t, 5)
	lose(t, fake, l, lostRequest, 1, 2, 3)
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400})
	l.Register(t.Context(), registration(fake, 4), tokens(10)) // is refused
	l.Register(t.Context(), registration(fake, 5), tokens(10))
	horse := fake.Horses(0)[0]
	for _, test := range []struct {
		race  horseracing.RaceID
		state ledger.State
		ok    bool
	}{
		{1, ledger.Sending, false},
		{1, ledger.Unknown, false},
		{1, ledger.Refused, false},
		{1, "", false},
		{1, ledger.Entered, true},
		{1, ledger.Absent, false},
		{2, ledger.Absent, true},
		{2, ledger.Entered, false},
		{4, ledger.Entered, false},
		{5, ledger.Absent, false},
		{6, ledger.Entered, false},
	} {
		before := read(t, path)
		err := l.Decide(horse, test.race, test.state, "by me")
		if (err == nil) != test.ok || err != nil && (!errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), path)) {
			t.Errorf("race %d as %q: %v", test.race, test.state, err)
		}
		if wrote := read(t, path) != before; wrote != test.ok {
			t.Errorf("race %d as %q: a line was written is %v", test.race, test.state, wrote)
		}
	}
	want := []string{"1 entered", "2 absent", "3 unknown", "4 refused", "5 entered"}
	expectStates(t, l, want)
	l.Close()
	l = open(t, path, fake.Client())
	expectStates(t, l, want)
	if paid := l.Paid(time.Time{}); !paid.Equal(tokens(30)) {
		t.Errorf("paid %s", paid)
	}
	if e, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); err != nil {
		t.Errorf("what is absent cannot be registered again: %v, %v", e, err)
	}
}
