// Command horseracing reads the game data service of a horse-racing game, and
// registers horses. Its output is a table for people, or JSON Lines for other
// programs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/horseracing-go/horseracing"
)

// commands are the commands, in the order of the help.
func commands() []command {
	return []command{
		{"open", "", 0, 0, "the open races", openHelp, openRaces},
		{"results", "", 0, 0, "finished races, the newest first, or a file of them", resultsHelp, finishedRaces},
		{"race", "ID…", 1, many, "races by main_race_id", "", racesByID},
		{"horse", "NUMBER…", 1, many, "horses by number", "", horsesByNumber},
		{"owned", "", 0, 0, "the horses of the user whose key is HORSERACING_USER_KEY", "", ownedHorses},
		{"breeding", "", 0, 0, "the horses that are offered for breeding", "", breedingHorses},
		{"tournaments", "[ID…]", 0, many, "the open tournaments, those with these ids, or finished ones", tournamentsHelp, tournaments},
		{"tiers", "", 0, 0, "the ids of the tiers, with the names that the service gives them", tiersHelp, listTiers},
		{"catalogue", "", 0, 0, "the mission templates", "", missionCatalogue},
		{"missions", "NUMBER", 1, 1, "a horse's missions, and the open races that serve them best", missionsHelp, missionsOfHorse},
		{"watch", "", 0, 0, "changes in the open races", watchHelp, watchOpen},
		{"register", "", 0, 0, "enter a horse into a race, through a ledger", registerHelp, registerHorse},
		{"ledger", "FILE", 1, 1, "what a ledger has paid", ledgerHelp, showLedger},
		{"call", "METHOD PATH [BODY]", 2, 3, "the response body of any operation, as it was received", callHelp, callOperation},
		{"doctor", "", 0, 0, "test how the service behaves, with reads only", doctorHelp, examineService},
		{"fake", "", 0, 0, "serve a fake of the service, for programs in any language", fakeHelp, serveFake},
		{"help", "[COMMAND]", 0, 1, "describe the program, or a command", "", help},
		{"version", "", 0, 0, "print the version", "", version},
		{"completion", "bash|zsh|fish", 1, 1, "print a script that completes commands and flags", completionHelp, completion},
	}
}

const sigpipe = syscall.Signal(13) // syscall.SIGPIPE is not defined for js

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	signal.Ignore(sigpipe)       // a write to a closed pipe is an error instead, which exit handles
	now := time.Now()
	p := &program{
		name: "horseracing", stdin: os.Stdin, stdout: output{os.Stdout}, stderr: os.Stderr,
		interactive: isTerminal(os.Stdout), attended: isTerminal(os.Stderr), began: now, reported: now,
	}
	os.Exit(p.exit(ctx, p.run(ctx, os.Args[1:])))
}

// run does what the command line says.
func (p *program) run(ctx context.Context, args []string) error {
	if len(args) == 1 && strings.TrimLeft(args[0], "-") == "version" {
		args = []string{"version"}
	}
	line, err := parse(args, commands(), p.setFlags)
	if line != nil {
		p.name += " " + line.command.name
	}
	switch {
	case errors.Is(err, flag.ErrHelp) && line != nil:
		return printHelp(p.stdout, line.command, line.flags)
	case errors.Is(err, flag.ErrHelp):
		return printUsage(p.stdout, commands())
	case err != nil:
		p.asJSON = p.asJSON || slices.Contains(args, "-json") || slices.Contains(args, "--json")
		return usageError(err.Error())
	}
	return line.do(ctx, p, line.args)
}

func help(*flag.FlagSet) action {
	return func(_ context.Context, p *program, args []string) error {
		if len(args) == 0 {
			return printUsage(p.stdout, commands())
		}
		for _, c := range commands() {
			if c.name == args[0] {
				return printHelp(p.stdout, c, newCommandLine(c, p.setFlags).flags)
			}
		}
		return usageError(unknownCommand(args[0], commands()).Error())
	}
}

func version(*flag.FlagSet) action {
	return func(_ context.Context, p *program, _ []string) error {
		_, err := fmt.Fprintf(p.stdout, "horseracing %s (%s %s/%s)\n", horseracing.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}
}

func completion(*flag.FlagSet) action {
	return func(_ context.Context, p *program, args []string) error {
		return printCompletion(p.stdout, args[0], commands(), p.setFlags)
	}
}
