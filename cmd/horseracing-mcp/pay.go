package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
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
	asked map[string]string // the words of each question that has no answer yet
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
