// Sharedlimit lets several processes, on several machines, share one rate limit: Redis permits
// each request before it is sent.
//
//	go -C examples/sharedlimit run . -clients 3 -rate 20 -burst 5 -for 5s
//	REDIS_ADDR=redis.example:6379 go -C examples/sharedlimit run . -clients 1    # on each machine
//
// Each client has a connection of its own to Redis, as if it were another process. Without
// REDIS_ADDR a Redis is embedded.
//
// If the connection to Redis is lost, nothing is sent: calls fail within a second or two. If
// the connection to the service is lost, calls are retried, and each retry needs a permission,
// too.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// A Limiter is a horseracing.Limiter whose state is in Redis. In any time w at most
// burst + rate*w requests are permitted, by the clock of Redis, to all Limiters of that Redis
// together. A Redis that restarts empty permits one more burst.
type Limiter struct {
	redis *redis.Client
	rate  float64 // requests a second
	burst int     // requests at once, after a pause
}

// NewLimiter returns a Limiter of the Redis at addr, which responds within a second or not at all.
func NewLimiter(addr string, rate float64, burst int) *Limiter {
	options := &redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: 1, DialerRetries: 1,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second}
	return &Limiter{redis.NewClient(options), rate, burst}
}

// permit returns 0 if a request may be sent now, or how many microseconds to wait before asking
// again. This is the generic cell rate algorithm: the key holds when the next request is due if
// all keep their distance, and a request may come up to burst-1 intervals early.
var permit = redis.NewScript(`
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local due = math.max(tonumber(redis.call("GET", KEYS[1]) or 0), now)
local wait = due - (burst - 1) * interval - now
if wait > 0 then return math.ceil(wait) end
due = due + interval
redis.call("SET", KEYS[1], string.format("%.3f", due), "PX", math.ceil((due - now) / 1000))
return 0`)

// Wait blocks until one more request is permitted. An error fails the call that wants to send it.
func (l *Limiter) Wait(ctx context.Context) error {
	for {
		wait, err := permit.Run(ctx, l.redis, []string{"horseracing:limit"}, 1e6/l.rate, l.burst).Int64()
		if err != nil {
			return fmt.Errorf("nothing is sent, since Redis does not permit it: %w", err)
		}
		if wait == 0 {
			return nil
		}
		select {
		case <-time.After(time.Duration(wait) * time.Microsecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func main() {
	clients := flag.Int("clients", 3, "`NUMBER` of clients in this process")
	rate := flag.Float64("rate", 20, "`REQUESTS` a second that all clients may send together")
	burst := flag.Int("burst", 5, "`REQUESTS` that they may send at once after a pause")
	length := flag.Duration("for", 5*time.Second, "how long they read")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	redisAddr := os.Getenv("REDIS_ADDR")
	if redisAddr == "" {
		embedded, err := miniredis.Run()
		if err != nil {
			log.Fatal(err)
		}
		redisAddr = embedded.Addr()
	}
	if os.Getenv("HORSERACING_BASE_URL") == "" {
		log.Print("HORSERACING_BASE_URL is not set: reading a fake of the service")
		fake := horseracingtest.NewServer()
		os.Setenv("HORSERACING_BASE_URL", fake.URL)
		os.Setenv("HORSERACING_API_KEY", fake.APIKey)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	requests, err := read(ctx, *clients, func() horseracing.Limiter { return NewLimiter(redisAddr, *rate, *burst) })
	fmt.Printf("%d clients made %d calls in %.1f s\n", *clients, requests, time.Since(began).Seconds())
	if err != nil {
		log.Fatal(err)
	}
}

// read lets clients read the open races, over and over until ctx ends, and returns how many
// calls they made.
func read(ctx context.Context, clients int, newLimiter func() horseracing.Limiter) (int64, error) {
	var calls atomic.Int64
	group, ctx := errgroup.WithContext(ctx) // the first error ends all
	for range clients {
		client, err := horseracing.NewClientFromEnv(horseracing.WithLimiter(newLimiter()))
		if err != nil {
			return 0, err
		}
		group.Go(func() error {
			for {
				_, err := client.Races.Open(ctx)
				if ctx.Err() != nil {
					return nil
				}
				if err != nil {
					return err
				}
				calls.Add(1)
			}
		})
	}
	err := group.Wait()
	return calls.Load(), err
}
