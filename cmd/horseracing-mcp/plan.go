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
		fee, feeErr := horseracing.ParseUnits(parts[2], 0)
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
		limit.Err, limit.Amount.FormatUnits(tokenPlaces), limit.Limit.FormatUnits(tokenPlaces))
}
