package ledger_test

import (
	"context"
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
		want := []string{"1 entered", "2 entered", "3 entered", "4 absent", "5 absent", "6 absent"}
		lose(t, fake, l, lostResponse, 1, 2)
		lose(t, fake, l, horseracingtest.Fault{TakesEffectAfter: 10 * time.Minute}, 3)
		lose(t, fake, l, lostRequest, 4, 5, 6)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/", Delay: time.Second, Times: 6})
		fake.ResetLog()
		began := time.Now()
		if err := l.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took, n := time.Since(began), fake.MaxInFlight(); took > 2*time.Hour || n != 6 {
			t.Errorf("it took %v, and read %d races at the same time", took, n)
		}
		expectStates(t, l, want)
		if paid := len(fake.Registrations()); paid != 3 || posts(fake) != 0 {
			t.Errorf("%d paid, %d sent again", paid, posts(fake))
		}
		l.Close()
		expectStates(t, open(t, path, fake.Client()), want)
	})
}

func TestSettleOnceTakesWhatTheListShowsAlreadyAndSettleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, _, l := newLedger(t, 2)
		lose(t, fake, l, lostResponse, 1)
		lose(t, fake, l, lostRequest, 2)
		began := time.Now()
		err := l.SettleOnce(t.Context())
		if !errors.Is(err, horseracing.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "race 2: outcome unknown") || strings.Contains(err.Error(), "race 1") || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		expectStates(t, l, []string{"1 entered", "2 unknown"})
		if paid, held := ledger.Sum(l.Entries(), time.Time{}); !paid.Equal(tokens(10)) || !held.Equal(tokens(10)) {
			t.Errorf("paid %s, held %s", paid, held)
		}
		if paid, held := ledger.Sum(l.Entries(), began.Add(time.Second)); !paid.IsZero() || !held.IsZero() {
			t.Errorf("later: paid %s, held %s", paid, held)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, horseracing.ErrOutcomeUnknown) || time.Since(began) != time.Minute {
			t.Errorf("Settle after %v: %v", time.Since(began), err)
		}
		expectStates(t, l, []string{"1 entered", "2 unknown"})
	})
}

func TestRegisterAndDecideWorkBesideSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, _, l := newLedger(t, 3)
		lose(t, fake, l, lostRequest, 1, 2)
		settled := make(chan error)
		go func() { settled <- l.Settle(t.Context()) }() // both are absent, after the deadline
		synctest.Wait()
		if e, err := l.Register(t.Context(), registration(fake, 3), tokens(10)); err != nil {
			t.Errorf("%v, %v", e, err)
		}
		if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) {
			t.Errorf("the pair that is being settled: %v", err)
		}
		if err := l.Decide(fake.Horses(0)[0], 2, ledger.Entered, "the game shows it"); err != nil {
			t.Error(err)
		}
		if err := <-settled; err != nil {
			t.Error(err)
		}
		expectStates(t, l, []string{"1 absent", "2 entered", "3 entered"})
	})
}

func TestSettleDoesNotConcludeALaterRegistrationOfThePair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, _, l := newLedger(t, 1)
		lose(t, fake, l, lostRequest, 1)
		settled := make(chan error)
		go func() { settled <- l.Settle(t.Context()) }()
		synctest.Wait()
		if err := l.Decide(fake.Horses(0)[0], 1, ledger.Absent, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		lose(t, fake, l, lostRequest, 1)
		if err := <-settled; err != nil {
			t.Error(err)
		}
		expectStates(t, l, []string{"1 unknown"})
	})
}

func TestWhatCannotBeSettledStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 3)
		fake.Inject(horseracingtest.Fault{Path: registerPath, ResetBefore: true, Times: 3})
		for race := 1; race <= 3; race++ {
			_, err := l.Register(t.Context(), registration(fake, race), tokens(10))
			if text := err.Error(); !strings.Contains(text, path) || !strings.Contains(text, "horse 1 in race ") || !strings.Contains(text, "call Settle") || strings.Contains(text, "Races.Settle") {
				t.Errorf("Register: %v", err)
			}
		}
		fake.RemoveRaces(1)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/2", Status: 403, Times: -1})
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
		if strings.Contains(text, "race 3") || strings.Contains(text, "Races.Settle") {
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
