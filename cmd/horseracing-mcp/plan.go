package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// plan is a registration that was looked at. Its text carries everything, and a mark
// that only this run of the program can make.
type plan struct {
	horse horseracing.HorseNumber
	race  horseracing.RaceID
	fee   horseracing.BigInt
}

func (p *payer) textOf(intent plan) string {
	text := fmt.Sprintf("%d-%d-%s", intent.horse, intent.race, intent.fee)
	mac := hmac.New(sha256.New, p.secret)
	mac.Write([]byte(text))
	return text + "-" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// parse returns a plan, and whether this run of the program has made it.
func (p *payer) parse(text string) (intent plan, isOurs bool, err error) {
	parts := strings.Split(text, "-")
	if len(parts) < 3 {
		return plan{}, false, coded{planAgain, "nothing was sent: this is not a plan; pass the plan of plan_registration unchanged"}
	}
	horse, horseErr := strconv.ParseInt(parts[0], 10, 64)
	race, raceErr := strconv.ParseInt(parts[1], 10, 64)
	fee, feeErr := horseracing.ParseUnits(parts[2], 0)
	if errors.Join(horseErr, raceErr, feeErr) != nil {
		return plan{}, false, coded{planAgain, "nothing was sent: this is not a plan; pass the plan of plan_registration unchanged"}
	}
	intent = plan{horse: horseracing.HorseNumber(horse), race: horseracing.RaceID(race), fee: fee}
	return intent, hmac.Equal([]byte(text), []byte(p.textOf(intent))), nil
}

type planArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Race  horseracing.RaceID      `json:"race" jsonschema:"the id of the race"`
}

type planned struct {
	Plan      string   `json:"plan,omitempty" jsonschema:"pass it to register; absent if something stands against it"`
	Against   []string `json:"against" jsonschema:"why register would refuse it now; empty if it fits"`
	Fee       amount   `json:"fee"`
	LeftToday amount   `json:"left_today" jsonschema:"what may still be paid today, in UTC"`
	Left      *amount  `json:"left,omitempty" jsonschema:"what may still be paid in all, if that is limited"`
}

func (p planned) summary() string {
	if p.Plan == "" {
		return "no plan: " + strings.Join(p.Against, "; ")
	}
	return fmt.Sprintf("planned for %s tokens, nothing is paid yet: %s", p.Fee.Tokens, p.Plan)
}

func (p *payer) plan(ctx context.Context, in planArgs) (planned, error) {
	entries, err := p.entries()
	if err != nil {
		return planned{}, err
	}
	seen, err := p.look(ctx, plan{horse: in.Horse, race: in.Race}, entries)
	if err != nil {
		return planned{}, err
	}
	out := planned{Against: seen.against, Fee: amountOf(seen.fee), LeftToday: seen.sums.LeftToday, Left: seen.sums.Left}
	if len(seen.against) == 0 {
		out.Plan = p.textOf(seen.plan)
	}
	return out, nil
}

// sight is what was seen of a registration.
type sight struct {
	plan
	words   string // for the person who is asked
	sums    sums
	against []string // why it cannot be sent now
}

// look reads the race and the owner's horses, and checks them and the limits. The
// ledger checks its limits again before anything is sent.
func (p *payer) look(ctx context.Context, intent plan, entries []ledger.Entry) (sight, error) {
	race, err := p.client.Races.Get(ctx, intent.race)
	if err != nil {
		return sight{}, err
	}
	owned, err := p.client.Horses.Owned(ctx, p.owner)
	i := slices.IndexFunc(owned, func(h horseracing.Horse) bool { return h.Number == intent.horse })
	if err != nil && i < 0 {
		return sight{}, err
	}
	seen := sight{plan: plan{intent.horse, intent.race, race.EntryFee}, sums: p.sum(entries), against: []string{}}
	var horse *horseracing.Horse
	if i < 0 {
		seen.against = append(seen.against, fmt.Sprintf("horse %d is not one of the person's horses", intent.horse))
	} else {
		horse = &owned[i]
		seen.words = fmt.Sprintf("Pay %s tokens to enter horse %d, %.60q, into race %d, %.60q, of tier %.30q, which starts at %s? %s",
			race.EntryFee.FormatUnits(tokenPlaces), horse.Number, horse.Name, race.MainRaceID, race.Info.Name, race.Tier, instant(race.StartTime.Time), p.leftAfter(race.EntryFee, seen.sums))
	}
	if err := race.CheckEntry(horse, p.clock.now()); err != nil {
		seen.against = append(seen.against, strings.TrimPrefix(err.Error(), "horseracing: "))
	}
	if len(p.horses) > 0 && !slices.Contains(p.horses, intent.horse) {
		seen.against = append(seen.against, "the person does not allow this horse (--horses)")
	}
	if e, ok := paidEntry(entries, intent); ok {
		seen.against = append(seen.against, fmt.Sprintf("this horse was registered in this race at %s: its state is %s", instant(e.Time), e.State))
	}
	seen.against = append(seen.against, p.overLimits(race.EntryFee, seen.sums)...)
	return seen, nil
}

// leftAfter says what is left of the limits after a fee.
func (p *payer) leftAfter(fee horseracing.BigInt, sums sums) string {
	text := fmt.Sprintf("Then %s tokens are left today", leftOf(*p.daily, fee.Add(sums.today)).Tokens)
	if p.budget != nil {
		text += fmt.Sprintf(" and %s in all", leftOf(*p.budget, fee.Add(sums.all)).Tokens)
	}
	return text + "."
}

// overLimits returns the limits that a fee is above.
func (p *payer) overLimits(fee horseracing.BigInt, sums sums) (against []string) {
	if fee.Cmp(horseracing.BigInt{}) <= 0 {
		against = append(against, fmt.Sprintf("a fee of %s is not positive: the service may have left it out", fee))
	}
	for _, limit := range []struct {
		what         string
		amount, most *horseracing.BigInt
	}{
		{"the fee", new(fee), p.maxFee},
		{"the fees of the day with it", new(fee.Add(sums.today)), p.daily},
		{"all fees with it", new(fee.Add(sums.all)), p.budget},
	} {
		if limit.most != nil && limit.amount.Cmp(*limit.most) > 0 {
			against = append(against, fmt.Sprintf("%s: %s tokens are above the limit of %s, which only the person can change",
				limit.what, limit.amount.FormatUnits(tokenPlaces), limit.most.FormatUnits(tokenPlaces)))
		}
	}
	return against
}

// paidEntry returns the entry of a registration that is or may be paid.
func paidEntry(entries []ledger.Entry, intent plan) (ledger.Entry, bool) {
	for _, e := range entries {
		if e.Horse == intent.horse && e.Race == intent.race && paid(e.State) != "no" {
			return e, true
		}
	}
	return ledger.Entry{}, false
}

// day is a day in UTC.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
