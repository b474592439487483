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
	"syscall"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Main calls run and exits with the status that it returns. Ctrl-C and SIGTERM
// cancel the context; a second one ends the program at once.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// ExitStatuses is the last line of every -h.
const ExitStatuses = "Exit status: 0 done, 1 an error, 2 a mistake on the command line, 130 Ctrl-C.\n"

// Parse parses the command line and calls the checks of what was read. If that
// ends the program (-h, or a mistake), ok is false and status is what to exit
// with.
func Parse(flags *flag.FlagSet, usage string, args []string, stderr io.Writer, checks ...func() error) (status int, ok bool) {
	return ParseShowing(flags, flags, usage, args, stderr, checks...)
}

// ParseShowing is Parse where -h shows only some of the flags.
func ParseShowing(shown, flags *flag.FlagSet, usage string, args []string, stderr io.Writer, checks ...func() error) (status int, ok bool) {
	flags.Usage = func() {}
	flags.SetOutput(io.Discard) // one sentence for a mistake, not all of -h
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, usage)
		shown.SetOutput(stderr)
		shown.PrintDefaults()
		fmt.Fprint(stderr, "\n"+ExitStatuses)
		return 0, false
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for _, check := range checks {
		if err == nil {
			err = check()
		}
	}
	if err != nil {
		return Exit(context.Background(), flags.Name(), UsageError(err.Error()), stderr), false
	}
	return 0, true
}

// Time is the value of a flag that is a time, as a function for
// [flag.FlagSet.Func].
func Time(out *time.Time) func(string) error {
	return func(text string) (err error) {
		if *out, err = time.Parse(time.DateOnly, text); err != nil {
			*out, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			return errors.New("want a time such as 2026-01-31 or 2026-01-31T15:04:05Z")
		}
		return nil
	}
}

// UsageError is a mistake on the command line.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Exit prints in one sentence what ended the program, and returns the status to
// exit with: 0 without an error, 130 after Ctrl-C, 2 for a UsageError, else 1.
func Exit(ctx context.Context, name string, err error, stderr io.Writer) int {
	status := 1
	var sentence string
	mistake, isMistake := errors.AsType[UsageError](err)
	switch {
	case err == nil:
		return 0
	case isMistake:
		status, sentence = 2, fmt.Sprintf("%s (see %s -h)", mistake, name)
	case ctx.Err() != nil:
		status, sentence = 130, "stopped"
		if errors.Is(err, horseracing.ErrOutcomeUnknown) {
			sentence = err.Error() // the one thing that must not be lost
		}
	default:
		sentence = Explain(err)
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, sentence)
	return status
}

// Explain returns the error's own text, except for the two things that go wrong
// on a first run.
func Explain(err error) string {
	if errors.Is(err, horseracing.ErrOutcomeUnknown) {
		return err.Error()
	}
	if errors.Is(err, horseracing.ErrUnauthorized) {
		return "the service does not accept the API key: check HORSERACING_API_KEY"
	}
	if broken, ok := errors.AsType[*horseracing.TransportError](err); ok && broken.Attempts > 0 {
		return fmt.Sprintf("the service does not respond: check HORSERACING_BASE_URL (%v)", broken.Err)
	}
	return err.Error()
}
