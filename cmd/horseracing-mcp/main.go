// Command horseracing-mcp lets an agent read the service of the game, and register
// horses within limits that a person sets, over the Model Context Protocol on standard
// input and output. See README.md.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/cmd/internal/database"
	"github.com/horseracing-go/horseracing/cmd/internal/enter"
	"github.com/horseracing-go/horseracing/cmd/internal/profile"
	"github.com/horseracing-go/horseracing/cmd/internal/signals"
)

func main() {
	// net/http logs parts of responses, which may hold keys.
	log.SetOutput(io.Discard)
	ctx := signals.Context(func(signals.Received) { os.Exit(outcomeOpen) }) // only a registration takes so long
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// outcomeOpen is the exit status if a registration was abandoned, whose fee may be paid.
const outcomeOpen = 7

// settings are what the person who starts the program decides. No tool changes them.
type settings struct {
	enter.Limits
	demo    bool
	profile string                    // of the settings that the environment lacks
	path    string                    // of the ledger, or empty if nothing may be paid
	horses  []horseracing.HorseNumber // any horse if empty
	confirm bool                      // ask the person before each payment
}

// run returns the exit status: 2 after a mistake in flags or variables.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.ReadCloser, stdout io.WriteCloser, stderr io.Writer) int {
	s, stop, err := start(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		fmt.Fprintln(stderr, "horseracing-mcp:", err)
		return 2
	}
	defer stop()
	input := pipeTransport{&mcp.IOTransport{Reader: stdin, Writer: stdout}, ctx}
	if err := s.Run(context.WithoutCancel(ctx), input); err != nil {
		fmt.Fprintln(stderr, "horseracing-mcp:", err)
		return 1
	}
	return 0
}

// usage is what --help prints before the flags.
//
//go:embed usage.txt
var usage string

func parse(args []string, stderr io.Writer) (set settings, err error) {
	flags := flag.NewFlagSet("horseracing-mcp", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&set.demo, "demo", false, "use an embedded fake of the service")
	flags.Func("profile", "use the settings that horseracing login saved as `NAME`; default HORSERACING_PROFILE, or default", profile.Flag(&set.profile))
	flags.StringVar(&set.path, "ledger", "", "the `FILE` of the ledger, as an absolute path, or the URL of a PostgreSQL database that has it; the agent can register if --max-fee and --daily are set too")
	flags.Func("max-fee", "the highest fee of one registration, in `TOKENS`", enter.Tokens(&set.MaxFee))
	flags.Func("daily", "the highest sum of the fees of a day in UTC, in `TOKENS`", enter.Tokens(&set.Daily))
	flags.Func("budget", "the highest sum of all fees in the ledger, in `TOKENS`; default unlimited", enter.Tokens(&set.Budget))
	flags.BoolVar(&set.confirm, "confirm", false, "ask the person for a yes before each payment, through the host")
	flags.Func("horses", "the `NUMBERS` of the horses that may be registered, as in 1,2,3; default any", func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not the number of a horse", part)
			}
			set.horses = append(set.horses, horseracing.HorseNumber(n))
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return set, err
	}
	pays := set.path != "" || set.Limits != enter.Limits{} || set.horses != nil || set.confirm
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case pays && (set.path == "" || set.MaxFee == nil || set.Daily == nil):
		err = errors.New("registering needs --ledger, --max-fee and --daily, all three")
	case pays && !filepath.IsAbs(set.path) && !database.IsURL(set.path):
		err = fmt.Errorf("--ledger %q must be an absolute path: a relative one is another ledger in each working folder", database.Name(set.path))
	case pays && set.demo:
		err = errors.New("the registrations of --demo are lost when the program ends, so it cannot have a ledger")
	}
	return set, err
}

// start returns the server, and what closes its client.
func start(args []string, getenv func(string) string, stderr io.Writer) (*server, func(), error) {
	set, err := parse(args, stderr)
	if err != nil {
		return nil, nil, err
	}
	s := &server{settings: set}
	remote, err := connection.Open(set.demo, set.profile, getenv, append(s.options(),
		horseracing.WithUserAgent("horseracing-mcp/"+horseracing.Version),
		horseracing.WithLogger(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))))...)
	if err != nil {
		return nil, nil, err
	}
	if set.path != "" && remote.UserKey == "" {
		return nil, nil, errors.New("registering needs HORSERACING_USER_KEY, the key of the horses' owner")
	}
	return s, remote.Close, s.init(remote)
}
