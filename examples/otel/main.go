// Otel shows the client's calls as OpenTelemetry spans and metrics. Nothing of
// it is built into the client: the program gives it an http.Client whose
// transport is otelhttp's, and every attempt passes through that.
//
//	go -C examples/otel run .               # the fake answers the first attempt with 503
//	go -C examples/otel run . -failures 0
//	go -C examples/otel run . | jq -r 'select(.SpanContext) | .Name'
//
// It prints JSON, one object per span and one with the metrics: a span "open
// races" of the program's own and under it a span for each attempt, so that a
// retry is seen as what it is. Keys travel in headers, which are not recorded.
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it calls a fake of the
// service that lives for this run.
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
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: otel [flags]

Reads the open races and the missions' catalogue, and prints the OpenTelemetry
spans and metrics of it as JSON. Calls an embedded fake, which fails at first,
unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  otel                     two attempts for the first call
  otel -failures 0         nothing fails
  otel -pretty             indented JSON

Flags:
`

type options struct {
	failures int
	pretty   bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("otel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.IntVar(&o.failures, "failures", 1, "how many `TIMES` the fake answers 503 first")
	flags.BoolVar(&o.pretty, "pretty", false, "indent the JSON")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "otel: unexpected argument %q (see otel -h)\n", flags.Arg(0))
		return 2
	}

	switch err := observe(ctx, o, stdout); {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "otel: stopped")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "otel: %v\n", err)
		return 1
	}
	return 0
}

// observe sets up both exporters, makes the calls and sees to it that what was
// recorded is written, also when a call failed.
func observe(ctx context.Context, o options, stdout io.Writer) (err error) {
	traceOptions := []stdouttrace.Option{stdouttrace.WithWriter(stdout)}
	metricOptions := []stdoutmetric.Option{stdoutmetric.WithWriter(stdout)}
	if o.pretty {
		traceOptions = append(traceOptions, stdouttrace.WithPrettyPrint())
		metricOptions = append(metricOptions, stdoutmetric.WithPrettyPrint())
	}
	spans, err := stdouttrace.New(traceOptions...)
	if err != nil {
		return err
	}
	numbers, err := stdoutmetric.New(metricOptions...)
	if err != nil {
		return err
	}
	tracing := trace.NewTracerProvider(trace.WithSyncer(spans)) // a service would use WithBatcher
	metering := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(numbers)))
	defer func() {
		flush := context.WithoutCancel(ctx)
		err = errors.Join(err, tracing.Shutdown(flush), metering.Shutdown(flush))
	}()

	client, stop, err := connect(o, func(next http.RoundTripper) http.RoundTripper {
		return otelhttp.NewTransport(next,
			otelhttp.WithTracerProvider(tracing), otelhttp.WithMeterProvider(metering),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path }))
	})
	if err != nil {
		return err
	}
	defer stop()
	return calls(ctx, client, tracing)
}

// connect returns a client whose every attempt goes through instrument: of the
// service that the environment names, else of a fake that runs until stop.
func connect(o options, instrument func(http.RoundTripper) http.RoundTripper) (client *horseracing.Client, stop func(), err error) {
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
		if o.failures > 0 {
			fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Times: o.failures, Status: http.StatusServiceUnavailable})
		}
		httpClient := fake.HTTPClient()
		httpClient.Transport = instrument(httpClient.Transport)
		client, err = horseracing.NewClient(fake.URL, fake.APIKey, horseracing.WithHTTPClient(httpClient))
		return client, fake.Close, err
	}
	client, err = horseracing.NewClientFromEnv(horseracing.WithHTTPClient(&http.Client{Transport: instrument(http.DefaultTransport)}))
	return client, func() {}, err
}

// calls makes two calls, each under a span of its own.
func calls(ctx context.Context, client *horseracing.Client, tracing *trace.TracerProvider) error {
	tracer := tracing.Tracer("github.com/horseracing-go/horseracing/examples/otel")
	for _, call := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"open races", func(ctx context.Context) error { _, err := client.Races.Open(ctx); return err }},
		{"mission catalogue", func(ctx context.Context) error { _, err := client.Missions.Catalogue(ctx); return err }},
	} {
		ctx, span := tracer.Start(ctx, call.name)
		err := call.do(ctx)
		if err != nil {
			span.RecordError(err) // the SDK's errors hold no key
			span.SetStatus(codes.Error, call.name+" failed")
		}
		span.End()
		if err != nil {
			return err
		}
	}
	return nil
}
