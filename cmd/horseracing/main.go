// Command horseracing reads the game data service of a horse-racing game, and
// registers horses. Its output is a table for people, or JSON Lines for other
// programs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/horseracing-go/horseracing"
)

// command is one of the program's commands.
type command struct {
	name, args  string // args as the usage line shows them
	least, most int    // how many args it takes
	about       string // one line
	more        string // the rest of the command's help
	setup       func(*flag.FlagSet) action
}

// action does what a command is for, after its flags were parsed.
type action func(ctx context.Context, p *program, args []string) error

const many = 1 << 20

func commands() []command {
	return []command{
		{"open", "", 0, 0, "the open races", "", openRaces},
		{"results", "", 0, 0, "finished races, the newest first", resultsHelp, finishedRaces},
		{"race", "ID…", 1, many, "races by main_race_id", "", racesByID},
		{"horse", "NUMBER…", 1, many, "horses by number", "", horsesByNumber},
		{"owned", "", 0, 0, "the horses of the user whose key is HORSERACING_USER_KEY", "", ownedHorses},
		{"breeding", "", 0, 0, "the horses that are offered for breeding", "", breedingHorses},
		{"tournaments", "[ID…]", 0, many, "the open tournaments, those with these ids, or finished ones", tournamentsHelp, tournaments},
		{"catalogue", "", 0, 0, "the mission templates", "", missionCatalogue},
		{"missions", "NUMBER", 1, 1, "a horse's missions, and the open races that serve them best", missionsHelp, missionsOfHorse},
		{"watch", "", 0, 0, "changes in the open races", watchHelp, watchOpen},
		{"register", "", 0, 0, "enter a horse into a race, through a ledger", registerHelp, registerHorse},
		{"call", "METHOD PATH [BODY]", 2, 3, "the response body of any operation, as it was received", callHelp, callOperation},
		{"doctor", "", 0, 0, "test how the service behaves, with reads only", doctorHelp, examineService},
		{"fake", "", 0, 0, "serve a fake of the service, for programs in any language", fakeHelp, serveFake},
	}
}

// reading returns an action that uses the service.
func reading(do func(ctx context.Context, p *program, s *service, args []string) error) action {
	return func(ctx context.Context, p *program, args []string) error {
		s, err := p.connect()
		if err != nil {
			return err
		}
		defer s.close()
		return do(ctx, p, s, args)
	}
}

const usage = `Usage: horseracing [flags] COMMAND [flags] [arguments]

Reads the game data service of a horse-racing game, and registers horses.

Commands:
%s
The output is a table if it goes to a terminal, and JSON Lines if not: -json and
-table choose. Flags may come before or after the command.
"horseracing COMMAND -h" describes a command, -version prints the version.

The service is HORSERACING_BASE_URL, with the key HORSERACING_API_KEY;
HORSERACING_USER_KEY is the key of the horses' owner. With -demo it is an embedded
fake of the service that lasts as long as the program: no key, no network.

Examples:
  horseracing -demo open
  horseracing results -since 30d | jq -r .info.name | sort | uniq -c
  horseracing results -follow -cursor position.txt >>races.jsonl

%s`

const exitStatuses = "Exit status: 0 done, 1 an error, 2 a mistake on the command line, 130 interrupted.\n"

// program is what all commands share.
type program struct {
	name        string // "horseracing results", before errors
	stdin       io.Reader
	stdout      io.Writer
	stderr      io.Writer
	interactive bool // standard output is a terminal
	attended    bool // standard error is a terminal
	reported    time.Time

	asJSON, asTable bool
	demo, verbose   bool
}

const sigpipe = syscall.Signal(13) // syscall.SIGPIPE is not defined for js

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	signal.Ignore(sigpipe)       // a write to a closed pipe is an error instead, which exit handles
	p := &program{
		name: "horseracing", stdin: os.Stdin, stdout: output{os.Stdout}, stderr: os.Stderr,
		interactive: isTerminal(os.Stdout), attended: isTerminal(os.Stderr), reported: time.Now(),
	}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// isTerminal reports whether a file is a terminal, or another device that is
// not for storage.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// run does what the command line says, and returns the exit status.
func (p *program) run(ctx context.Context, args []string) int {
	return p.exit(ctx, p.runCommand(ctx, args))
}

func (p *program) runCommand(ctx context.Context, args []string) error {
	line, err := parse(args, p.setFlags)
	if line != nil {
		p.name += " " + line.command.name
	}
	switch {
	case errors.Is(err, flag.ErrHelp) && line != nil:
		return p.printHelp(line)
	case errors.Is(err, flag.ErrHelp):
		_, err = fmt.Fprintf(p.stdout, usage, commandTable(), exitStatuses)
	case errors.Is(err, errVersion):
		_, err = fmt.Fprintf(p.stdout, "horseracing %s (%s %s/%s)\n", horseracing.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	case err != nil:
		err = usageError(err.Error())
	default:
		err = line.do(ctx, p, line.args)
	}
	return err
}

func commandTable() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(table, "  %s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
	}
	_ = table.Flush() // writes to memory do not fail
	return text.String()
}

// printHelp prints what "horseracing COMMAND -h" shows.
func (p *program) printHelp(line *commandLine) error {
	c := line.command
	var text strings.Builder
	fmt.Fprintf(&text, "Usage: horseracing %s\n\n%s%s.\n", strings.TrimSpace(c.name+" [flags] "+c.args), strings.ToUpper(c.about[:1]), c.about[1:])
	if c.more != "" {
		fmt.Fprintf(&text, "\n%s", c.more)
	}
	text.WriteString("\nFlags:\n")
	line.flags.SetOutput(&text)
	line.flags.PrintDefaults()
	_, err := fmt.Fprintf(p.stdout, "%s\n%s", text.String(), exitStatuses)
	return err
}

// usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// exit prints what ended the program, and returns the exit status.
func (p *program) exit(ctx context.Context, err error) int {
	mistake, isMistake := errors.AsType[usageError](err)
	unknown := errors.Is(err, horseracing.ErrOutcomeUnknown) // which must not be lost, whatever ended the program
	switch {
	case errors.Is(err, errOutputClosed): // head has seen enough
		return 0
	case isMistake:
		p.complain(fmt.Sprintf("%s (see %s -h)", mistake, p.name))
		return 2
	case unknown || err != nil && ctx.Err() == nil:
		p.complain(explain(err))
	}
	switch {
	case ctx.Err() != nil:
		return 130
	case err != nil:
		return 1
	}
	return 0
}

// complain prints an error, one line for each of its lines.
func (p *program) complain(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(p.stderr, "%s: %s\n", p.name, printable(strings.TrimSpace(line)))
	}
}

// explain returns the error's own text, except for the two things that go wrong
// on a first run.
func explain(err error) string {
	if errors.Is(err, horseracing.ErrUnauthorized) {
		return "the service does not accept the API key: check HORSERACING_API_KEY"
	}
	_, isFile := errors.AsType[*fs.PathError](err) // of doctor -record, say
	if broken, ok := errors.AsType[*horseracing.TransportError](err); ok && !isFile && !errors.Is(err, horseracing.ErrOutcomeUnknown) {
		return fmt.Sprintf("the service does not respond: check HORSERACING_BASE_URL (%v)", broken.Err)
	}
	return err.Error()
}
