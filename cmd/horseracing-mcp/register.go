package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

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

// unsettled says from when on another reading of the race can tell more about an entry.
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
// may list its horses only once registration is closed, it has begun, or is over.
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
