package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestAPlanIsPaidOnce(t *testing.T) {
	l := allowed(t)
	l.Budget = tokens(t, "100")
	fake, s := open(t, l)
	p := s.plan(1)
	if !strings.HasPrefix(p.Plan, "1-1-2500000000000000000-") || p.Against == nil || len(p.Against) != 0 || p.LeftToday.Tokens != "10" || p.Left.Tokens != "100" || posts(fake) != 0 {
		t.Fatalf("%+v", p)
	}
	for range 2 {
		if got := s.register(p.Plan); got.State != ledger.Entered || got.Entry == nil || got.Entry.Fee.Tokens != "2.5" || got.Entry.Paid != "yes" {
			t.Errorf("%+v", got)
		}
		fake.Inject(horseracingtest.Fault{Path: "/", Status: 400}) // what is paid stays so if the service cannot be read
	}
	fake.ClearFaults()
	if again := s.plan(1); len(again.Against) != 2 || again.Plan != "" { // the race lists it, and so does the ledger
		t.Errorf("a second plan: %+v", again)
	}
	if entries, err := ledger.Read(l.path); err != nil || len(entries) != 1 || posts(fake) != 1 || len(fake.Registrations()) != 1 {
		t.Errorf("%d sent, %d paid; the file has %v, %v", posts(fake), len(fake.Registrations()), entries, err)
	}
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
	if got := s.register(next); got.State != ledger.Entered || posts(fake) != 1 || len(fake.Registrations()) != 1 {
		t.Errorf("%+v, %d sent, %v", got, posts(fake), fake.Registrations())
	}
}

func TestALostResponseIsLookedForOnceAndThenSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := allowed(t)
		l.Budget = tokens(t, "100")
		fake, s := open(t, l)
		fake.Inject(horseracingtest.Fault{Path: registerPath, ResetAfter: true}, horseracingtest.Fault{Path: registerPath, ResetBefore: true})
		plans := []string{s.plan(1).Plan, s.plan(2).Plan}
		for range 2 {
			if got := s.register(plans[0]); got.State != ledger.Entered { // the race lists it
				t.Errorf("the response is lost: %+v", got)
			}
			if got := s.register(plans[1]); got.State != ledger.Unknown || got.Entry.Paid != "perhaps" || !strings.Contains(got.Note, "call settle") {
				t.Errorf("the request is lost: %+v", got)
			}
		}
		out := get[settled](s, "settle", nil)
		until := instant(time.Now().Truncate(time.Hour).Add(2 * time.Hour)) // an hour after the start
		if len(out.Settled) != 0 || len(out.Unknown) != 1 || out.Unknown[0].Race != 2 || out.Unknown[0].Paid != "perhaps" || !strings.HasPrefix(out.Unknown[0].Note, `recorded: "POST `) || out.Until != until || out.Note == "" {
			t.Errorf("%+v, want until %s", out, until)
		}
		view := get[ledgerView](s, "list_ledger", map[string]any{"limit": 1})
		sums := []string{view.Paid.Tokens, view.PerhapsPaid.Tokens, view.LeftToday.Tokens, view.Left.Tokens}
		if !slices.Equal(sums, []string{"2.5", "2.5", "5", "95"}) || view.Entries[0].Race != 2 || view.LeftOut != 1 {
			t.Errorf("%+v", view)
		}
		addRace(t, fake, 2, func(r *horseracing.Race) {
			r.Participants = []horseracing.RaceParticipant{{Number: 2}} // an empty list would prove nothing
		})
		time.Sleep(2 * time.Hour)
		if out := get[settled](s, "settle", nil); len(out.Settled) != 1 || out.Settled[0].State != ledger.Absent || len(out.Unknown) != 0 || out.Until != "" {
			t.Errorf("then: %+v", out)
		}
		if got := s.register(plans[1]); got.State != ledger.Refused || !strings.Contains(got.Note, "nothing was sent") || posts(fake) != 2 {
			t.Errorf("afterwards: %+v; %d sent", got, posts(fake))
		}
	})
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
			if posts(fake) != test.paid {
				t.Errorf("%d sent", posts(fake))
			}
		})
	}
}
