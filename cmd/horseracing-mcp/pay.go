package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

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
	file  os.FileInfo       // of the ledger when it was read last, nil if it was not
	read  []ledger.Entry
}

func newPayer(s *service, l limits) *payer {
	return &payer{service: s, limits: l, secret: []byte(rand.Text()), asked: map[string]string{}}
}

// entries returns what the ledger holds. It reads the file only if that has changed.
func (p *payer) entries() ([]ledger.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && p.file != nil && os.SameFile(file, p.file) && file.Size() == p.file.Size() && file.ModTime().Equal(p.file.ModTime()) {
		return p.read, nil
	}
	p.file = nil
	if err == nil {
		p.read, err = ledger.Read(p.path)
	}
	if err != nil {
		return nil, err
	}
	for i := range p.read {
		if p.read[i].State == ledger.Sending { // by a program that runs, or was killed
			p.read[i].State = ledger.Unknown
		}
	}
	p.file = file
	return p.read, nil
}

// withLedger opens the ledger for f alone, so that a person can use it between calls.
func (p *payer) withLedger(ctx context.Context, f func(*ledger.Ledger) error) error {
	options := []ledger.Option{ledger.WithMaxFee(*p.maxFee), ledger.WithDailyBudget(*p.daily, time.UTC)}
	if p.budget != nil {
		options = append(options, ledger.WithBudget(*p.budget))
	}
	l, err := ledger.Open(p.path, p.client, options...)
	for began := time.Now(); errors.Is(err, ledger.ErrInUse) && ctx.Err() == nil && time.Since(began) < lockTime; {
		time.Sleep(50 * time.Millisecond)
		l, err = ledger.Open(p.path, p.client, options...)
	}
	if errors.Is(err, ledger.ErrInUse) {
		return coded{inUse, fmt.Sprintf("nothing was sent: another call or program uses the ledger; try again later: %v", err)}
	}
	if err != nil {
		return fmt.Errorf("nothing was sent: %w", err)
	}
	defer l.Close()
	return f(l)
}

type sums struct {
	Paid        amount  `json:"paid" jsonschema:"fees that are paid"`
	PerhapsPaid amount  `json:"perhaps_paid" jsonschema:"fees whose outcome is unknown; they count as paid in the limits"`
	LeftToday   amount  `json:"left_today" jsonschema:"what may still be paid today, in UTC"`
	Left        *amount `json:"left,omitempty" jsonschema:"what may still be paid in all, if that is limited"`

	today, all horseracing.BigInt // paid and perhaps paid
}

func (s sums) left() string {
	text := s.LeftToday.Tokens + " tokens left today"
	if s.Left != nil {
		text += " and " + s.Left.Tokens + " in all"
	}
	return text
}

func (p *payer) sum(entries []ledger.Entry) (out sums) {
	var certain horseracing.BigInt
	today := time.Now().UTC().Format(time.DateOnly)
	for _, e := range entries {
		if paid(e.State) == "no" {
			continue
		}
		out.all = out.all.Add(e.Fee)
		if paid(e.State) == "yes" {
			certain = certain.Add(e.Fee)
		}
		if e.Time.UTC().Format(time.DateOnly) == today {
			out.today = out.today.Add(e.Fee)
		}
	}
	left := func(limit, paid horseracing.BigInt) amount {
		return amountOf(limit.Sub(slices.MinFunc([]horseracing.BigInt{limit, paid}, horseracing.BigInt.Cmp)))
	}
	out.Paid, out.PerhapsPaid, out.LeftToday = amountOf(certain), amountOf(out.all.Sub(certain)), left(*p.daily, out.today)
	if p.budget != nil {
		out.Left = new(left(*p.budget, out.all))
	}
	return out
}

type ledgerView struct {
	sums
	list[entryView]
}

func (l ledgerView) String() string {
	return fmt.Sprintf("%v; %s tokens paid, %s perhaps paid, %s", l.list, l.Paid.Tokens, l.PerhapsPaid.Tokens, l.left())
}

func (p *payer) list(_ context.Context, in listArgs) (out ledgerView, err error) {
	entries, err := p.entries()
	if err != nil {
		return out, err
	}
	newest := slices.Clone(entries)
	slices.Reverse(newest)
	out.sums = p.sum(entries)
	out.list, err = listOf(newest, nil, in, entryOf)
	return out, err
}
