// Command horseracing-doctor finds out what the game data service really does,
// and reports it: whether it can be reached, whether the key works, whether the
// responses are what is documented, and what the documentation leaves open. It
// only reads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills it
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

const usage = `Usage: horseracing-doctor [flags]

Finds out what the game data service really does, and prints a report. It only
reads: it registers nothing. It examines an embedded fake of the service, or the
real one where HORSERACING_BASE_URL and HORSERACING_API_KEY are set. With
HORSERACING_USER_KEY it also reads that user's horses. No key is in any output.

Ctrl-C ends the examination and prints what was found so far.
Exit status: 0 all is well, 1 something is broken, 2 usage, 130 interrupted.

Examples:
  horseracing-doctor                       # two minutes, at most 150 requests
  horseracing-doctor -markdown -record recorded >report.md

Flags:
`

// settings are the parsed command line.
type settings struct {
	requests       int
	rate           float64
	watch          time.Duration
	record         string
	asMarkdown     bool
	asJSON         bool
	userKey        horseracing.UserKey
	baseURL        string
	apiKey         string
	fake           bool // the service is the embedded fake
	fakeHTTPClient *http.Client
}

// run examines the service and returns the exit status.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	set, status, ok := parse(args, getenv, stderr)
	if !ok {
		return status
	}
	if set.fake {
		fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
		defer fake.Close()
		set.baseURL, set.apiKey, set.userKey = fake.URL, fake.APIKey, fake.UserKey(0)
		set.fakeHTTPClient = fake.HTTPClient()
	}
	d, err := newDoctor(set, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "horseracing-doctor: %v\n", err)
		return 2
	}
	defer d.close()
	fmt.Fprintf(stderr, "Reading %s: at most %d requests, %g a second.\n", d.facts.Service, set.requests, set.rate)
	d.examine(ctx)
	r := d.report(ctx.Err() != nil)
	switch {
	case set.asJSON:
		err = r.writeJSON(stdout)
	case set.asMarkdown:
		err = r.writeMarkdown(stdout)
	default:
		err = r.writeTable(stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "horseracing-doctor: the report could not be written: %v\n", err)
		return 1
	case r.Interrupted:
		return 130
	case r.broken():
		return 1
	}
	return 0
}

func parse(args []string, getenv func(string) string, stderr io.Writer) (set settings, status int, ok bool) {
	flags := flag.NewFlagSet("horseracing-doctor", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&set.requests, "requests", 150, "send at most `N` requests")
	flags.Float64Var(&set.rate, "rate", 2, "send at most `N` requests per second")
	flags.DurationVar(&set.watch, "watch", 0, "at the end, watch for this `time` how late results appear, like 10m")
	flags.StringVar(&set.record, "record", "", "write every response, without keys, to files in this `directory`")
	flags.BoolVar(&set.asMarkdown, "markdown", false, "print the report as Markdown, for an issue")
	flags.BoolVar(&set.asJSON, "json", false, "print the report as JSON")
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	err := flags.Parse(args)
	problem := ""
	switch {
	case errors.Is(err, flag.ErrHelp):
		return set, 0, false
	case err != nil:
		return set, 2, false
	case flags.NArg() > 0:
		problem = fmt.Sprintf("unexpected argument %q", flags.Arg(0))
	case set.requests < 1:
		problem = "-requests must be at least 1"
	case !(set.rate > 0) || set.rate > 1000:
		problem = "-rate must be above 0 and at most 1000"
	case set.watch < 0:
		problem = "-watch must not be negative"
	case set.asMarkdown && set.asJSON:
		problem = "-markdown and -json exclude each other"
	}
	if problem != "" {
		fmt.Fprintf(stderr, "horseracing-doctor: %s (see horseracing-doctor -h)\n", problem)
		return set, 2, false
	}
	set.baseURL, set.apiKey = getenv("HORSERACING_BASE_URL"), getenv("HORSERACING_API_KEY")
	set.userKey = horseracing.UserKey(getenv("HORSERACING_USER_KEY"))
	switch {
	case set.baseURL == "" && set.apiKey == "":
		set.fake = true
	case set.baseURL == "" || set.apiKey == "":
		fmt.Fprintln(stderr, "horseracing-doctor: set both HORSERACING_BASE_URL and HORSERACING_API_KEY, or neither to examine the embedded fake")
		return set, 2, false
	}
	return set, 0, true
}
