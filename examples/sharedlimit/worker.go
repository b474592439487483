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
	"golang.org/x/sync/errgroup"
)

// work is what one process does: it reads the finished races over and over, four pages at once, as fast as the
// shared limit lets it, until the context ends.
func work(ctx context.Context, number string, limit redis_rate.Limit) (races int, err error) {
	limiter, err := NewSharedLimiter(os.Getenv("REDIS_ADDR"), "horseracing", limit)
	if err != nil {
		return 0, err
	}
	defer limiter.Close()
	client, err := horseracing.NewClientFromEnv(
		horseracing.WithLimiter(limiter),
		horseracing.WithUserAgent("sharedlimit-worker/"+number), // names the process in the service's log
	)
	if err != nil {
		return 0, err
	}
	for ctx.Err() == nil {
		for _, err := range client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}).All(ctx) {
			switch {
			case ctx.Err() != nil:
				return races, nil
			case errors.Is(err, horseracing.ErrHole): // passed over, the loop goes on
			case err != nil:
				return races, err
			default:
				races++
			}
		}
	}
	return races, nil
}

// workers runs n processes of this program, with its own arguments, until their time is over. If one fails the others
// are killed, as all are when ctx is canceled.
func workers(ctx context.Context, n int, args, env []string, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	group, killed := errgroup.WithContext(ctx)
	for i := range n {
		var stderr strings.Builder
		cmd := exec.CommandContext(killed, program, args...)
		cmd.Env = append(append(os.Environ(), env...), workerVariable+"="+strconv.Itoa(i+1))
		cmd.Stdout, cmd.Stderr = struct{ io.Writer }{out}, &stderr // not the file itself: a closed pipe ends this process
		group.Go(func() error {
			if err := cmd.Run(); err != nil {
				return cmp.Or(ctx.Err(), fmt.Errorf("%s", cmp.Or(strings.TrimSpace(stderr.String()), err.Error())))
			}
			return nil
		})
	}
	return group.Wait()
}
