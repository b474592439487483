package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/go-redis/redis_rate/v10"
	"github.com/horseracing-go/horseracing"
)

// work is what one process does: it reads the finished races over and over, four pages at once, as fast as the
// shared limit lets it, until the context ends.
func work(ctx context.Context, number int, redisAddr string, limit redis_rate.Limit) (races int, err error) {
	limiter, err := NewSharedLimiter(redisAddr, "horseracing", limit)
	if err != nil {
		return 0, err
	}
	defer limiter.Close()
	client, err := horseracing.NewClientFromEnv(
		horseracing.WithLimiter(limiter),
		horseracing.WithUserAgent(fmt.Sprintf("sharedlimit-worker/%d", number)), // the service's log tells the processes apart
	)
	if err != nil {
		return 0, err
	}
	for ctx.Err() == nil {
		for _, err := range client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}).All(ctx) {
			if ctx.Err() != nil {
				return races, nil
			}
			if err != nil {
				return races, err
			}
			races++
		}
	}
	return races, nil
}

// untilClosed is a context that ends when in does. The parent holds the other end of a worker's
// standard input, so no worker outlives it, however the parent ends.
func untilClosed(in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx
}

// workers starts n processes of this program and waits for them. They end when ctx does, or as soon as
// one of them fails; the first failure is returned.
func workers(ctx context.Context, n int, env []string, limit redis_rate.Limit, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, n)
	for i := range n {
		cmd := exec.Command(program, "-worker", strconv.Itoa(i+1),
			"-rate", strconv.Itoa(limit.Rate), "-per", limit.Period.String(), "-burst", strconv.Itoa(limit.Burst))
		cmd.Env = append(os.Environ(), env...)
		cmd.Stdout = out
		cmd.Stderr = out
		if err := start(ctx, cmd, ended); err != nil {
			ended <- fmt.Errorf("worker %d does not start: %w", i+1, err)
		}
	}
	var first error
	for range n {
		if err := <-ended; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

// start runs cmd until ctx ends, and then closes its standard input.
func start(ctx context.Context, cmd *exec.Cmd, ended chan<- error) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	go func() {
		defer stop()
		ended <- cmd.Wait()
	}()
	return nil
}
