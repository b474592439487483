// Sharedlimit runs several processes that keep one limit together: each of them asks Redis for permission
// before it sends a request. It starts itself -n times and prints what the service saw.
//
// Out of the box the service is a fake and Redis is embedded. REDIS_ADDR names a real Redis (host:port, or a
// redis:// or rediss:// URL); HORSERACING_BASE_URL and HORSERACING_API_KEY name a real service, which keeps its
// log to itself, so that only the workers' own counts are printed.
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

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redis/redis_rate/v10"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // what Redis does not answer is in the errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program without its process: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sharedlimit", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "Usage: sharedlimit [flags]\n\nReads results with several processes that keep one rate limit in Redis: that of\n"+
			"REDIS_ADDR, or an embedded one. The service is a fake of this run unless\nHORSERACING_BASE_URL and HORSERACING_API_KEY are set.\n\nFlags:\n")
		flags.PrintDefaults()
	}
	n := flags.Int("n", 3, "number of `processes`")
	length := flags.Duration("for", 5*time.Second, "how long they work")
	limit := redis_rate.Limit{}
	flags.IntVar(&limit.Rate, "rate", 20, "requests all processes may send together, -per time")
	flags.DurationVar(&limit.Period, "per", time.Second, "the time of -rate")
	flags.IntVar(&limit.Burst, "burst", 5, "requests that may go out at once after a quiet while")
	worker := flags.Int("worker", 0, "be worker number `i`, until standard input ends; the program starts its workers with this")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if flags.NArg() > 0 || *n < 1 || *worker < 0 || limit.Rate < 1 || limit.Burst < 1 || limit.Period < time.Millisecond {
		fmt.Fprintln(stderr, "sharedlimit: -n, -rate and -burst are at least 1, -per at least 1ms, and there are no further arguments (see -h)")
		return 2
	}

	if *worker > 0 {
		races, err := work(untilClosed(stdin), *worker, os.Getenv("REDIS_ADDR"), limit)
		if err != nil {
			fmt.Fprintf(stderr, "worker %d stops after %d races: %v\n", *worker, races, err)
			return 1
		}
		fmt.Fprintf(stdout, "worker %d read %d races\n", *worker, races)
		return 0
	}

	work, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	err := supervise(work, *n, limit, stdout)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "sharedlimit: stopped")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "sharedlimit: %v\n", err)
		return 1
	}
	return 0
}

// supervise runs n workers until ctx ends, with an embedded Redis and a fake service where the environment names
// none, and prints the rate that the fake saw.
func supervise(ctx context.Context, n int, limit redis_rate.Limit, out io.Writer) error {
	var env []string
	if os.Getenv("REDIS_ADDR") == "" {
		embedded, err := miniredis.Run()
		if err != nil {
			return fmt.Errorf("the embedded Redis does not start: %w", err)
		}
		defer embedded.Close()
		env = append(env, "REDIS_ADDR="+embedded.Addr())
	}
	var fake *horseracingtest.Server
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		fake = horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithRequestLog(100_000))
		defer fake.Close()
		env = append(env, "HORSERACING_BASE_URL="+fake.URL, "HORSERACING_API_KEY="+fake.APIKey)
	}
	fmt.Fprintf(out, "%d processes share %v\n", n, limit)
	if err := workers(ctx, n, env, limit, out); err != nil {
		return fmt.Errorf("a worker failed (%w)", err)
	}
	if fake != nil {
		report(out, arrivals(fake), limit)
	}
	return nil
}

// arrivals are the times at which the fake was asked, in order.
func arrivals(fake *horseracingtest.Server) []time.Time {
	var times []time.Time
	for _, request := range fake.Requests() {
		times = append(times, request.Time)
	}
	return times
}

func report(out io.Writer, arrivals []time.Time, limit redis_rate.Limit) {
	if len(arrivals) == 0 {
		fmt.Fprintln(out, "the service saw no request")
		return
	}
	span := arrivals[len(arrivals)-1].Sub(arrivals[0])
	fmt.Fprintf(out, "the service saw %d requests in %.1fs, at most %d in any %v (the limit allows %d)\n",
		len(arrivals), span.Seconds(), busiest(arrivals, limit.Period), limit.Period, limit.Rate+limit.Burst)
	if over := overrun(arrivals, limit).Round(time.Millisecond); over > 0 {
		fmt.Fprintf(out, "requests came up to %v before the limit allows, since some overtake others on their way\n", over)
	} else {
		fmt.Fprintln(out, "the limit held in every window of time")
	}
}
