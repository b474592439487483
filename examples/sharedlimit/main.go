// Sharedlimit runs several processes that keep one limit together: each of them has Redis permit a request
// before it sends it. It starts itself -n times and prints whether the limit held.
//
//	go -C examples/sharedlimit run .
//	go -C examples/sharedlimit run . -n 5 -rate 50 -burst 10 -for 10s
//
// Out of the box the service is a fake and Redis is embedded. REDIS_ADDR names a real Redis (host:port);
// HORSERACING_BASE_URL and HORSERACING_API_KEY name a real service, whose log is not
// here to read, so that only the workers' own counts are printed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
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
	program.Main("sharedlimit", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("sharedlimit", flag.ContinueOnError)
	n := flags.Uint("n", 3, "how many `PROCESSES`")
	length := flags.Duration("for", 5*time.Second, "how long they work")
	var limit Limit
	flags.IntVar(&limit.Rate, "rate", 20, "`REQUESTS` a second that all processes may send together")
	flags.IntVar(&limit.Burst, "burst", 5, "`REQUESTS` that may go out at once after a pause")
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}
	if limit.Rate < 1 || limit.Burst < 1 {
		return program.UsageError("-rate and -burst must be at least 1")
	}
	if number := os.Getenv(workerVariable); number != "" {
		return work(ctx, number, *length, limit, stdout)
	}

	service, err := program.Connect(stderr, []horseracingtest.Option{horseracingtest.WithRequestLog(100_000)})
	if err != nil {
		return err
	}
	defer service.Close()
	var env []string
	if service.Fake != nil {
		env = append(env, "HORSERACING_BASE_URL="+service.Fake.URL, "HORSERACING_API_KEY="+service.Fake.APIKey)
	}
	redis := "the Redis of REDIS_ADDR"
	if os.Getenv("REDIS_ADDR") == "" {
		embedded, err := miniredis.Run()
		if err != nil {
			return fmt.Errorf("the embedded Redis does not start: %w", err)
		}
		defer embedded.Close()
		env = append(env, "REDIS_ADDR="+embedded.Addr())
		redis = "an embedded Redis (for a real one set REDIS_ADDR)"
	}
	fmt.Fprintf(stdout, "Limit: %d req/s (burst %d) for %d processes together, in %s\n", limit.Rate, limit.Burst, *n, redis)
	if err := workers(ctx, int(*n), args, env, stdout); err != nil || service.Fake == nil {
		return err
	}
	return report(stdout, arrivals(service.Fake), limit)
}
