// Board shows the open races in the terminal, the ones that close first on
// top, and keeps them up to date: time left to register, entry fee, places,
// levels.
//
//	go -C examples/board run .
//	go -C examples/board run . -level 12 -interval 2s
//	go -C examples/board run . | head            # a plain table, once
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
output is not a terminal, or TERM is dumb, it prints a plain table instead, once.
Watches an embedded fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are
set.

Examples:
  board                     every open race
  board -level 12           those that take a horse of level 12
  board | grep -v ' 0 of'   a plain table

Flags:
`

func main() { program.Main("board", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("board", flag.ContinueOnError)
	interval := flags.Duration("interval", 5*time.Second, "how often to poll the service")
	level := flags.Int("level", 0, "only races that take a horse of this `LEVEL` (0: all)")
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}
	service, err := program.Connect(stderr, []horseracingtest.Option{horseracingtest.WithSchedule(120)})
	if err != nil {
		return err
	}
	defer service.Close()
	if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		name := service.Client.BaseURL()
		if service.Fake != nil {
			name = "an embedded fake"
		}
		watcher := service.Client.Races.Watcher(horseracing.WatchQuery{Interval: *interval})
		return live(ctx, watcher, screen{board: board{level: *level}, service: name, snapshot: watcher.Snapshot})
	}
	races, err := service.Client.Races.Open(ctx)
	if errors.Is(err, horseracing.ErrSkipped) {
		fmt.Fprintf(stderr, "board: left out: %v\n", err)
	} else if err != nil {
		return err
	}
	return board{races, *level}.print(stdout)
}

// live shows the board on the terminal until the user ends it, or no later poll can
// succeed.
func live(ctx context.Context, w *horseracing.Watcher, s screen) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	defer running.Wait()
	defer cancel()
	last, err := tea.NewProgram(s, tea.WithContext(ctx), tea.WithoutSignalHandler()).Run()
	if errors.Is(err, tea.ErrInterrupted) { // a terminal's Ctrl-C is a key
		return context.Canceled
	}
	if s, ok := last.(screen); ok && err == nil && isFinal(s.trouble) {
		return s.trouble
	}
	return err
}

// isFinal reports whether no later poll can succeed.
func isFinal(err error) bool {
	return errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, horseracing.ErrForbidden)
}

// print writes a plain table with every column: programs read it, too.
func (b board) print(out io.Writer) error {
	now := time.Now()
	open, closed := b.split(now)
	lines := table(append(open, closed...), now, 10_000)
	lines[0] = strings.ToUpper(lines[0])
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
