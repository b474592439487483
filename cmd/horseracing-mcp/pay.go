package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/enter"
	"github.com/horseracing-go/horseracing/ledger"
)

// remainder is what may still be paid.
type remainder struct {
	LeftToday amount  `json:"left_today" jsonschema:"what may still be paid today, in UTC"`
	Left      *amount `json:"left,omitempty" jsonschema:"what may still be paid in all, if that is limited"`
}

// remainder returns what may still be paid after a fee that is planned.
func (s *server) remainder(ctx context.Context, planned horseracing.BigInt) (out remainder, err error) {
	today, all, err := s.Limits.Left(ctx, s.ledger, planned)
	if err != nil {
		return out, err
	}
	out.LeftToday = amountOf(today) // which is always limited
	if all != nil {
		out.Left = new(amountOf(all))
	}
	return out, nil
}

// plan is a registration that this run has planned.
type plan struct {
	enter.Entry
	seen enter.Sight
}

type planArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Race  horseracing.RaceID      `json:"race" jsonschema:"the id of the race"`
}

type planned struct {
	stamp
	Plan    string   `json:"plan,omitempty" jsonschema:"pass it to register; absent if something prevents it"`
	Against []string `json:"against" jsonschema:"why register would refuse it now; empty if nothing prevents it"`
	Fee     amount   `json:"fee"`
	remainder
}

func (s *server) plan(ctx context.Context, _ *mcp.CallToolRequest, in planArgs) (out planned, err error) {
	e := enter.Entry{Client: s.remote.Client, Ledger: s.ledger, Registration: horseracing.Registration{Horse: in.Horse, Race: in.Race, UserKey: s.remote.UserKey}}
	seen, err := e.Look(ctx)
	if err != nil {
		return out, err
	}
	out.Against, out.Fee = s.against(e, seen), amountOf(seen.Race.EntryFee)
	if out.remainder, err = s.remainder(ctx, horseracing.BigInt{}); err != nil {
		return out, err
	}
	if len(out.Against) == 0 {
		out.Plan = fmt.Sprintf("%d-%d-%s-%s", in.Horse, in.Race, seen.Race.EntryFee, rand.Text())
		s.plans.Store(out.Plan, plan{e, seen})
	}
	return out, nil
}

// against returns what prevents a registration.
func (s *server) against(e enter.Entry, seen enter.Sight) []string {
	texts := []string{}
	if len(s.horses) > 0 && !slices.Contains(s.horses, e.Horse) {
		texts = append(texts, "the person does not allow this horse (--horses)")
	}
	for _, err := range seen.Against {
		texts = append(texts, withTools.Replace(strings.TrimPrefix(err.Error(), "horseracing: ")))
	}
	return texts
}

type registerArgs struct {
	Plan string `json:"plan" jsonschema:"the plan of plan_registration, unchanged"`
}

type registered struct {
	stamp
	State ledger.State `json:"state" jsonschema:"entered: the horse is in the race and its fee is paid, once; refused: not paid; unknown: perhaps paid, call settle"`
	Note  string       `json:"note,omitempty"`
	Entry *entryView   `json:"entry,omitempty" jsonschema:"the line of the ledger, absent if nothing was sent"`
}

// register pays a plan of this run of the program, once.
func (s *server) register(ctx context.Context, req *mcp.CallToolRequest, in registerArgs) (out registered, err error) {
	known, isOurs := s.plans.Load(in.Plan)
	if !isOurs {
		return out, coded("plan_again: nothing was sent: the plan was not made since this program was started; make a new one with plan_registration, and pass it unchanged")
	}
	p := known.(plan)
	seen, fee := p.seen, p.seen.Race.EntryFee
	if e, failed := p.Known(ctx); failed != nil {
		return out, fmt.Errorf("nothing was sent: %w", failed)
	} else if paid(e.State) != "no" { // by an earlier call
		return outcome(e, nil), nil
	}
	if err := seen.Race.CheckEntry(seen.Horse, s.now()); err != nil {
		return unsent(err), nil
	} else if err := p.Ledger.Check(ctx, p.Registration, fee); err != nil {
		return refused(err)
	}
	if s.confirm {
		rest, err := s.remainder(ctx, fee)
		if err != nil {
			return out, fmt.Errorf("nothing was sent: %w", err)
		}
		words := fmt.Sprintf("Pay %s tokens to enter horse %d, %.60q, into race %d, %.60q, of tier %.30q, which starts at %s? Then %s tokens are left today",
			amountOf(fee).Tokens, p.Horse, words(seen.Horse.Name), p.Race, words(seen.Race.Info.Name), words(seen.Race.Tier), instant(seen.Race.StartTime.Time), rest.LeftToday.Tokens)
		if rest.Left != nil {
			words += " and " + rest.Left.Tokens + " in all"
		}
		if err := s.confirmed(req, words+"."); err != nil {
			return out, err
		}
	}
	e, err := p.Register(ctx, fee)
	if e.State == "" || e.Time.IsZero() && errors.Is(err, ledger.ErrEntered) { // not in the ledger
		return refused(err)
	}
	return outcome(e, err), nil
}

