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
	limit := redis_rate.Limit{Period: time.Second}
	flags.IntVar(&limit.Rate, "rate", 20, "`REQUESTS` a second that all processes may send together")
	flags.IntVar(&limit.Burst, "burst", 5, "`REQUESTS` that may go out at once after a pause")
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		if *n < 1 || limit.Rate < 1 || limit.Burst < 1 || *length <= 0 {
			return errors.New("-n, -rate and -burst must be at least 1, and -for positive")
		}
		return nil
	})
	if !ok {
		return status
	}

	if number := os.Getenv(workerVariable); number != "" {
		working, cancel := context.WithCancel(ctx) // not a deadline, which fails the call that would miss it
		time.AfterFunc(*length, cancel)
		races, err := work(working, number, limit)
		if err != nil {
			fmt.Fprintln(stderr, program.Explain(err))
			return 1
		}
		fmt.Fprintf(stdout, "Process %s read %d races.\n", number, races)
		return 0
	}
	return program.Exit(ctx, "sharedlimit", supervise(ctx, *n, args, limit, stdout, stderr), stderr)
}

// supervise runs n processes, with an embedded Redis and a fake service if the environment names none. It returns an
// error if the fake did not see the limit held.
func supervise(ctx context.Context, n int, args []string, limit redis_rate.Limit, stdout, stderr io.Writer) error {
	service, err := program.ConnectOrStart(func() (*horseracingtest.Server, error) {
		return horseracingtest.Start(horseracingtest.WithClock(time.Now), horseracingtest.WithRequestLog(100_000))
	})
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(stderr)
	var env []string
	if service.Fake != nil {
		env = append(env, "HORSERACING_BASE_URL="+service.Fake.URL, "HORSERACING_API_KEY="+service.Fake.APIKey)
	}
	redis := "the Redis of REDIS_ADDR" // which may hold a password
	if os.Getenv("REDIS_ADDR") == "" {
		embedded, err := miniredis.Run()
		if err != nil {
			return fmt.Errorf("the embedded Redis does not start: %w", err)
		}
		defer embedded.Close()
		env = append(env, "REDIS_ADDR="+embedded.Addr())
		redis = "an embedded Redis (for a real one set REDIS_ADDR)"
	}
	fmt.Fprintf(stdout, "Limit: %v for %d processes together, in %s\n", limit, n, redis)
	if err := workers(ctx, n, args, env, stdout); err != nil || service.Fake == nil {
		return err
	}
	return report(stdout, arrivals(service.Fake), limit)
}
