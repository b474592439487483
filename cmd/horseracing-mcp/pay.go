package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// withLedger is the call of a tool that opens the ledger, which other programs may use
// meanwhile and a person between two calls.
func withLedger[In, Out any](s *server, call func(context.Context, *mcp.CallToolRequest, *ledger.Ledger, In) (Out, error)) func(context.Context, *mcp.CallToolRequest, In) (Out, error) {
	options := []ledger.Option{ledger.WithMaxFee(*s.maxFee), ledger.WithDailyBudget(*s.daily, time.UTC)}
	if s.budget != nil {
		options = append(options, ledger.WithBudget(*s.budget))
	}
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (out Out, err error) {
		l, err := ledger.Open(s.path, s.client, options...)
		if err != nil {
			return out, fmt.Errorf("nothing was sent: %w", err)
		}
		defer l.Close()
		return call(ctx, req, l, in)
	}
}

// remainder is what may still be paid.
type remainder struct {
	LeftToday amount  `json:"left_today" jsonschema:"what may still be paid today, in UTC"`
	Left      *amount `json:"left,omitempty" jsonschema:"what may still be paid in all, if that is limited"`
}

func (r remainder) String() string {
	text := r.LeftToday.Tokens + " tokens left today"
	if r.Left != nil {
		text += " and " + r.Left.Tokens + " in all"
	}
	return text
}

// remainder returns what may still be paid after a fee that is planned.
func (s *server) remainder(l *ledger.Ledger, planned horseracing.BigInt) remainder {
	left := func(limit horseracing.BigInt, since time.Time) amount {
		paid, held := ledger.Sum(l.Entries(), since)
		rest := limit.Sub(paid).Sub(held).Sub(planned)
		return amountOf(slices.MaxFunc([]horseracing.BigInt{rest, {}}, horseracing.BigInt.Cmp))
	}
	out := remainder{LeftToday: left(*s.daily, time.Now().UTC().Truncate(24*time.Hour))}
	if s.budget != nil {
		out.Left = new(left(*s.budget, time.Time{}))
	}
	return out
}

type ledgerView struct {
	Paid        amount `json:"paid" jsonschema:"fees that are paid"`
	PerhapsPaid amount `json:"perhaps_paid" jsonschema:"fees whose outcome is unknown; they count as paid in the limits"`
	remainder
	list[entryView]
}

func (l ledgerView) String() string {
	return fmt.Sprintf("%v; %s tokens paid, %s perhaps paid, %v", l.list, l.Paid.Tokens, l.PerhapsPaid.Tokens, l.remainder)
}

func (s *server) ledger(ctx context.Context, _ *mcp.CallToolRequest, l *ledger.Ledger, in listArgs) (out ledgerView, err error) {
	entries := slices.Collect(l.Entries())
	slices.Reverse(entries)
	paid, held := ledger.Sum(l.Entries(), time.Time{})
	out.Paid, out.PerhapsPaid, out.remainder = amountOf(paid), amountOf(held), s.remainder(l, horseracing.BigInt{})
	out.list, err = listOf(ctx, entries, nil, in, entryOf)
	return out, err
}

const (
	settleTime = 6 * time.Second // of one call of settle
	margin     = time.Minute     // after a time of the race, for the service's last changes
)

type registerArgs struct {
	Plan string `json:"plan" jsonschema:"the plan of plan_registration, unchanged"`
}

type registered struct {
	State ledger.State `json:"state" jsonschema:"entered: the horse is in the race and its fee is paid, once; refused: not paid; unknown: perhaps paid, call settle"`
	Note  string       `json:"note,omitempty"`
	Entry *entryView   `json:"entry,omitempty" jsonschema:"the line of the ledger, absent if nothing was sent"`
}

func (r registered) String() string { return strings.TrimSuffix(string(r.State)+": "+r.Note, ": ") }

