// Web serves a page with the open races of the game, live: time left to
// register, fee, free places, levels, and the last results as they finish.
//
//	go -C examples/web run .
//	go -C examples/web run . -addr 127.0.0.1:9000 -interval 10s -tier 4,5
//
// One Watcher and one Follower serve every browser: the number of visitors does
// not change the number of requests to the service.
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it shows a fake of the
// service that lives for this run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
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
  web                            at http://127.0.0.1:8090/, for this machine alone
  web -addr :8090 -tier 4,5      for the network, with the results of two tiers

Flags:
`

type options struct {
	addr     string
	interval time.Duration
	tiers    []horseracing.TierID
}

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{tiers: []horseracing.TierID{horseracing.TierOmega}}
	flags := flag.NewFlagSet("web", flag.ContinueOnError)
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8090", "`ADDRESS` to listen at")
	flags.DurationVar(&o.interval, "interval", 5*time.Second, "how often to poll the service")
	flags.Func("tier", "comma-separated `LIST` of the tiers whose results are shown (default 5: Omega)", func(list string) error {
		o.tiers = nil
		for text := range strings.SplitSeq(list, ",") {
			tier, err := strconv.Atoi(text)
			if err != nil || tier < 1 {
				return errors.New("a tier is a positive number")
			}
			o.tiers = append(o.tiers, horseracing.TierID(tier))
		}
		return nil
	})
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		if o.interval <= 0 {
			return errors.New("-interval must be positive")
		}
		return nil
	})
	if !ok {
		return status
	}
	return program.Exit(ctx, "web", serve(ctx, o, stdout, stderr), stderr)
}

// startFake starts a fake that has been running for two hours.
func startFake(racesPerHour int) (*horseracingtest.Server, error) {
	const before = 2 * time.Hour
	fake, err := horseracingtest.Start(horseracingtest.WithSchedule(racesPerHour), horseracingtest.WithHistory(100),
		horseracingtest.WithClock(func() time.Time { return time.Now().Add(-before) }))
	if err == nil {
		fake.Advance(before)
	}
	return fake, err
}

func serve(ctx context.Context, o options, stdout, stderr io.Writer) error {
	service, err := program.ConnectOrStart(func() (*horseracingtest.Server, error) { return startFake(60) })
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(stderr)
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return fmt.Errorf("%w; -addr sets another address", err)
	}
	fmt.Fprintf(stdout, "http://%s/\n", listener.Addr())

	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	f := newFeed(service.Client, o)
	work.Go(func() { f.run(ctx, stderr) })
	server := &http.Server{
		Handler: f.handler(o.addr), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends the event streams
	}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}
