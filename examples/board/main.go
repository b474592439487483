// Board shows the open races in the terminal, the ones that close first on
// top, and keeps them up to date: time left to register, entry fee, places,
// levels.
//
//	go -C examples/board run .
//	go -C examples/board run . -level 12 -interval 2s
//	go -C examples/board run . | head            # a plain table, once
//	go -C examples/board run . -watch > log      # a plain table after each change
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it watches a fake of the
// service that lives for this run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: board [flags]

A live board of the open races; q or Ctrl-C ends it. Where the output is no
terminal it prints a plain table instead, once or, with -watch, after each
change. Watches an embedded fake unless HORSERACING_BASE_URL and
HORSERACING_API_KEY are set.

Examples:
  board                     every open race
  board -level 12           those that take a horse of level 12
  board | grep -v full      a plain table
  board -watch | tee log    a plain table after each change

Flags:
`

type options struct {
	interval time.Duration
	level    int
	watch    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("board", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.DurationVar(&o.interval, "interval", 5*time.Second, "how often to ask the service")
	flags.IntVar(&o.level, "level", 0, "only races that take a horse of this `LEVEL` (0: all)")
	flags.BoolVar(&o.watch, "watch", false, "without a terminal: print again after each change, until Ctrl-C")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "board: unexpected argument %q (see board -h)\n", flags.Arg(0))
		return 2
	case o.interval <= 0:
		fmt.Fprintln(stderr, "board: -interval must be positive (see board -h)")
		return 2
	case o.level < 0:
		fmt.Fprintln(stderr, "board: -level cannot be negative (see board -h)")
		return 2
	}

	switch err := show(ctx, o, stdout, stderr); {
	case errors.Is(err, tea.ErrInterrupted), err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "board: stopped")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "board: %v\n", err)
		return 1
	}
	return 0
}

func show(ctx context.Context, o options, stdout, stderr io.Writer) error {
	client, stop, err := connect()
	if err != nil {
		return err
	}
	defer stop()
	if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return live(ctx, client, o)
	}
	if o.watch {
		return watch(ctx, client, o, stdout, stderr)
	}
	races, err := client.Races.Open(ctx)
	if err != nil {
		return err
	}
	b := newBoard(o.level)
	for _, r := range races {
		b.races[r.MainRaceID] = r
	}
	return b.print(stdout, time.Now())
}

// connect returns a client of the service that the environment names, else of
// a fake that runs until stop is called.
func connect() (client *horseracing.Client, stop func(), err error) {
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(120))
		return fake.Client(), fake.Close, nil
	}
	client, err = horseracing.NewClientFromEnv()
	return client, func() {}, err
}

// news is one thing that WatchOpen told.
type news struct {
	change horseracing.RaceChange
	err    error
}

// feed passes everything that WatchOpen tells to tell. The function it returns
// ends that and waits until it has ended.
func feed(ctx context.Context, client *horseracing.Client, o options, tell func(news)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change, err := range client.Races.WatchOpen(ctx, horseracing.WatchQuery{Interval: o.interval}) {
			tell(news{change, err})
		}
	}()
	return func() { cancel(); <-done }
}

// live shows the board on the terminal until the user ends it.
func live(ctx context.Context, client *horseracing.Client, o options, opts ...tea.ProgramOption) error {
	opts = append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler()}, opts...)
	p := tea.NewProgram(screen{board: newBoard(o.level), now: time.Now()}, opts...)
	defer feed(ctx, client, o, func(n news) { p.Send(n) })()
	_, err := p.Run()
	return err
}

// watch prints the table after each change. Changes come one by one, many at
// once at the start: it waits for a moment of quiet.
func watch(ctx context.Context, client *horseracing.Client, o options, stdout, stderr io.Writer) error {
	const moment = 200 * time.Millisecond
	items := make(chan news)
	defer feed(ctx, client, o, func(n news) {
		select {
		case items <- n:
		case <-ctx.Done():
		}
	})()
	b := newBoard(o.level)
	quiet := time.NewTimer(moment)
	for {
		select {
		case n := <-items:
			switch {
			case errors.Is(n.err, horseracing.ErrUnauthorized), errors.Is(n.err, horseracing.ErrForbidden):
				return n.err // asking again would not help
			case n.err != nil:
				fmt.Fprintf(stderr, "board: %v; trying again\n", n.err)
				continue
			}
			b.apply(n.change)
			quiet.Reset(moment)
		case <-quiet.C:
			if err := b.print(stdout, time.Now()); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
