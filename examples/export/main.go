// Export stores the finished races of some tiers, with their participants, in an
// SQLite database. On request it adds
// the horses that ran, the finished tournaments, and the fees in a ledger. The
// database has the views form, fees and speed: see docs/analysis.md.
//
//	go -C examples/export run . -out /tmp/races
//	go -C examples/export run . -out /tmp/races -horses -tournaments
//	go -C examples/export run . -out /tmp/races -follow
//
// Stop it at any moment, by Ctrl-C, kill -9 or a power cut, and start it again
// with the same flags: the cursor of the listing is stored in the transaction
// that stores the races before it, so nothing is lost and nothing is stored twice.
// Started again after its end, it fetches only what is new.
//
// Fees and prizes are text with every digit: no format here has an integer that
// is wide enough for them.
//
// It reads a fake of the service that lives for this run and is the same all
// day, unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: export [flags]

Stores finished races and their participants in OUT.sqlite; stop it whenever you
like and start it again with the same flags. Reads an embedded fake unless
HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  export -out omega                            every race of tier Omega
  export -out month -since 30d -tier 3,4
  export -out omega -horses -tournaments       also the horses that ran, a request each
  export -out omega -concurrency 8 -follow     then continue with new results
  export -out omega -ledger ledger.jsonl       also the fees that a ledger says were paid

Flags:
`

// options are the flags, parsed.
type options struct {
	out, source, ledger string
	tiers               []horseracing.TierID
	since               time.Time
	concurrency         int
	horses, tournaments bool
	follow              bool
	interval            time.Duration
}

func main() {
	program.Main("export", func(ctx context.Context, args []string, _, stderr io.Writer) error { return run(ctx, args, stderr) })
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	o := options{tiers: []horseracing.TierID{horseracing.TierOmega}}
	flags := flag.NewFlagSet("export", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "races", "write to files whose names begin with `NAME`")
	flags.StringVar(&o.source, "source", "", "the service's `NAME` in the database, which refuses another's races (default: its address)")
	flags.Func("tier", "the `TIERS`, like 5 or 3,4 (default 5, Omega)", program.Tiers(&o.tiers))
	flags.Func("since", "only races that start at this `TIME` or later: "+program.TimeFormats, program.Time(&o.since))
	flags.IntVar(&o.concurrency, "concurrency", 4, "fetch `N` pages at the same time")
	flags.StringVar(&o.ledger, "ledger", "", "store the fees in this `FILE`, which package ledger keeps")
	flags.BoolVar(&o.horses, "horses", false, "store the horses that ran, a request for each")
	flags.BoolVar(&o.tournaments, "tournaments", false, "store the finished tournaments")
	flags.BoolVar(&o.follow, "follow", false, "then continue with new results until Ctrl-C")
	flags.DurationVar(&o.interval, "interval", 30*time.Second, "with -follow: how often to look for new results")
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}
	if o.out == "" || os.IsPathSeparator(o.out[len(o.out)-1]) {
		return program.UsageError("-out must name files, not a directory")
	}
	if o.interval <= 0 {
		return program.UsageError("-interval must be more than 0")
	}
	var err error
	if o.out, err = filepath.Abs(o.out); err != nil { // go -C runs in another folder than the user's
		return err
	}
	return export(ctx, o, stderr)
}

func export(ctx context.Context, o options, stderr io.Writer) error {
	// The fake starts at midnight and is advanced to now, so that every run
	// of a day reads the same races and can continue another.
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	since := time.Since(midnight)
	service, err := program.Connect(stderr, []horseracingtest.Option{
		horseracingtest.WithClock(func() time.Time { return time.Now().Add(-since) }),
	}, program.Waits(stderr))
	if err != nil {
		return err
	}
	defer service.Close()
	source := service.Client.BaseURL()
	if service.Fake != nil {
		service.Fake.Advance(since)
		source = "the embedded fake of " + midnight.Format(time.DateOnly)
	}
	if err := prepare(ctx, service.Client, o); err != nil {
		return err
	}
	s, err := openStore(ctx, o.out+".sqlite", cmp.Or(o.source, source))
	if err != nil {
		return err
	}
	defer s.close()

	polls, err := newPolls(ctx, service.Client, s, o, stderr)
	if err != nil {
		return err
	}
	for _, poll := range polls {
		if err := poll(false); err != nil {
			return err
		}
	}
	if err := s.saveLedger(ctx, o.ledger); err != nil {
		return err
	}
	if o.horses {
		if err := fetchHorses(ctx, service.Client, s, stderr); err != nil {
			return err
		}
	}
	if !o.follow {
		return nil
	}
	err = repeat(ctx, polls, o.interval, stderr)
	stopped := context.WithoutCancel(ctx)
	return errors.Join(err, s.saveLedger(stopped, o.ledger))
}

// prepare makes the folder of a new database, but not before the service has
// responded: a wrong key, host or tier leaves no file.
func prepare(ctx context.Context, client *horseracing.Client, o options) error {
	if _, err := os.Stat(o.out + ".sqlite"); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_, err := client.Races.Results(horseracing.ResultsQuery{Tier: o.tiers[0], Since: o.since}).Take(ctx, 1)
	if err != nil {
		return err
	}
	return os.MkdirAll(filepath.Dir(o.out), 0o755)
}