// refused returns the result of a registration that was not sent, because of the ledger or of what it saw of the race.
func refused(err error) (out registered, _ error) {
	if errors.Is(err, ledger.ErrBudget) || errors.Is(err, ledger.ErrFee) || errors.Is(err, ledger.ErrEntered) {
		return unsent(err), nil
	}
	return out, fmt.Errorf("nothing was sent: %w", err)
}

func unsent(err error) registered {
	return registered{State: ledger.Refused, Note: fmt.Sprintf("nothing was sent: %s: make a new plan", strings.TrimPrefix(err.Error(), "horseracing: "))}
}

// outcome returns the result for an entry. An error counts if the ledger could not be written.
func outcome(e ledger.Entry, err error) registered {
	view := entryOf(&e)
	out := registered{State: view.State, Note: view.Note, Entry: &view}
	switch {
	case view.Paid == "perhaps":
		out.Note = "the fee is perhaps paid; call settle, and do not register this horse elsewhere until it is known"
	case err != nil && out.Note == "" && !errors.Is(err, ledger.ErrEntered):
		out.Note = err.Error()
	}
	return out
}

// question is the error of a call that needs a person's confirmation.
type question struct{ words, id string }

func (q *question) Error() string { return q.words }

// result makes the host ask the person, and call again with the confirmation.
func (q *question) result() *mcp.CallToolResult {
	form := map[string]any{
		"type": "object", "required": []string{"pay"},
		"properties": map[string]any{"pay": map[string]any{"type": "string", "title": "Pay", "enum": []string{"no", "yes"}}},
	}
	ask := &mcp.ElicitParams{Message: q.words, RequestedSchema: form}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"pay": ask}, RequestState: q.id}
}

// confirmed returns nil if the person said yes to these words, and a question if they
// were not asked yet. A confirmation is for one question, and counts once.
func (s *server) confirmed(req *mcp.CallToolRequest, words string) error {
	can := req.ClientCapabilities()
	if can == nil || can.Elicitation == nil || can.Elicitation.Form == nil && can.Elicitation.URL != nil {
		return coded(notConfirmed + "the person wants to be asked before each payment (--confirm), but this host cannot ask")
	}
	reply, ok := req.Params.InputResponses["pay"].(*mcp.ElicitResult)
	if !ok {
		q := &question{words: words, id: rand.Text()}
		s.asked.Store(q.id, words)
		return q
	}
	asked, _ := s.asked.LoadAndDelete(req.Params.RequestState)
	switch {
	case asked != words:
		return coded(notConfirmed + "the confirmation is not for this question, or something has changed since; register again to ask again")
	case reply.Action != "accept" || reply.Content["pay"] != "yes":
		return coded(notConfirmed + "the person was asked and did not say yes")
	}
	return nil
}

type settled struct {
	stamp
	Settled []entryView `json:"settled" jsonschema:"the registrations whose outcome is known now"`
	Unknown []entryView `json:"unknown" jsonschema:"the registrations whose outcome is still unknown; their fees are perhaps paid"`
	Until   string      `json:"until,omitempty" jsonschema:"call settle again at this time, not before; if it is absent, only the person can find out what is unknown"`
	Note    string      `json:"note,omitempty" jsonschema:"why they are unknown"`
}

func (s *server) settle(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (settled, error) {
	out := settled{Settled: []entryView{}, Unknown: []entryView{}}
	wasUnknown := map[string]bool{}
	before, err := s.ledger.Entries(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range before {
		wasUnknown[fmt.Sprint(e.Horse, e.Race)] = paid(e.State) == "perhaps"
	}
	err = s.ledger.Settle(ctx)
	after, failed := s.ledger.Entries(context.WithoutCancel(ctx))
	if failed != nil {
		return out, failed
	}
	for _, e := range after {
		switch view := entryOf(&e); {
		case !wasUnknown[fmt.Sprint(e.Horse, e.Race)]:
		case view.Paid == "perhaps":
			out.Unknown = append(out.Unknown, view)
		default:
			out.Settled = append(out.Settled, view)
		}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		out.Until, out.Note = soonest(joined.Unwrap()), fmt.Sprintf("%.2000q", err)
	}
	return out, nil
}

// soonest returns when another reading can first decide, or "" if none can.
func soonest(errs []error) string {
	var first time.Time
	for _, err := range errs {
		undecided, ok := errors.AsType[*horseracing.UndecidedError](err)
		if ok && !undecided.RetryAt.IsZero() && (first.IsZero() || undecided.RetryAt.Before(first)) {
			first = undecided.RetryAt
		}
	}
	if first.IsZero() {
		return ""
	}
	return instant(first.Add(time.Second - 1)) // whole seconds, and not before it
}

type ledgerView struct {
	list[entryView]
	Paid        amount `json:"paid" jsonschema:"fees that are paid"`
	PerhapsPaid amount `json:"perhaps_paid" jsonschema:"fees whose outcome is unknown; they count as paid in the limits"`
	remainder
}

func (s *server) listLedger(ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (out ledgerView, err error) {
	entries, err := s.ledger.Entries(ctx)
	if err != nil {
		return out, err
	}
	slices.Reverse(entries)
	paid, held := ledger.Sum(entries, time.Time{})
	out.Paid, out.PerhapsPaid = amountOf(paid), amountOf(held)
	out.list = listOf(ctx, entries, in, entryOf)
	out.remainder, err = s.remainder(ctx, horseracing.BigInt{})
	return out, err
}
