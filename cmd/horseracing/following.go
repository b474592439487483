package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
)

// listed is how the entries of a listing are printed, and when one starts.
type listed[T any] struct {
	layout layout[T]
	start  func(*T) time.Time
}

// followOptions are the flags of a command that prints a listing, or what is new in it.
type followOptions struct {
	*listingOptions
	name               string // of an entry
	cursor             string
	follow, withCursor bool
	interval           time.Duration
}

func followFlags(flags *pflag.FlagSet, name string) *followOptions {
	o := &followOptions{listingOptions: listingFlags(flags), name: name}
	flags.StringVar(&o.cursor, "cursor", "", "keep the position in this `FILE`, and continue there if it exists")
	flags.BoolVar(&o.withCursor, "with-cursor", false, "with --cursor or --follow, add to each JSON line the position after it")
	flags.BoolVar(&o.follow, "follow", false, "wait for "+name+"s to finish, and print them as they appear")
	flags.DurationVar(&o.interval, "interval", 0, "with --follow, the `TIME` between polls (default 30s)")
	return o
}

// check refuses flags that would do nothing.
func (o *followOptions) check(p *program) error {
	var unused error
	switch isKept := o.cursor != "" || o.follow; {
	case isKept && o.withCursor && !p.printsJSON():
		unused = usageError("--with-cursor is for JSON, and --table is not")
	case isKept:
		unused = refuse(o.flags, "is for listings that begin with the newest "+o.name, "before")
	default:
		unused = refuse(o.flags, "needs --cursor or --follow", "with-cursor")
	}
	return cmp.Or(unused, o.checkInterval(), o.listingOptions.check())
}

func (o *followOptions) checkInterval() error {
	if o.follow {
		return nil
	}
	return refuse(o.flags, "needs --follow", "interval")
}

func (o *followOptions) patience() time.Duration {
	if o.follow {
		return forever
	}
	return listingPatience
}

// query selects what comes after a position, or if there is none what starts at --since.
func (o *followOptions) query(tiers []horseracing.TierID, at horseracing.Cursor, isKept bool) horseracing.FollowQuery {
	q := horseracing.FollowQuery{Tiers: tiers, Resume: at, Interval: o.interval, Concurrency: o.concurrency}
	if at.IsZero() {
		if q.Since = *o.since; q.Since.IsZero() && isKept {
			q.Since = time.UnixMilli(1) // the whole history
		}
	} else {
		q.Tiers = nil // the cursor has them
	}
	return q
}

// printFinished prints a listing, or with --cursor or --follow what is new in it.
func printFinished[T any](ctx context.Context, p *program, s *service, o *followOptions, tiers []horseracing.TierID, l listed[T],
	results func(horseracing.ResultsQuery) *horseracing.Pager[T], follow func(horseracing.FollowQuery) *horseracing.Follower[T],
) error {
	p.patience = o.patience()
	if o.cursor != "" || o.follow {
		return printNew(ctx, p, s, o, tiers, l, follow)
	}
	return printListing(p, l, o.name+"s", results(o.listingOptions.query(tiers)).All(ctx), o.limit)
}

// storeError is an error of the place where the races are stored.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// each passes each entry to add, and the position after what is no entry to move.
func each[T any](ctx context.Context, p *program, o *followOptions, f *horseracing.Follower[T], add func(*T) error, move func(horseracing.Cursor) error) error {
	skipped, loop := 0, f.CatchUp
	if o.follow {
		loop = f.All
	}
	for entry, err := range loop(ctx) {
		var failed error
		switch {
		case err == nil:
			failed = add(entry)
		case errors.Is(err, horseracing.ErrSkipped):
			skipped++
			p.complain(err)
			failed = move(f.Cursor())
		case o.follow && !endsReading(err):
			p.complain(err)
		default:
			return err
		}
		if failed != nil {
			return &storeError{failed}
		}
	}
	if skipped > 0 {
		return fmt.Errorf("some %ss could not be read", o.name)
	}
	return ctx.Err()
}

// printNew prints what is new since the position of --cursor, or with --follow alone since
// now.
func printNew[T any](ctx context.Context, p *program, s *service, o *followOptions, tiers []horseracing.TierID, l listed[T], follow func(horseracing.FollowQuery) *horseracing.Follower[T]) (failed error) {
	at := &checkpoint{}
	if o.cursor != "" {
		var err error
		if at, err = openCheckpoint(o.cursor, o.cursor+".lock", s, tiers); err != nil {
			return err
		}
		defer at.close()
		if at.Bytes != nil { // what it covers would be lost
			return fmt.Errorf("%s is a position of -o: use another file", o.cursor)
		}
		at.startAt(p, *o.since, o.cursor)
	}
	f := follow(o.query(tiers, at.Cursor, o.cursor != ""))
	save := func(isLast bool) error {
		if o.cursor == "" || !isLast && !at.due() {
			return nil
		}
		at.Cursor = f.Cursor()
		return at.save()
	}
	if err := save(true); err != nil { // now rather than after the first lines
		return err
	}
	t, printed, reached := newSheet(p, l.layout), 0, p.progressOf(o.name+"s", true)
	enough := errors.New("enough")
	failed = each(ctx, p, o, f, func(entry *T) error {
		var line any = entry
		if o.withCursor {
			line = map[string]any{o.name: entry, "cursor": f.Cursor()}
		}
		if err := errors.Join(t.add(line, entry), t.flush()); err != nil {
			return err
		}
		reached(l.start(entry))
		if printed++; printed == o.limit {
			return enough
		}
		return save(false)
	}, func(horseracing.Cursor) error { return save(false) })
	if errors.Is(failed, enough) {
		failed = nil
	} else if _, isOutput := errors.AsType[*storeError](failed); isOutput {
		return failed // the last line may not have been read
	}
	if failed != nil && printed == 0 && at.isNew && ctx.Err() == nil {
		return errors.Join(failed, at.forget())
	}
	return errors.Join(failed, save(true))
}
