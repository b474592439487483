package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// limits are what a person allows an agent to pay. No tool changes them.
type limits struct {
	path          string // of the ledger; empty if nothing may be paid
	maxFee, daily *horseracing.BigInt
	budget        *horseracing.BigInt       // nil if there is none
	horses        []horseracing.HorseNumber // any horse if empty
	confirm       bool                      // ask the person before each payment
}

type payer struct {
	*service
	limits
	secret []byte // of the marks of plans

	mu    sync.Mutex
	asked map[string]string // the words of each question that is not confirmed yet
}

func newPayer(s *service, l limits) *payer {
	return &payer{service: s, limits: l, secret: []byte(rand.Text()), asked: map[string]string{}}
}

// withLedger is the call of a tool that opens the ledger, which other programs may use
// meanwhile and a person between two calls.
func withLedger[In, Out any](p *payer, call func(context.Context, *mcp.CallToolRequest, *ledger.Ledger, In) (Out, error)) func(context.Context, *mcp.CallToolRequest, In) (Out, error) {
	options := []ledger.Option{ledger.WithSharing(), ledger.WithMaxFee(*p.maxFee), ledger.WithDailyBudget(*p.daily, time.UTC)}
	if p.budget != nil {
		options = append(options, ledger.WithBudget(*p.budget))
	}
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (out Out, err error) {
		l, err := ledger.Open(p.path, p.client, options...)
		if err != nil {
			return out, fmt.Errorf("nothing was sent: %w", err)
		}
		defer l.Close()
		return call(ctx, req, l, in)
	}
}

type sums struct {
	Paid        amount  `json:"paid" jsonschema:"fees that are paid"`
	PerhapsPaid amount  `json:"perhaps_paid" jsonschema:"fees whose outcome is unknown; they count as paid in the limits"`
	LeftToday   amount  `json:"left_today" jsonschema:"what may still be paid today, in UTC"`
	Left        *amount `json:"left,omitempty" jsonschema:"what may still be paid in all, if that is limited"`
}

func (s sums) left() string {
	text := s.LeftToday.Tokens + " tokens left today"
	if s.Left != nil {
		text += " and " + s.Left.Tokens + " in all"
	}
	return text
}

// sum adds up a ledger. What is left is without a fee that is planned.
func (p *payer) sum(l *ledger.Ledger, planned horseracing.BigInt) sums {
	left := func(limit, paid, held horseracing.BigInt) amount {
		rest := limit.Sub(paid).Sub(held).Sub(planned)
		return amountOf(slices.MaxFunc([]horseracing.BigInt{rest, {}}, horseracing.BigInt.Cmp))
	}
	paid, held := ledger.Sum(l.Entries(), time.Time{})
	out := sums{Paid: amountOf(paid), PerhapsPaid: amountOf(held)}
	if p.budget != nil {
		out.Left = new(left(*p.budget, paid, held))
	}
	paid, held = ledger.Sum(l.Entries(), time.Now().UTC().Truncate(24*time.Hour))
	out.LeftToday = left(*p.daily, paid, held)
	return out
}

type ledgerView struct {
	sums
	list[entryView]
}

func (l ledgerView) String() string {
	return fmt.Sprintf("%v; %s tokens paid, %s perhaps paid, %s", l.list, l.Paid.Tokens, l.PerhapsPaid.Tokens, l.left())
}

func (p *payer) list(_ context.Context, _ *mcp.CallToolRequest, l *ledger.Ledger, in listArgs) (out ledgerView, err error) {
	entries := slices.Collect(l.Entries())
	slices.Reverse(entries)
	out.sums = p.sum(l, horseracing.BigInt{})
	out.list, err = listOf(entries, nil, in, entryOf)
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
func (p *payer) register(ctx context.Context, req *mcp.CallToolRequest, l *ledger.Ledger, in registerArgs) (out registered, err error) {
	intent, isOurs, err := p.parse(in.Plan)
	if err != nil {
		return out, err
	}
	if e, ok := paidEntry(l, intent); ok {
		return outcome(e), nil
	}
	if !isOurs {
		return out, coded{planAgain, "nothing was sent: this run of the program has not made this plan; plan again with plan_registration"}
	}
	seen, err := p.look(ctx, l, intent)
	if err != nil {
		return out, fmt.Errorf("nothing was sent: %w", err)
	}
	if e, ok := paidEntry(l, intent); ok { // by another call meanwhile
		return outcome(e), nil
	}
	if !seen.fee.Equal(intent.fee) {
		seen.against = append(seen.against, fmt.Sprintf("the fee is now %s tokens, in the plan it is %s: make a new plan", seen.fee.FormatUnits(tokenPlaces), intent.fee.FormatUnits(tokenPlaces)))
	}
	if len(seen.against) > 0 {
		return registered{State: ledger.Refused, Note: "nothing was sent: " + strings.Join(seen.against, "; ")}, nil
	}
	if p.confirm {
		if err := p.confirmed(req, seen.words); err != nil {
			return out, err
		}
	}
	e, err := l.Register(ctx, p.registration(intent), seen.fee)
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

func (p *payer) settle(ctx context.Context, _ *mcp.CallToolRequest, l *ledger.Ledger, _ struct{}) (settled, error) {
	out := settled{Settled: []entryView{}, Unknown: []entryView{}}
	wasOpen := map[plan]bool{}
	for e := range l.Entries() {
		if paid(e.State) == "perhaps" {
			wasOpen[plan{horse: e.Horse, race: e.Race}] = true
		}
	}
	if len(wasOpen) == 0 {
		return out, nil // without making a ledger
	}
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := l.Settle(limited); errors.Is(err, ledger.ErrInUse) {
		return out, err
	}
	for e := range l.Entries() { // what is still unknown is listed
		switch {
		case !wasOpen[plan{horse: e.Horse, race: e.Race}]:
		case paid(e.State) == "perhaps":
			out.Unknown = append(out.Unknown, p.unsettled(ctx, e))
		default:
			out.Settled = append(out.Settled, entryOf(&e))
		}
	}
	return out, nil
}

// unsettled returns an entry, and when another reading of its race can show more.
func (p *payer) unsettled(ctx context.Context, e ledger.Entry) entryView {
	view := entryOf(&e)
	race, err := p.client.Races.Get(ctx, e.Race)
	if err == nil {
		view.Until = nextReading(race, p.clock.now())
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
