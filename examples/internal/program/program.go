// Package program holds what the examples have in common: how one starts and
// ends, the service it reads, and how it prints what it read.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Main calls run and exits with the status of its error. Ctrl-C and SIGTERM
// cancel the context; a second one ends the program at once.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	os.Exit(Exit(name, err, os.Stderr))
}

// Exit prints an error in one sentence and returns the status to exit with: 0
// without an error and after -h, 130 after Ctrl-C, 2 for a UsageError, else 1.
func Exit(name string, err error, stderr io.Writer) int {
	status := 1
	var sentence string
	mistake, isMistake := errors.AsType[UsageError](err)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, context.Canceled):
		status, sentence = 130, "stopped"
	case isMistake:
		status, sentence = 2, fmt.Sprintf("%s (see %s -h)", mistake, name)
	default:
		sentence = Explain(err)
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, sentence)
	return status
}

// Explain returns the error's own text, except for the two things that go wrong
// on a first run.
func Explain(err error) string {
	if errors.Is(err, horseracing.ErrUnauthorized) {
		return "the service does not accept the API key: check HORSERACING_API_KEY"
	}
	if broken, ok := errors.AsType[*horseracing.TransportError](err); ok && broken.Attempts > 0 {
		return fmt.Sprintf("the service does not respond: check HORSERACING_BASE_URL (%v)", broken.Err)
	}
	return err.Error()
}

// UsageError is a mistake on the command line.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Parse parses the command line. The error is flag.ErrHelp after -h, which it
// prints, or a UsageError.
func Parse(flags *flag.FlagSet, usage string, args []string, stderr io.Writer) error {
	flags.Usage = func() {}
	flags.SetOutput(io.Discard) // one sentence for a mistake, not all of -h
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stderr, usage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return err
	case err != nil:
		return UsageError(err.Error())
	case flags.NArg() > 0:
		return UsageError(fmt.Sprintf("unexpected argument %q", flags.Arg(0)))
	}
	return nil
}

// TimeFormats are the forms that Time reads.
const TimeFormats = "30d, 12h, 2026-01-31, or 2026-01-31T15:04:05Z (UTC)"

// Time is the value of a flag that is a time, or how long ago, as a function for
// [flag.FlagSet.Func].
func Time(out *time.Time) func(string) error {
	return func(text string) (err error) {
		if *out, err = time.Parse(time.DateOnly, text); err == nil {
			return nil
		}
		if *out, err = time.Parse(time.RFC3339, text); err == nil {
			return nil
		}
		days, isDays := strings.CutSuffix(text, "d")
		if isDays {
			text = days + "h"
		}
		ago, err := time.ParseDuration(text)
		if err != nil || ago < 0 || ago > 1e5*time.Hour {
			return errors.New("want " + TimeFormats)
		}
		if isDays {
			ago *= 24
		}
		*out = time.Now().UTC().Add(-ago)
		return nil
	}
}

// Tiers is the value of a flag that is a list of tiers, as a function for
// [flag.FlagSet.Func].
func Tiers(out *[]horseracing.TierID) func(string) error {
	return func(text string) error {
		*out = nil
		for part := range strings.SplitSeq(text, ",") {
			id, err := strconv.ParseUint(part, 10, 16)
			if err != nil || id == 0 {
				return errors.New("want ids of tiers, like 5 or 3,4")
			}
			*out = append(*out, horseracing.TierID(id))
		}
		slices.Sort(*out)
		*out = slices.Compact(*out)
		return nil
	}
}
