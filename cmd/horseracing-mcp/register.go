package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

const (
	settleTime   = 12 * time.Second // of one call of settle
	settleMargin = time.Minute      // after the deadline, until which Settle may read the race
)

type registerArgs struct {
	Plan string `json:"plan" jsonschema:"the plan of plan_registration"`
}

type registered struct {
	State ledger.State `json:"state" jsonschema:"entered: the horse is in the race and its fee is paid, once; refused: nothing is paid; unknown: it may be paid, call settle"`
	Note  string       `json:"note,omitempty"`
	Entry *entryView   `json:"entry,omitempty" jsonschema:"the line of the ledger, absent if nothing was sent"`
}

func (p *payer) register(ctx context.Context, in registerArgs) (out registered, err error) {
	intent, err := parsePlan(in.Plan)
	if err != nil {
		return out, err
	}
	err = p.withLedger(ctx, func(l *ledger.Ledger) error {
		for e := range l.Entries() {
			if e.Horse == intent.horse && e.Race == intent.race && (e.State == ledger.Entered || e.State == ledger.Unknown) {
				out = outcome(e)
				return nil
			}
		}
		fee, against, err := p.look(ctx, l, intent)
		if err != nil {
			return fmt.Errorf("nothing was sent: %w", err)
		}
		if !fee.Equal(intent.fee) {
			against = append(against, fmt.Sprintf("the fee is now %s tokens, in the plan it is %s: make a new plan", fee.FormatUnits(tokenPlaces), intent.fee.FormatUnits(tokenPlaces)))
		}
		if len(against) > 0 {
			out = registered{State: ledger.Refused, Note: "nothing was sent: " + strings.Join(against, "; ")}
			return nil
		}
		e, err := l.Register(ctx, p.registration(intent), fee)
		if e.State == "" {
			return fmt.Errorf("nothing was sent: %w", err)
		}
		if out = outcome(e); err != nil && out.Note == "" { // entered, but the ledger could not be written
			out.Note = err.Error()
		}
		return nil
	})
	return out, err
}

func outcome(e ledger.Entry) registered {
	view := entryOf(e)
	out := registered{State: e.State, Note: e.Note, Entry: &view}
	if e.State == ledger.Unknown {
		out.Note = "the fee may be paid; call settle, and do not register this horse elsewhere until it is known"
	}
	return out
}

type settled struct {
	Settled []entryView `json:"settled" jsonschema:"whose outcome is known now"`
	Unknown []entryView `json:"unknown" jsonschema:"whose outcome is still unknown: call settle again"`
}

func (p *payer) settle(ctx context.Context, _ none) (settled, error) {
	out := settled{Settled: []entryView{}, Unknown: []entryView{}}
	err := p.withLedger(ctx, func(l *ledger.Ledger) error {
		wasUnknown := map[plan]bool{}
		for e := range l.Entries() {
			wasUnknown[plan{horse: e.Horse, race: e.Race}] = e.State == ledger.Unknown
		}
		limited, cancel := context.WithTimeout(ctx, settleTime)
		defer cancel()
		_ = l.Settle(limited) // what is still unknown is listed
		for e := range l.Entries() {
			switch {
			case !wasUnknown[plan{horse: e.Horse, race: e.Race}]:
			case e.State != ledger.Unknown:
				out.Settled = append(out.Settled, entryOf(e))
			default:
				out.Unknown = append(out.Unknown, p.unsettled(ctx, e))
			}
		}
		return nil
	})
	return out, err
}

// unsettled says until when the outcome of an entry will be known.
func (p *payer) unsettled(ctx context.Context, e ledger.Entry) entryView {
	view := entryOf(e)
	race, err := p.client.Races.Get(ctx, e.Race)
	switch {
	case errors.Is(err, horseracing.ErrNotFound):
		view.Note = "the race is gone: the person has to look, and decide with horseracing ledger FILE -decide"
	case err != nil:
		view.Note = sentence(err).Error()
	default:
		view.Until = instant(race.RegistrationDeadline.Add(settleMargin))
	}
	return view
}
