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
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// work is what one process does: it reads the finished races over and over, four pages at once, as fast as the
// shared limit lets it, until its time is over.
func work(ctx context.Context, number string, length time.Duration, limit Limit, stdout io.Writer) error {
	permissions := connect(os.Getenv("REDIS_ADDR"))
	defer permissions.Close()
	client, err := horseracing.NewClientFromEnv(
		horseracing.WithLimiter(NewSharedLimiter(permissions, "horseracing", limit)),
		horseracing.WithUserAgent("sharedlimit-worker/"+number), // names the process in the service's log
	)
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx) // not a deadline, which fails the call that would miss it
	time.AfterFunc(length, cancel)
	races := 0
	for working.Err() == nil {
		for _, err := range client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}).All(working) {
			if working.Err() != nil {
				break
			}
			if err != nil {
				return err
			}
			races++
		}
	}
	_, err = fmt.Fprintf(stdout, "Process %s read %d races.\n", number, races)
	return err
}

// connect returns a client of a Redis that responds quickly or not at all. A retry can at worst spend a permission
// that nobody uses.
func connect(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, DialerRetries: 1, MaxRetries: 1,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
	})
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
				text := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "sharedlimit: ")
				return cmp.Or(ctx.Err(), errors.New(cmp.Or(text, err.Error())))
			}
			return nil
		})
	}
	return group.Wait()
}
