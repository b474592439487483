// Command horseracing-fake runs a fake of the game data service, for clients
// in any language and for trying things out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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

// run serves until the context ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("horseracing-fake", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "listen at this `address`; port 0 takes a free one")
	seed := flags.Uint64("seed", 1, "which service it is: the same seed gives the same horses, races and keys")
	races := flags.Int("races", 2000, "how many finished races lie before the start; a million is fine")
	latency := flags.Duration("latency", 0, "let every answer wait this long, 20ms say")
	var limits limits
	flags.Var(&limits, "limit", "refuse what goes beyond this `limit` with status 429: 50/s, 600/m, 60/10s, 50/s:burst=10, inflight=4; can be repeated")
	flags.Usage = func() {
		fmt.Fprint(stderr, "Usage: horseracing-fake [flags]\n\n"+
			"Runs a fake of the game data service until it is interrupted. It prints where it\n"+
			"listens and the keys it takes. Races open, fill up, run and turn up in the\n"+
			"results as the wall clock goes on.\n\nFlags:\n")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "horseracing-fake: unexpected argument %q; see horseracing-fake -h\n", flags.Arg(0))
		return 2
	}
	server, err := horseracingtest.Start(
		horseracingtest.WithAddr(*addr),
		horseracingtest.WithSeed(*seed),
		horseracingtest.WithHistory(*races),
		horseracingtest.WithLatency(*latency),
		horseracingtest.WithClock(time.Now),
		horseracingtest.WithRequestLog(0),
		horseracingtest.WithRequestLimit(limits...),
	)
	if err != nil {
		fmt.Fprintf(stderr, "horseracing-fake: %v\n", err)
		return 1
	}
	defer server.Close()
	announce(stdout, server)
	<-ctx.Done()
	return 0
}

// announce prints what a client needs to know.
func announce(w io.Writer, server *horseracingtest.Server) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "address\t%s\n", server.URL)
	fmt.Fprintf(table, "application key\t%s\n", server.APIKey)
	for user := range server.NumUsers() {
		horses := strings.Trim(fmt.Sprint(server.Horses(user)), "[]")
		fmt.Fprintf(table, "user key\t%s\thorses %s\n", string(server.UserKey(user)), horses)
	}
	_ = table.Flush() // where nobody reads, nobody is told
	fmt.Fprintf(w, "\nGo:   export HORSERACING_BASE_URL=%[2]s HORSERACING_API_KEY='%[1]s'\nTry:  curl -H 'x-api-key: %[1]s' -H 'content-type: application/json' %[2]s/api/v1/races/open\nStop: Ctrl-C\n", server.APIKey, server.URL)
}
