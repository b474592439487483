package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
)

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
	return printListing(ctx, p, o, l, results(o.listingOptions.query(tiers)))
}

// loop returns what is new, and with --follow what will be.
func loop[T any](ctx context.Context, o *followOptions, f *horseracing.Follower[T]) iter.Seq2[*T, error] {
	if o.follow {
		return f.All(ctx)
	}
	return f.CatchUp(ctx)
}

// printNew prints what is new since the position of --cursor, or with --follow alone since
// now.
func printNew[T any](ctx context.Context, p *program, s *service, o *followOptions, tiers []horseracing.TierID, l listed[T], follow func(horseracing.FollowQuery) *horseracing.Follower[T]) error {
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
	save := func() error {
		if o.cursor == "" {
			return nil
		}
		at.Cursor = f.Cursor()
		return at.save()
	}
	saveIfDue := func() error {
		if !at.due() {
			return nil
		}
		return save()
	}
	if err := save(); err != nil { // now rather than after the first lines
		return err
	}
	r := newPrinter(p, o, l)
	failed := each(ctx, p, o, loop(ctx, o, f), func(entry *T) error {
		var line any = entry
		if o.withCursor {
			line = map[string]any{o.name: entry, "cursor": f.Cursor()}
		}
		if err := r.print(line, entry); err != nil {
			return err
		}
		return saveIfDue()
	}, saveIfDue)
	if _, isOutput := errors.AsType[*storeError](failed); isOutput && !errors.Is(failed, errEnough) {
		return failed // the last line may not have been read
	}
	if errors.Is(failed, errEnough) {
		failed = nil
	}
	if failed != nil && r.printed == 0 && at.isNew && ctx.Err() == nil {
		return errors.Join(failed, at.forget())
	}
	return errors.Join(failed, save())
}
