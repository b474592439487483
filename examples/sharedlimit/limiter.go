package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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
	addr   string
	budget string
	limit  redis_rate.Limit
	client *redis.Client
	rate   *redis_rate.Limiter

	// turn is held by the one call of this process that talks to Redis. Its other calls queue here,
	// in order, rather than all sending at once whenever a permission is due.
	turn chan struct{}
}

// NewSharedLimiter returns a limiter on the Redis at addr, which is host:port or a redis:// or
// rediss:// URL. It does not connect yet. The caller closes it.
func NewSharedLimiter(addr, budget string, limit redis_rate.Limit) (*SharedLimiter, error) {
	options := &redis.Options{Addr: addr}
	if strings.Contains(addr, "://") {
		parsed, err := redis.ParseURL(addr)
		if err != nil {
			return nil, errors.New("REDIS_ADDR is neither host:port nor a redis:// URL") // err would show the password
		}
		options = parsed
	}
	options.ContextTimeoutEnabled = true // otherwise a call's deadline does not reach the connection
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = time.Second, time.Second, time.Second
	options.DialerRetries, options.MaxRetries = 1, 1 // a retry can at worst spend a permission that nobody uses
	client := redis.NewClient(options)
	return &SharedLimiter{options.Addr, budget, limit, client, redis_rate.NewLimiter(client), make(chan struct{}, 1)}, nil
}

// Wait returns nil once the budget permits one more request. It returns an error when ctx is canceled first,
// at once when ctx would be out of time first, and when Redis does not respond.
func (l *SharedLimiter) Wait(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		result, err := l.rate.Allow(ctx, l.budget, l.limit)
		if err != nil {
			return l.refused(ctx, err)
		}
		if result.Allowed > 0 {
			return nil
		}
		if err := sleep(ctx, result.RetryAfter); err != nil {
			return fmt.Errorf("shared limit %q (%v): the next permission is %v away: %w",
				l.budget, l.limit, result.RetryAfter.Round(time.Millisecond), err)
		}
	}
}

// Close gives the connections back.
func (l *SharedLimiter) Close() error { return l.client.Close() }

// refused explains why nothing is sent. A connection whose deadline came from ctx reports a time-out
// of its own, possibly a moment before ctx does: the error is the context's all the same.
func (l *SharedLimiter) refused(ctx context.Context, err error) error {
	if deadline, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(deadline) {
		err = fmt.Errorf("%w (%w)", context.DeadlineExceeded, err)
	}
	return fmt.Errorf("shared limit %q: nothing is sent, because Redis at %s does not give permission: %w", l.budget, l.addr, err)
}

// sleep waits for d, or fails at once if ctx is out of time before that.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
