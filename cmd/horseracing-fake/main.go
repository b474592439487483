// Command horseracing-fake runs a fake of the game data service, for clients
// in any language and for trying things out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills it
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `Usage: horseracing-fake [flags]

Runs a fake of the game data service until it is interrupted. It prints where it
listens and the keys it accepts. Races open, fill up, run and appear in the
results as the wall clock goes on.

Examples:
  horseracing-fake -limit 50/s -fail 5%     a service that refuses and fails
  horseracing-fake -control 127.0.0.1:8081  then: curl -d '{"by":"1h"}' http://127.0.0.1:8081/advance

docs/fake.md describes -limit, -control and -replay.

Flags:
`

const exitStatuses = "\nExit status: 0 help, 1 an error, 2 a mistake on the command line, 130 interrupted.\n"

// config is the parsed command line.
type config struct {
	addr, control, replay string
	seed                  uint64
	races                 int
	latency               time.Duration
	limits                limits
	fail                  share
	verbose               bool
}

// run serves until the context ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, status, ok := parse(args, stderr)
	if !ok {
		return status
	}
	server, err := c.start(stderr)
	if err != nil {
		fmt.Fprintf(stderr, "horseracing-fake: %v\n", err)
		return 1
	}
	defer server.Close()
	controlURL := ""
	if c.control != "" {
		control, err := startControl(c.control, server)
		if err != nil {
			fmt.Fprintf(stderr, "horseracing-fake: -control: %v\n", err)
			return 1
		}
		defer control.Close()
		controlURL = control.url
	}
	announce(stdout, server, controlURL)
	<-ctx.Done()
	return 130
}

// parse reads the command line. Where that ends the program, ok is false.
func parse(args []string, stderr io.Writer) (c *config, status int, ok bool) {
	c = new(config)
	flags := flag.NewFlagSet("horseracing-fake", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.addr, "addr", "127.0.0.1:8080", "listen at this `address`; port 0 takes a free one")
	flags.StringVar(&c.control, "control", "", "let programs control the fake at this loopback `address`, like 127.0.0.1:8081")
	flags.StringVar(&c.replay, "replay", "", "respond with the recording in this `directory` instead of a made-up world")
	flags.Uint64Var(&c.seed, "seed", 1, "what the service is made up from: the same seed gives the same horses, races and keys")
	flags.IntVar(&c.races, "races", 2000, "how many finished races lie before the start; a million is fine")
	flags.DurationVar(&c.latency, "latency", 0, "let every response wait this long, like 20ms")
	flags.Var(&c.limits, "limit", "refuse what goes beyond this `limit` with status 429: 50/s, 600/m, 60/10s, 50/s:burst=10, inflight=4; can be repeated")
	flags.Var(&c.fail, "fail", "let this `share` of the requests fail, like 5%: half with status 503, half with a dropped connection")
	flags.BoolVar(&c.verbose, "v", false, "log requests")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
		fmt.Fprint(stderr, exitStatuses)
	}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, 0, false
	case err != nil: // flags has printed it
		return nil, 2, false
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.control != "" && !isLoopback(c.control):
		err = fmt.Errorf("-control takes a loopback address such as 127.0.0.1:8081, not %q", c.control)
	}
	if err != nil {
		fmt.Fprintf(stderr, "horseracing-fake: %v; see horseracing-fake -h\n", err)
		return nil, 2, false
	}
	return c, 0, true
}

func (c *config) start(stderr io.Writer) (*horseracingtest.Server, error) {
	opts := []horseracingtest.Option{
		horseracingtest.WithAddr(c.addr),
		horseracingtest.WithSeed(c.seed),
		horseracingtest.WithHistory(c.races),
		horseracingtest.WithLatency(c.latency),
		horseracingtest.WithClock(time.Now),
		horseracingtest.WithRequestLimit(c.limits...),
	}
	if c.control == "" {
		opts = append(opts, horseracingtest.WithRequestLog(0)) // nobody can read it
	}
	if c.replay != "" {
		if _, err := os.ReadDir(c.replay); err != nil {
			return nil, fmt.Errorf("-replay: %w", err)
		}
		opts = append(opts, horseracingtest.WithRecording(os.DirFS(c.replay)))
	}
	if c.verbose {
		opts = append(opts, horseracingtest.WithLogger(slog.New(slog.NewTextHandler(stderr, nil))))
	}
	server, err := horseracingtest.Start(opts...)
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return nil, fmt.Errorf("%w; take another address with -addr", err)
	}
	if err != nil {
		return nil, err
	}
	server.Inject(c.fail.faults()...)
	return server, nil
}

// announce prints what a client needs.
func announce(w io.Writer, server *horseracingtest.Server, controlURL string) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "address\t%s\n", server.URL)
	if controlURL != "" {
		fmt.Fprintf(table, "control\t%s\n", controlURL)
	}
	fmt.Fprintf(table, "API key\t%s\n", server.APIKey)
	for user := range server.NumUsers() {
		horses := strings.Trim(fmt.Sprint(server.Horses(user)), "[]")
		fmt.Fprintf(table, "user key\t%s\thorses %s\n", string(server.UserKey(user)), horses)
	}
	_ = table.Flush() // if nobody reads, the fake serves all the same
	fmt.Fprintf(w, `
Go:   export HORSERACING_BASE_URL=%[2]s HORSERACING_API_KEY='%[1]s'
Try:  curl -H 'x-api-key: %[1]s' -H 'content-type: application/json' %[2]s/api/v1/races/open
      curl -X GET -H 'x-api-key: %[1]s' -H 'content-type: application/json' -d '{"tier":5}' %[2]s/api/v2/races/results
Stop: Ctrl-C
`, server.APIKey, server.URL)
}
