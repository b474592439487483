package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

const (
	openPatience = 5 * time.Second  // while another process has the ledger open
	settleTime   = 12 * time.Second // of one call of settle
	settleMargin = time.Minute      // after the deadline, until which Settle may read the race
)

// limits are what a person allows an agent to pay. No tool changes them.
type limits struct {
	path          string // of the ledger; empty if nothing may be paid
	maxFee, daily *horseracing.BigInt
	budget        *horseracing.BigInt       // nil if there is none
	horses        []horseracing.HorseNumber // empty: any
}

type payer struct {
	client *horseracing.Client
	owner  horseracing.UserKey
	limits
}

// withLedger opens the ledger for f alone, so that a person can use it between calls.
func (p *payer) withLedger(ctx context.Context, f func(*ledger.Ledger) error) error {
	options := []ledger.Option{ledger.WithMaxFee(*p.maxFee), ledger.WithDailyBudget(*p.daily, time.UTC)}
	if p.budget != nil {
		options = append(options, ledger.WithBudget(*p.budget))
	}
	l, err := ledger.Open(p.path, p.client, options...)
	for began := time.Now(); errors.Is(err, ledger.ErrInUse) && ctx.Err() == nil && time.Since(began) < openPatience; {
		time.Sleep(50 * time.Millisecond)
		l, err = ledger.Open(p.path, p.client, options...)
	}
	if errors.Is(err, ledger.ErrInUse) {
		err = fmt.Errorf("another call or program uses the ledger; try again later: %w", err)
	}
	if err != nil {
		return fmt.Errorf("nothing was sent: %w", err)
	}
	defer l.Close()
	return f(l)
}

// plan is a registration that was looked at. Its text carries everything.
type plan struct {
	horse horseracing.HorseNumber
	race  horseracing.RaceID
	fee   horseracing.BigInt
}

func (p plan) String() string { return fmt.Sprintf("%d-%d-%s", p.horse, p.race, p.fee) }

func parsePlan(text string) (plan, error) {
	parts := strings.Split(text, "-")
	if len(parts) == 3 {
		horse, horseErr := strconv.ParseInt(parts[0], 10, 64)
		race, raceErr := strconv.ParseInt(parts[1], 10, 64)
		fee, feeErr := horseracing.ParseDecimal(parts[2], 0)
		p := plan{horseracing.HorseNumber(horse), horseracing.RaceID(race), fee}
		if errors.Join(horseErr, raceErr, feeErr) == nil && p.String() == text {
			return p, nil
		}
	}
	return plan{}, errors.New("nothing was sent: this is not a plan; pass the plan of plan_registration unchanged")
}

type planArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Race  horseracing.RaceID      `json:"race" jsonschema:"the id of the race"`
}

type planned struct {
	Plan      string   `json:"plan" jsonschema:"pass it to register"`
	Fee       amount   `json:"fee"`
	LeftToday amount   `json:"left_today" jsonschema:"what may still be paid today, in UTC"`
	Left      *amount  `json:"left,omitempty" jsonschema:"what may still be paid in all, if that is limited"`
	Against   []string `json:"against" jsonschema:"why register would refuse it now; empty if it fits"`
}

func (p *payer) plan(ctx context.Context, in planArgs) (out planned, err error) {
	if max(int64(in.Horse), int64(in.Race)) >= 1<<53 { // JSON readers round those, and would pay for another race
		return out, errors.New("an id must be below 2^53")
	}
	intent := plan{horse: in.Horse, race: in.Race}
	err = p.withLedger(ctx, func(l *ledger.Ledger) error {
		intent.fee, out.Against, err = p.look(ctx, l, intent)
		s := p.sum(slices.Collect(l.Entries()))
		out.Plan, out.Fee, out.LeftToday, out.Left = intent.String(), amountOf(intent.fee), s.LeftToday, s.Left
		return err
	})
	return out, err
}

// look reads race and horse, and returns the fee, and what is against the registration.
func (p *payer) look(ctx context.Context, l *ledger.Ledger, intent plan) (fee horseracing.BigInt, against []string, err error) {
	race, err := p.client.Races.Get(ctx, intent.race)
	if err != nil {
		return fee, nil, err
	}
	horse, err := p.client.Horses.Get(ctx, intent.horse)
	if err != nil {
		return fee, nil, err
	}
	against = []string{}
	if len(p.horses) > 0 && !slices.Contains(p.horses, intent.horse) {
		against = append(against, "the person does not allow this horse (-horses)")
	}
	if err := race.CheckEntry(horse, time.Now()); err != nil {
		against = append(against, strings.TrimPrefix(err.Error(), "horseracing: "))
	}
	if err := l.Check(p.registration(intent), race.EntryFee); err != nil {
		against = append(against, reason(err))
	}
	return race.EntryFee, against, nil
}

func (p *payer) registration(intent plan) horseracing.Registration {
	return horseracing.Registration{Horse: intent.horse, Race: intent.race, UserKey: p.owner}
}

// reason is why the ledger refuses a registration. Limits are in tokens.
func reason(err error) string {
	limit, ok := errors.AsType[*ledger.LimitError](err)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("%v: %s tokens are above the limit of %s, which only the person can change",
		limit.Err, limit.Amount.Decimal(tokenPlaces), limit.Limit.Decimal(tokenPlaces))
}

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
			against = append(against, fmt.Sprintf("the fee is now %s tokens, in the plan it is %s: make a new plan", fee.Decimal(tokenPlaces), intent.fee.Decimal(tokenPlaces)))
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

type sums struct {
	Paid      amount      `json:"paid" jsonschema:"fees that are or may be paid"`
	PaidToday amount      `json:"paid_today" jsonschema:"of today, in UTC"`
	LeftToday amount      `json:"left_today"`
	Left      *amount     `json:"left,omitempty" jsonschema:"if the sum of all is limited"`
	Entries   []entryView `json:"entries,omitempty" jsonschema:"the newest hundred, newest first"`
}

func (p *payer) sum(entries []ledger.Entry) (out sums) {
	var paid, today, zero horseracing.BigInt
	for _, e := range entries {
		if e.State == ledger.Refused || e.State == ledger.Absent {
			continue
		}
		paid = paid.Add(e.Fee)
		if e.Time.UTC().Format(time.DateOnly) == time.Now().UTC().Format(time.DateOnly) {
			today = today.Add(e.Fee)
		}
	}
	left := func(limit, paid horseracing.BigInt) amount {
		if paid.Cmp(limit) > 0 {
			return amountOf(zero)
		}
		return amountOf(limit.Sub(paid))
	}
	out = sums{Paid: amountOf(paid), PaidToday: amountOf(today), LeftToday: left(*p.daily, today)}
	if p.budget != nil {
		total := left(*p.budget, paid)
		out.Left = &total
	}
	return out
}

func (p *payer) ledger(_ context.Context, _ none) (sums, error) {
	entries, err := ledger.Read(p.path)
	out := p.sum(entries)
	for _, e := range slices.Backward(entries) {
		if len(out.Entries) < maxEntries {
			out.Entries = append(out.Entries, entryOf(e))
		}
	}
	return out, err
}
