// Web serves a page with the open races of the game, live: time left to
// register, fee, free places, levels, and the last results as they finish.
//
//	go -C examples/web run .
//	go -C examples/web run . -addr 127.0.0.1:9000 -interval 10s -tier 4
//
// One Watch and one Follower serve every browser: the number of visitors does
// not change the number of requests to the service.
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it shows a fake of the
// service that lives for this run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: web [flags]

A page with the open races and the last results, which keeps itself up to date.
Shows an embedded fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  web                          at http://127.0.0.1:8090/, for this machine alone
  web -addr :8090 -tier 4      for the network, with the results of another tier

Flags:
`

func main() { program.Main("web", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("web", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8090", "`ADDRESS` to listen at")
	interval := flags.Duration("interval", 5*time.Second, "how often to poll the service")
	tier := flags.Uint("tier", uint(horseracing.TierOmega), "`ID` of the tier whose results are shown")
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}
	const before = 2 * time.Hour // how long the fake has been running
	service, err := program.Connect(stderr, []horseracingtest.Option{
		horseracingtest.WithSchedule(60), horseracingtest.WithHistory(100),
		horseracingtest.WithClock(func() time.Time { return time.Now().Add(-before) }),
	}, horseracing.WithSkipHandler(func(_ context.Context, err error) { fmt.Fprintf(stderr, "web: left out: %v\n", err) }))
	if err != nil {
		return err
	}
	defer service.Close()
	if service.Fake != nil {
		service.Fake.Advance(before)
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return fmt.Errorf("%w; -addr sets another address", err)
	}
	fmt.Fprintf(stdout, "http://%s/\n", listener.Addr())

	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	f := newFeed(service.Client, *interval, horseracing.TierID(*tier))
	work.Go(func() { f.run(ctx, stderr) })
	server := f.server(ctx, *addr)
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}
