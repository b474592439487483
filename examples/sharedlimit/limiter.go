package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Limit permits Burst requests at once after a pause, and Rate a second.
type Limit struct{ Rate, Burst int }

// A SharedLimiter is a horseracing.Limiter whose budget lives in Redis: all processes that name
// the same budget spend from it together.
//
// It fails closed. When Redis cannot be reached, Wait returns an error and nothing is sent.
// Redis keeps one key per budget and uses its own clock, so the clocks of the machines do not matter.
// A Redis that restarts empty has forgotten what was spent: that can let one more burst through.
type SharedLimiter struct {
	redis  *redis.Client
	budget string
	limit  Limit
}

// NewSharedLimiter returns a limiter on a Redis.
func NewSharedLimiter(client *redis.Client, budget string, limit Limit) *SharedLimiter {
	return &SharedLimiter{client, budget, limit}
}

// permit returns 0 if a request may be sent now, else the microseconds to wait before the next try. It is the generic
// cell rate algorithm: the key holds when the next request is due if all keep their distance, and a request may come
// up to burst-1 intervals early.
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

// Wait blocks until the budget permits one more request. It returns an error if ctx ends first or Redis
// does not respond.
func (l *SharedLimiter) Wait(ctx context.Context) error {
	for {
		wait, err := permit.Run(ctx, l.redis, []string{"limit:" + l.budget}, 1e6/float64(l.limit.Rate), l.limit.Burst).Int64()
		if err != nil {
			return fmt.Errorf("shared limit %q: nothing is sent, because Redis does not give permission: %w", l.budget, err)
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
