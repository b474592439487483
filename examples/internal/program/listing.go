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
