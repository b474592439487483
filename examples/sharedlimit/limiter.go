package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// A SharedLimiter is a horseracing.Limiter whose budget lives in Redis: all processes that name
// the same budget spend from it together.
//
// It fails closed. When Redis cannot be reached, Wait returns an error and nothing is sent.
// Redis keeps one key per budget and uses its own clock, so the clocks of the machines do not matter.
// A Redis that restarts empty has forgotten what was spent: that can let one more burst through.
type SharedLimiter struct {
	rate   *redis_rate.Limiter
	budget string
	limit  redis_rate.Limit
}

// NewSharedLimiter returns a limiter on a Redis.
func NewSharedLimiter(client *redis.Client, budget string, limit redis_rate.Limit) *SharedLimiter {
	return &SharedLimiter{redis_rate.NewLimiter(client), budget, limit}
}

// Wait blocks until the budget permits one more request. It returns an error if ctx ends first or Redis
// does not respond.
func (l *SharedLimiter) Wait(ctx context.Context) error {
	for {
		result, err := l.rate.Allow(ctx, l.budget, l.limit)
		if err != nil {
			return fmt.Errorf("shared limit %q: nothing is sent, because Redis does not give permission: %w", l.budget, err)
		}
		if result.Allowed > 0 {
			return nil
		}
		select {
		case <-time.After(result.RetryAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
