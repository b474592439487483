// Package program holds what the light examples have in common: how one
// starts and ends, the service it talks to, and how it prints what it read.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/horseracing-go/horseracing"
)

// Main calls run and exits with the status that it returns. The context ends
// with Ctrl-C; a second one ends the program at once.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Parse parses the command line. Where that ends the program (-h, or a
// mistake), ok is false and status is what to exit with.
func Parse(flags *flag.FlagSet, usage string, args []string, stderr io.Writer) (status int, ok bool) {
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "%s: unexpected argument %q (see %[1]s -h)\n", flags.Name(), flags.Arg(0))
		return 2, false
	}
	return 0, true
}

// Exit says in one sentence what ended the program, and returns the status to
// exit with: 0 without an error, 130 after Ctrl-C, else 1.
func Exit(ctx context.Context, name string, err error, stderr io.Writer) int {
	status := 1
	var sentence string
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		status, sentence = 130, "stopped"
		if errors.Is(err, horseracing.ErrOutcomeUnknown) {
			sentence = err.Error() // the one thing that must not be lost
		}
	default:
		sentence = explain(err)
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, sentence)
	return status
}

// explain is the error's own text, but for the two things that go wrong on a
// first try.
func explain(err error) string {
	if errors.Is(err, horseracing.ErrOutcomeUnknown) {
		return err.Error()
	}
	if errors.Is(err, horseracing.ErrUnauthorized) {
		return "the service does not accept the application key: check HORSERACING_API_KEY"
	}
	if broken, ok := errors.AsType[*horseracing.TransportError](err); ok {
		return fmt.Sprintf("the service does not answer, is HORSERACING_BASE_URL right? (%v)", broken.Err)
	}
	return err.Error()
}
