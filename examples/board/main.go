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
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: board [flags]

A live board of the open races; arrow keys scroll, q or Ctrl-C ends it. If the
output is not a terminal, or TERM is dumb, it prints a plain table instead, once
or, with -watch, after each change. Watches an embedded fake unless HORSERACING_BASE_URL and
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

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("board", flag.ContinueOnError)
	flags.DurationVar(&o.interval, "interval", 5*time.Second, "how often to poll the service")
	flags.IntVar(&o.level, "level", 0, "only races that take a horse of this `LEVEL` (0: all)")
	flags.BoolVar(&o.watch, "watch", false, "without a terminal: print again after each change, until Ctrl-C")
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		switch {
		case o.interval <= 0:
			return errors.New("-interval must be positive")
		case o.level < 0:
			return errors.New("-level cannot be negative")
		}
		return nil
	})
	if !ok {
		return status
	}
	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	err := show(ctx, o, stdout, stderr)
	if errors.Is(err, tea.ErrInterrupted) { // a terminal's Ctrl-C is a key
		interrupt()
	}
	return program.Exit(ctx, "board", err, stderr)
}

func show(ctx context.Context, o options, stdout, stderr io.Writer) error {
	service, err := program.ConnectOrStart(func() (*horseracingtest.Server, error) {
		return horseracingtest.Start(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(120))
	})
	if err != nil {
		return err
	}
	defer service.Close()
	w := service.Client.Races.Watcher(horseracing.WatchQuery{Interval: o.interval})
	if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		name := service.Client.BaseURL()
		if service.Fake != nil {
			name = "an embedded fake"
		}
		return live(ctx, w, screen{board: board{level: o.level}, service: name, snapshot: w.Snapshot})
	}
	service.Announce(stderr)
	if o.watch {
		return watch(ctx, w, o, stdout, stderr)
	}
	races, err := service.Client.Races.Open(ctx)
	if errors.Is(err, horseracing.ErrHole) {
		fmt.Fprintf(stderr, "board: left out: %v\n", err)
	} else if err != nil {
		return err
	}
	return board{races, o.level}.print(stdout)
}

// start runs the watcher until the function that it returns is called.
func start(ctx context.Context, w *horseracing.Watcher) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// isFinal reports whether no later poll can succeed.
func isFinal(err error) bool {
	return errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, horseracing.ErrForbidden)
}

// live shows the board on the terminal until the user ends it.
func live(ctx context.Context, w *horseracing.Watcher, s screen) error {
	defer start(ctx, w)()
	last, err := tea.NewProgram(s, tea.WithContext(ctx), tea.WithoutSignalHandler()).Run()
	if s, ok := last.(screen); ok && err == nil && isFinal(s.trouble) {
		return s.trouble
	}
	return err
}

// print writes a plain table with every column: programs read it, too.
func (b board) print(out io.Writer) error {
	now := time.Now()
	open, closed := b.split(now)
	lines := table(append(open, closed...), now, 10_000)
	lines[0] = strings.ToUpper(lines[0])
	_, err := fmt.Fprintf(out, "%s\n\n", strings.Join(lines, "\n"))
	return err
}

// watch prints the table after the first poll, and after each that brought a change.
func watch(ctx context.Context, w *horseracing.Watcher, o options, stdout, stderr io.Writer) error {
	defer start(ctx, w)()
	polls := program.NewPolls("board", stderr)
	var printed horseracing.Snapshot
	for s := range w.Snapshots(ctx) {
		if isFinal(s.Err) {
			return s.Err
		}
		polls.Report(s.Err)
		if s.At.IsZero() || !printed.At.IsZero() && len(horseracing.Changes(printed.Races, s.Races)) == 0 {
			continue
		}
		if err := (board{s.Races, o.level}).print(stdout); err != nil {
			return err
		}
		printed = s
	}
	return ctx.Err()
}
