// Sharedlimit runs several processes that keep one limit together: each of them has Redis permit a request
// before it sends it. It starts itself -n times and prints whether the limit held.
//
//	go -C examples/sharedlimit run .
//	go -C examples/sharedlimit run . -n 5 -rate 50 -burst 10 -for 10s
//
// Out of the box the service is a fake and Redis is embedded. REDIS_ADDR names a real Redis (host:port, or a
// redis:// or rediss:// URL); HORSERACING_BASE_URL and HORSERACING_API_KEY name a real service, whose log is not
// here to read, so that only the workers' own counts are printed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redis/redis_rate/v10"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/redis/go-redis/v9/logging"
)

const usage = `Usage: sharedlimit [flags]

Reads results with several processes that keep one rate limit in Redis: that of
REDIS_ADDR, or an embedded one. Reads an embedded fake unless
HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  sharedlimit                                      three processes, 20 requests a second
  sharedlimit -n 5 -rate 50 -burst 10 -for 10s
  REDIS_ADDR=redis.example:6379 sharedlimit

Flags:
`

// workerVariable makes this program a worker; its value is the worker's number. The program starts its workers with it.
const workerVariable = "SHAREDLIMIT_WORKER"

func main() {
	logging.Disable() // the errors hold what Redis reports
	program.Main(run)
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sharedlimit", flag.ContinueOnError)
	n := flags.Int("n", 3, "how many `PROCESSES`")
	length := flags.Duration("for", 5*time.Second, "how long they work")
	limit := redis_rate.Limit{}
	flags.IntVar(&limit.Rate, "rate", 20, "`REQUESTS` that all processes may send together, -per time")
	flags.DurationVar(&limit.Period, "per", time.Second, "the time of -rate")
	flags.IntVar(&limit.Burst, "burst", 5, "`REQUESTS` that may go out at once after a pause")
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		switch {
		case *n < 1 || limit.Rate < 1 || limit.Burst < 1:
			return errors.New("-n, -rate and -burst must be at least 1")
		case limit.Period < time.Millisecond || *length < time.Millisecond:
			return errors.New("-per and -for must be at least 1ms")
		}
		return nil
	})
	if !ok {
		return status
	}

	if number, err := strconv.Atoi(os.Getenv(workerVariable)); err == nil {
		races, err := work(untilClosed(os.Stdin), number, os.Getenv("REDIS_ADDR"), limit)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		fmt.Fprintf(stdout, "worker %d read %d races\n", number, races)
		return 0
	}
	working, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	err := supervise(working, *n, limit, stdout)
	return program.Exit(ctx, "sharedlimit", errors.Join(err, ctx.Err()), stderr)
}

// supervise runs n workers until ctx is canceled, with an embedded Redis and a fake service if the environment names
// none, and prints whether the fake saw the limit held. It returns an error if it did not.
func supervise(ctx context.Context, n int, limit redis_rate.Limit, out io.Writer) error {
	service, err := program.ConnectOrStart(func() (*horseracingtest.Server, error) {
		return horseracingtest.Start(horseracingtest.WithClock(time.Now), horseracingtest.WithRequestLog(100_000))
	})
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(out)
	var env []string
	if service.Fake != nil {
		env = append(env, "HORSERACING_BASE_URL="+service.Fake.URL, "HORSERACING_API_KEY="+service.Fake.APIKey)
	}
	redis := "the one of REDIS_ADDR" // which may hold a password
	if os.Getenv("REDIS_ADDR") == "" {
		embedded, err := miniredis.Run()
		if err != nil {
			return fmt.Errorf("the embedded Redis does not start: %w", err)
		}
		defer embedded.Close()
		env = append(env, "REDIS_ADDR="+embedded.Addr())
		redis = "an embedded one (for a real one set REDIS_ADDR)"
	}
	fmt.Fprintf(out, "Redis: %s\nLimit: %v for %d processes together\n", redis, limit, n)
	if err := workers(ctx, n, env, limit, out); err != nil {
		return err
	}
	if service.Fake == nil {
		return nil
	}
	return report(out, arrivals(service.Fake), limit)
}

// arrivals are the times at which the fake received a request, in order.
func arrivals(fake *horseracingtest.Server) []time.Time {
	var times []time.Time
	for _, request := range fake.Requests() {
		times = append(times, request.Time)
	}
	return times
}
