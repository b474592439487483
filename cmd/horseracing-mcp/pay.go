package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

const openPatience = 5 * time.Second // while another process has the ledger open

// limits are what a person allows an agent to pay. No tool changes them.
type limits struct {
	path          string // of the ledger; empty if nothing may be paid
	maxFee, daily *horseracing.BigInt
	budget        *horseracing.BigInt       // nil if there is none
	horses        []horseracing.HorseNumber // any horse if empty
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
