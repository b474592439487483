package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

type planArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Race  horseracing.RaceID      `json:"race" jsonschema:"the id of the race"`
}

type planned struct {
	Plan    string   `json:"plan,omitempty" jsonschema:"pass it to register; absent if something prevents it"`
	Against []string `json:"against" jsonschema:"why register would refuse it now; empty if it fits"`
	Fee     amount   `json:"fee"`
	remainder
}

func (p planned) String() string {
	if p.Plan == "" {
		return "no plan: " + strings.Join(p.Against, "; ")
	}
	return fmt.Sprintf("planned for %s tokens, nothing is paid yet: %s", p.Fee.Tokens, p.Plan)
}

func (s *server) plan(ctx context.Context, _ *mcp.CallToolRequest, l *ledger.Ledger, in planArgs) (planned, error) {
	seen, err := s.look(ctx, l, in.Horse, in.Race)
	if err != nil {
		return planned{}, err
	}
	out := planned{Against: seen.against, Fee: amountOf(seen.fee), remainder: s.remainder(l, horseracing.BigInt{})}
	if len(seen.against) == 0 {
		out.Plan = fmt.Sprintf("%d-%d-%s-%s", in.Horse, in.Race, seen.fee, rand.Text())
		s.plans.Store(out.Plan, seen.fee)
	}
	return out, nil
}

// sight is what was seen of a registration.
type sight struct {
	horseracing.Registration
	fee     horseracing.BigInt
	words   string   // for the person who is asked
	against []string // why it cannot be sent now
}

// look reads the race and the owner's horses, and checks them and the limits. The
// ledger checks its limits again before anything is sent.
func (s *server) look(ctx context.Context, l *ledger.Ledger, number horseracing.HorseNumber, id horseracing.RaceID) (sight, error) {
	race, err := s.client.Races.Get(ctx, id)
	if err != nil {
		return sight{}, err
	}
	owned, err := s.client.Horses.Owned(ctx, s.owner)
	i := slices.IndexFunc(owned, func(h horseracing.Horse) bool { return h.Number == number })
	if err != nil && i < 0 {
		return sight{}, err
	}
	seen := sight{fee: race.EntryFee, against: []string{}}
	seen.Registration = horseracing.Registration{Horse: number, Race: id, UserKey: s.owner}
	var horse *horseracing.Horse
	if i < 0 {
		seen.against = append(seen.against, fmt.Sprintf("horse %d is not one of the person's horses", number))
	} else {
		horse = &owned[i]
		seen.words = fmt.Sprintf("Pay %s tokens to enter horse %d, %.60q, into race %d, %.60q, of tier %.30q, which starts at %s? Then there are %s.",
			amountOf(seen.fee).Tokens, horse.Number, horse.Name, race.MainRaceID, race.Info.Name, race.Tier, instant(race.StartTime.Time), s.remainder(l, seen.fee))
	}
	if err := race.CheckEntry(horse, s.clock.now()); err != nil {
		seen.against = append(seen.against, strings.TrimPrefix(err.Error(), "horseracing: "))
	}
	if len(s.horses) > 0 && !slices.Contains(s.horses, number) {
		seen.against = append(seen.against, "the person does not allow this horse (--horses)")
	}
	if err := l.Check(seen.Registration, seen.fee); err != nil {
		seen.against = append(seen.against, objection(err))
	}
	return seen, nil
}

// objection returns why the ledger refuses a registration.
func objection(err error) string {
	limit, isLimit := errors.AsType[*ledger.LimitError](err)
	switch {
	case isLimit:
		return limit.Error() + ", which only the person can change"
	case errors.Is(err, ledger.ErrFee):
		return "the fee is not positive: the service may have left it out"
	case errors.Is(err, ledger.ErrEntered):
		return "this horse was registered in this race: its fee is paid"
	case errors.Is(err, ledger.ErrUnsettled):
		return "this horse was registered in this race: its fee is perhaps paid; call settle"
	}
	return err.Error()
}

// find returns the entry of a horse in a race.
func find(l *ledger.Ledger, horse horseracing.HorseNumber, race horseracing.RaceID) (found ledger.Entry) {
	for e := range l.Entries() {
		if e.Horse == horse && e.Race == race {
			found = e
		}
	}
	return found
}
