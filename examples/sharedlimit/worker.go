package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/go-redis/redis_rate/v10"
	"github.com/horseracing-go/horseracing"
)

// work is what one process does: it reads the finished races over and over, four pages at once, as fast as the
// shared limit lets it, until the context is canceled.
func work(ctx context.Context, number int, redisAddr string, limit redis_rate.Limit) (races int, err error) {
	limiter, err := NewSharedLimiter(redisAddr, "horseracing", limit)
	if err != nil {
		return 0, err
	}
	defer limiter.Close()
	client, err := horseracing.NewClientFromEnv(
		horseracing.WithLimiter(limiter),
		horseracing.WithUserAgent(fmt.Sprintf("sharedlimit-worker/%d", number)), // names the process in the service's log
	)
	if err != nil {
		return 0, err
	}
	for ctx.Err() == nil {
		for entry, err := range client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega, Concurrency: 4}).Entries(ctx) {
			_, overflow := errors.AsType[*horseracing.TieOverflowError](err)
			switch {
			case ctx.Err() != nil:
				return races, nil
			case overflow || err != nil && entry.JSON != nil: // a hole, behind which the loop goes on
			case err != nil:
				return races, err
			default:
				races++
			}
		}
	}
	return races, nil
}

// untilClosed is a context that is canceled at the end of in. The parent holds the other end of a worker's
// standard input, so no worker outlives it, however the parent ends.
func untilClosed(in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx
}

// workers starts n processes of this program and waits for them. They end when ctx is canceled, or as soon as
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
		cmd := exec.Command(program, "-rate", strconv.Itoa(limit.Rate), "-per", limit.Period.String(), "-burst", strconv.Itoa(limit.Burst))
		cmd.Env = append(append(os.Environ(), env...), workerVariable+"="+strconv.Itoa(i+1))
		cmd.Stdout = out
		go func() { ended <- runWorker(ctx, cmd, i+1) }()
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

// runWorker runs cmd and closes its standard input when ctx is canceled. The error holds what the worker wrote.
func runWorker(ctx context.Context, cmd *exec.Cmd, number int) error {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("worker %d does not start: %w", number, err)
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("worker %d: %s", number, cmp.Or(strings.TrimSpace(stderr.String()), err.Error()))
	}
	return nil
}
