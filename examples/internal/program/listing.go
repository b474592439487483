package program

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/horseracing-go/horseracing"
)

// Open returns the open races. Those that cannot be read cost only themselves:
// out gets a line about them.
func Open(ctx context.Context, client *horseracing.Client, out io.Writer) ([]horseracing.Race, error) {
	races, err := client.Races.Open(ctx)
	if _, unreadable := errors.AsType[*horseracing.DecodeError](err); unreadable && len(races) > 0 {
		fmt.Fprintf(out, "Left out: %v\n", err)
		return races, nil
	}
	return races, err
}

// Newest returns the next n races of a listing, or fewer at its end. A hole in
// the listing costs only itself: out gets a line about it.
func Newest(ctx context.Context, results *horseracing.Pager[horseracing.Race], n int, out io.Writer) ([]horseracing.Race, error) {
	races := make([]horseracing.Race, 0, n)
	for entry, err := range results.Entries(ctx) {
		_, overflow := errors.AsType[*horseracing.TieOverflowError](err)
		switch {
		case overflow || err != nil && entry.JSON != nil: // the loop goes on behind it
			fmt.Fprintf(out, "Left out: %v\n", err)
		case err != nil:
			return races, err
		default:
			races = append(races, *entry.Value)
		}
		if len(races) == n {
			break
		}
	}
	return races, nil
}