// register pays a plan of this run of the program, once. What is or may be paid already
// is reported whoever made the plan.
func (s *server) register(ctx context.Context, req *mcp.CallToolRequest, l *ledger.Ledger, in registerArgs) (out registered, err error) {
	var horse horseracing.HorseNumber
	var race horseracing.RaceID
	_, _ = fmt.Sscanf(in.Plan, "%d-%d-", &horse, &race) // any other text is not of this run
	if e := find(l, horse, race); paid(e.State) != "no" {
		return outcome(e), nil
	}
	plan, isOurs := s.plans.Load(in.Plan)
	if !isOurs {
		return out, coded{"plan_again", "nothing was sent: this run of the program has not made this plan; plan again with plan_registration, and pass its plan unchanged"}
	}
	seen, err := s.look(ctx, l, horse, race)
	if err != nil {
		return out, fmt.Errorf("nothing was sent: %w", err)
	}
	if e := find(l, horse, race); paid(e.State) != "no" { // by another call meanwhile
		return outcome(e), nil
	}
	if fee := plan.(horseracing.BigInt); !fee.Equal(seen.fee) {
		seen.against = append(seen.against, fmt.Sprintf("the fee is now %s tokens, in the plan it is %s: make a new plan", amountOf(seen.fee).Tokens, amountOf(fee).Tokens))
	}
	if len(seen.against) > 0 {
		return registered{State: ledger.Refused, Note: "nothing was sent: " + strings.Join(seen.against, "; ")}, nil
	}
	if s.confirm {
		if err := s.confirmed(req, seen.words); err != nil {
			return out, err
		}
	}
	e, err := l.Register(ctx, seen.Registration, seen.fee)
	switch {
	case errors.Is(err, ledger.ErrBudget): // another call has paid meanwhile
		return registered{State: ledger.Refused, Note: "nothing was sent: " + objection(err)}, nil
	case e.State == "":
		return out, fmt.Errorf("nothing was sent: %w", err)
	}
	if out = outcome(e); err != nil && out.Note == "" && !errors.Is(err, ledger.ErrEntered) { // the ledger could not be written
		out.Note = err.Error()
	}
	return out, nil
}

func outcome(e ledger.Entry) registered {
	view := entryOf(&e)
	out := registered{State: view.State, Note: view.Note, Entry: &view}
	if view.Paid == "perhaps" {
		out.Note = "the fee is perhaps paid; call settle, and do not register this horse elsewhere until it is known"
	}
	return out
}

type settled struct {
	Settled []entryView `json:"settled" jsonschema:"whose outcome is known now"`
	Unknown []entryView `json:"unknown" jsonschema:"whose outcome is still unknown, perhaps paid: call settle again after their until, not before"`
}

func (s settled) String() string {
	text := fmt.Sprintf("%d known now, %d still unknown", len(s.Settled), len(s.Unknown))
	for _, e := range s.Unknown {
		text += fmt.Sprintf("; horse %d in race %d until %s", e.Horse, e.Race, cmp.Or(e.Until, "a person decides"))
	}
	return text
}

func (s *server) settle(ctx context.Context, _ *mcp.CallToolRequest, l *ledger.Ledger, _ struct{}) (settled, error) {
	out := settled{Settled: []entryView{}, Unknown: []entryView{}}
	unknown := slices.DeleteFunc(slices.Collect(l.Entries()), func(e ledger.Entry) bool { return paid(e.State) != "perhaps" })
	if len(unknown) == 0 {
		return out, nil // without making a ledger
	}
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := l.Settle(limited); errors.Is(err, ledger.ErrInUse) {
		return out, err
	}
	for _, was := range unknown {
		if e := find(l, was.Horse, was.Race); paid(e.State) == "perhaps" {
			out.Unknown = append(out.Unknown, s.unsettled(ctx, e))
		} else {
			out.Settled = append(out.Settled, entryOf(&e))
		}
	}
	return out, nil
}

// unsettled returns an entry, and when another reading of its race can show more.
func (s *server) unsettled(ctx context.Context, e ledger.Entry) entryView {
	view := entryOf(&e)
	race, err := s.client.Races.Get(ctx, e.Race)
	if err == nil {
		view.Until = nextReading(race, s.clock.now())
	}
	if err != nil && !errors.Is(err, horseracing.ErrNotFound) {
		view.Note = sentence(err)
	} else if view.Until == "" {
		view.Note = "the service does not show it: perhaps paid; the person has to look, and decide with horseracing ledger FILE --decide"
	}
	return view
}

// nextReading returns the next time at which a race can show what it did not before: it
// may list its horses only once registration is closed, it has started, or is over.
func nextReading(r *horseracing.Race, now time.Time) string {
	closes, begins := r.RegistrationDeadline.Time, r.StartTime.Time
	if begins.IsZero() {
		begins = closes
	}
	for _, t := range []time.Time{closes, begins, begins.Add(time.Hour), begins.Add(2 * time.Hour)} {
		if t = t.Add(margin); t.After(now) {
			return instant(t)
		}
	}
	return ""
}
