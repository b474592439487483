package main

import (
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestAPlanIsPaidOnce(t *testing.T) {
	l := allowed(t)
	l.Budget = tokens(t, "100")
	inBubble(t, l, "plan")
}

func TestOnlyAPlanOfThisRunPays(t *testing.T) {
	l := allowed(t)
	fake, earlier := open(t, l)
	s := inMemoryAs(t, fake, l, nil, "") // another run
	ours, next := earlier.plan(1).Plan, s.plan(1).Plan
	for _, plan := range []string{
		"", "1-1-2500000000000000000", ours, next + "0", " " + next, strings.Replace(next, "1-1-", "1-2-", 1),
	} {
		problem := s.call("register", map[string]any{"plan": plan}, nil)
		if !strings.HasPrefix(problem, "plan_again: nothing was sent: ") || !strings.Contains(problem, "plan_registration") {
			t.Errorf("%q: %q", plan, problem)
		}
	}
	double.Equal(t, "the state", ledger.Entered, s.register(next).State)
	double.Equal(t, "sent and paid", []int{1, 1}, []int{posts(fake), len(fake.Registrations())})
}

func TestALostResponseIsLookedForOnceAndThenSettled(t *testing.T) {
	l := allowed(t)
	l.Budget = tokens(t, "100")
	inBubble(t, l, "lost")
}

func TestWhatIsNotAllowedOrHasChangedIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		set    func(*settings)
		paid   int                     // registrations since the plan
		change func(*horseracing.Race) // since the plan
		want   string
	}{
		"above the highest fee":       {set: func(l *settings) { l.MaxFee = tokens(t, "2.4") }, want: "above the limit of 2.4"},
		"beyond the limit of the day": {set: func(l *settings) { l.Daily = tokens(t, "7.4") }, paid: 2, want: "7.5 tokens are above the limit of 7.4"},
		"beyond the budget":           {set: func(l *settings) { l.Budget = tokens(t, "2.5") }, paid: 1, want: "5 tokens are above the limit of 2.5"},
		"another horse":               {set: func(l *settings) { l.horses = []horseracing.HorseNumber{2, 3} }, want: "does not allow this horse"},
		"the fee is lower now":        {change: func(r *horseracing.Race) { r.EntryFee = *tokens(t, "1") }, want: "the fee is now 1 tokens"},
		"it was entered by hand":      {change: func(r *horseracing.Race) { r.Participants = []horseracing.RaceParticipant{{Number: 1}} }, want: "already in it"},
	} {
		t.Run(name, func(t *testing.T) {
			l := allowed(t)
			if test.set != nil {
				test.set(&l)
			}
			fake, s := open(t, l)
			before := s.plan(5)
			for race := 1; race <= test.paid; race++ {
				if got := s.register(s.plan(race).Plan); got.State != ledger.Entered {
					t.Fatalf("%+v", got)
				}
			}
			if test.change != nil {
				addRace(t, fake, 5, test.change)
			}
			if before.Plan == "" {
				if !strings.Contains(before.Against[0], test.want) {
					t.Errorf("%+v, want %q", before, test.want)
				}
			} else if got := s.register(before.Plan); got.State != ledger.Refused || !strings.Contains(got.Note, test.want) || !strings.Contains(got.Note, "nothing was sent") || got.Entry != nil {
				t.Errorf("%+v, want %q", got, test.want)
			}
			double.Equal(t, "registrations sent", test.paid, posts(fake))
		})
	}
}
