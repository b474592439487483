package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/database"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
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
		double.FailIf(t, !strings.HasPrefix(problem, "plan_again: nothing was sent: ") || !strings.Contains(problem, "plan_registration"), "%q: %q", plan, problem)
	}
	double.Equal(t, "the state", ledger.Entered, s.register(next).State)
	double.Equal(t, "sent and paid", []int{1, 1}, []int{posts(fake), len(fake.Registrations())})
}

func TestASettleIsDueInWholeSecondsAndNotTooEarly(t *testing.T) {
	double.Equal(t, "until", "1970-01-01T00:00:02Z", soonest([]error{&horseracing.UndecidedError{RetryAt: time.Unix(1, 1)}, &horseracing.UndecidedError{RetryAt: time.Unix(2, 1)}}))
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
		"the fee is lower now":        {change: func(r *horseracing.Race) { r.EntryFee = *tokens(t, "1") }, want: "the race costs 1000000000000000000 now, and not 2500000000000000000"},
		"it was entered by hand":      {change: func(r *horseracing.Race) { r.Participants = []horseracing.RaceParticipant{{Number: 1}} }, want: "already entered"},
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
				double.FailIf(t, !strings.Contains(before.Against[0], test.want), "%+v, want %q", before, test.want)
			} else if got := s.register(before.Plan); got.State != ledger.Refused || !strings.Contains(got.Note, test.want) || !strings.Contains(got.Note, "nothing was sent") || got.Entry != nil {
				t.Errorf("%+v, want %q", got, test.want)
			}
			double.Equal(t, "registrations sent", test.paid, posts(fake))
		})
	}
}

func TestOnlyAYesPays(t *testing.T) {
	versions := []string{"2026-07-28", "2025-11-25"} // a result asks the host; a request does
	var words string
	responds := func(response *mcp.ElicitResult, err error) *mcp.ClientOptions {
		return &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			words = r.Params.Message
			if response == nil && err == nil {
				<-ctx.Done()
				err = ctx.Err()
			}
			return response, err
		}}
	}
	yes, no := map[string]any{"pay": "yes"}, map[string]any{"pay": "no"}
	links := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}}
	for name, test := range map[string]struct {
		host     *mcp.ClientOptions
		versions []string
		asks     bool
		pays     bool
	}{
		"yes":               {responds(&mcp.ElicitResult{Action: "accept", Content: yes}, nil), versions, true, true},
		"no":                {responds(&mcp.ElicitResult{Action: "accept", Content: no}, nil), versions, true, false},
		"accepted unread":   {responds(&mcp.ElicitResult{Action: "accept"}, nil), versions, true, false},
		"declined":          {responds(&mcp.ElicitResult{Action: "decline", Content: yes}, nil), versions, true, false},
		"the host gives up": {responds(nil, errors.New("no window")), versions[1:], true, false}, // in the other, it does not call again
		"nobody responds":   {responds(nil, nil), versions[1:], true, false},
		"it cannot ask":     {nil, versions, false, false},
		"it can only link":  {links, versions, false, false},
	} {
		for _, version := range test.versions {
			synctest.Test(t, func(t *testing.T) {
				words = ""
				fake := newFake(t, horseracingtest.WithInMemory())
				l := allowed(t)
				l.confirm, l.Budget = true, tokens(t, "100")
				s := inMemoryAs(t, fake, l, test.host, version)
				plan, began := s.plan(1).Plan, time.Now()
				var out registered
				problem := s.call("register", map[string]any{"plan": plan}, &out)
				synctest.Wait() // for a host that is no longer waited for
				for _, want := range []string{"Pay 2.5 tokens", "horse 1,", "race 1,", "7.5 tokens are left today and 97.5 in all"} {
					double.FailIf(t, strings.Contains(words, want) != test.asks, "%s, version %s: the question is %q", name, version, words)
				}
				took := time.Since(began)
				double.FailIf(t, took > confirmTime+time.Second || strings.HasPrefix(problem, "not_confirmed: nothing was sent: ") == test.pays, "%s, version %s: after %v: %q", name, version, took, problem)
				if entries, _ := database.Read(t.Context(), l.path); (out.State == ledger.Entered) != test.pays || (len(entries) == 1) != test.pays || (posts(fake) == 1) != test.pays {
					t.Errorf("%s, version %s: %+v, %d sent, %v", name, version, out, posts(fake), entries)
				}
			})
		}
	}
}

func TestAYesIsForOneQuestionOnce(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	l := allowed(t)
	l.confirm = true
	s := inMemoryAs(t, fake, l, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}, "")
	yes := mcp.InputResponseMap{"pay": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"pay": "yes"}}}
	call := func(plan, state string, response mcp.InputResponseMap) *mcp.CallToolResult {
		t.Helper()
		return double.Must(s.CallTool(t.Context(), &mcp.CallToolParams{Name: "register", Arguments: map[string]any{"plan": plan}, RequestState: state, InputResponses: response}))
	}
	one, two := s.plan(1).Plan, s.plan(2).Plan
	asked := call(one, "", nil).RequestState
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400, Body: `{"error":"full"}`})
	for name, test := range map[string]struct{ plan, state string }{"never asked": {one, ""}, "made up": {one, "x"}, "of another race": {two, asked}} {
		double.Equal(t, name+" is an error", true, call(test.plan, test.state, yes).IsError)
	}
	asked = call(one, "", nil).RequestState
	double.Equal(t, "a yes is an error", false, call(one, asked, yes).IsError)
	double.Equal(t, "a second yes is an error", true, call(one, asked, yes).IsError)
	double.Equal(t, "registrations sent", 1, posts(fake))
}
