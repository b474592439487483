package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing"
)

const resultsHelp = `Without -o and -cursor it prints the newest race first, and ends. With one of them
it goes from -since on, the oldest race first, and ends when there is nothing new;
run again, it continues with what is new. With -follow it stays, and prints races
as they finish. A race that appears more than an hour after newer ones is missed.

-o FILE keeps a file in which each race stands once, whatever kills the program or
the machine. Beside it are FILE.position and FILE.lock. A last line that is torn is
mended by the next run. -since counts for the first run only. That looks for the
beginning of the history, which takes some seconds before the first race.

-cursor FILE keeps the position of what was printed, for pipes. FILE is written
after the lines that it covers, so a program that was killed prints some again. A
reader that must get each line once stores the cursor that -with-cursor adds to a
line together with it, and writes its last one to FILE before the next run.

Fees and prizes in JSON are in units of 10^-18 tokens, in the notation of the service.

Examples:
  horseracing results -since 30d -o results.jsonl   # run it again for what is new
  horseracing results -n 20 -tier 3,4,5
  horseracing results -follow -with-cursor -cursor position.json | your-program
`

// resultsOptions are the flags of the command results.
type resultsOptions struct {
	*listingOptions
	out, cursor        string
	follow, withCursor bool
	interval           time.Duration
}

func finishedRaces(flags *flag.FlagSet) action {
	o := resultsOptions{listingOptions: listingFlags(flags)}
	flags.StringVar(&o.out, "o", "", "keep the races in this `FILE`, each once")
	flags.StringVar(&o.cursor, "cursor", "", "keep the position in this `FILE`, and continue there if it exists")
	flags.BoolVar(&o.withCursor, "with-cursor", false, "with -cursor or -follow, add to each JSON line the position after it")
	flags.BoolVar(&o.follow, "follow", false, "wait for races to finish, and print them as they appear")
	flags.DurationVar(&o.interval, "interval", 0, "with -follow, the `TIME` between polls (default 30s)")
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		if err := o.check(p, flags); err != nil {
			return err
		}
		tiers, err := s.tiers(ctx, o.tiers)
		if err != nil {
			return err
		}
		if p.patience = listingPatience; o.follow {
			p.patience = forever
		}
		switch {
		case o.out != "":
			return mirrorResults(ctx, p, s, o, tiers)
		case o.cursor != "" || o.follow:
			return printNewResults(ctx, p, s, o, tiers)
		}
		return printListing(p, finishedRaceLayout, "races", startOfRace, s.Races.Results(o.query(tiers)).All(ctx), o.most)
	})
}

// check refuses flags that would do nothing.
func (o *resultsOptions) check(p *program, flags *flag.FlagSet) error {
	var unused error
	switch isKept := o.cursor != "" || o.follow; {
	case o.out != "":
		unused = exclude(flags, "and -o exclude each other", "n", "before", "table", "with-cursor", "cursor")
	case isKept && o.withCursor && !p.printsJSON():
		unused = usageError("-with-cursor is for JSON, and -table is not")
	case isKept:
		unused = exclude(flags, "is for listings that begin with the newest race", "before")
	default:
		unused = exclude(flags, "needs -cursor or -follow", "with-cursor")
	}
	if !o.follow {
		unused = cmp.Or(unused, exclude(flags, "needs -follow", "interval"))
	}
	return cmp.Or(unused, o.listingOptions.check(flags))
}

// follower returns a follower from a position on, or if there is none from -since.
func (o *resultsOptions) follower(s *service, tiers []horseracing.TierID, at horseracing.Cursor, isKept bool) *horseracing.Follower {
	q := horseracing.FollowQuery{Tiers: tiers, Resume: at, Interval: o.interval, Concurrency: o.concurrency}
	if at.IsZero() {
		if q.Since = *o.since; q.Since.IsZero() && isKept {
			q.Since = time.UnixMilli(1) // the whole history
		}
	} else {
		q.Tiers = nil // the cursor has them
	}
	return s.Races.Follow(q)
}

func (o *resultsOptions) races(ctx context.Context, f *horseracing.Follower) iter.Seq2[*horseracing.Race, error] {
	if o.follow {
		return f.All(ctx)
	}
	return f.CatchUp(ctx)
}

// mirrorResults adds what is new to the file of -o.
func mirrorResults(ctx context.Context, p *program, s *service, o resultsOptions, tiers []horseracing.TierID) error {
	m, err := openMirror(o.out, s, tiers)
	if err != nil {
		return err
	}
	defer m.close()
	f := o.follower(s, tiers, m.Cursor, true)
	if err := m.start(f.Cursor()); err != nil {
		return err
	}
	reached, added := p.progressOf("races", false), 0
	failed := o.each(ctx, p, f, func(race *horseracing.Race) error {
		added++
		reached(race.StartTime.Time)
		return m.add(race, f.Cursor())
	}, m.move)
	if _, isFull := errors.AsType[*storeError](failed); isFull {
		return failed // the position would be after what is not in the file
	}
	if failed != nil && added == 0 && m.isNew && ctx.Err() == nil {
		return errors.Join(failed, m.forget())
	}
	if p.attended {
		p.say(fmt.Sprintf("new races: %d", added))
	}
	return errors.Join(failed, m.save())
}

// storeError is an error of the place where the races are stored.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// each passes each race to add, and the position after what is no race to move.
func (o *resultsOptions) each(ctx context.Context, p *program, f *horseracing.Follower, add func(*horseracing.Race) error, move func(horseracing.Cursor) error) error {
	holes := 0
	for race, err := range o.races(ctx, f) {
		var failed error
		switch {
		case err == nil:
			failed = add(race)
		case errors.Is(err, horseracing.ErrHole):
			holes++
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
	if holes > 0 {
		return errors.New("some races could not be read")
	}
	return ctx.Err()
}

// printNewResults prints what is new since the position of -cursor, or with -follow
// alone since now.
func printNewResults(ctx context.Context, p *program, s *service, o resultsOptions, tiers []horseracing.TierID) (failed error) {
	at := &position{}
	if o.cursor != "" {
		var err error
		if at, err = openPosition(o.cursor, o.cursor+".lock", s, tiers); err != nil {
			return err
		}
		defer at.close()
		if at.Bytes != nil { // what it covers would be lost
			return fmt.Errorf("%s is a position of -o: use another file", o.cursor)
		}
	}
	f := o.follower(s, tiers, at.Cursor, o.cursor != "")
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
	t, printed, reached := newTable(p, finishedRaceLayout), 0, p.progressOf("races", true)
	enough := errors.New("enough")
	failed = o.each(ctx, p, f, func(race *horseracing.Race) error {
		var line any = race
		if o.withCursor {
			line = map[string]any{"race": race, "cursor": f.Cursor()}
		}
		if err := errors.Join(t.add(line, race), t.flush()); err != nil {
			return err
		}
		reached(race.StartTime.Time)
		if printed++; printed == o.most {
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

func startOfRace(r *horseracing.Race) time.Time { return r.StartTime.Time }
