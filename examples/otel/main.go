// Otel shows the client's calls as OpenTelemetry spans and metrics. Nothing of
// it is built into the client: the program wraps its transport in otelhttp's, and
// every attempt passes through that.
//
//	go -C examples/otel run .               # the fake responds to the first attempt with 503
//	go -C examples/otel run . -failures 0
//	go -C examples/otel run . | jq -r 'select(.SpanContext) | .Name'
//
// It prints JSON, one object per span and one with the metrics: a span "open
// races" of the program's own and under it a span for each attempt, so that a
// retry shows as what it is. Keys travel in headers, which are not recorded.
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it reads a fake of the
// service that lives for this run.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: otel [flags]

Reads the open races and the missions' catalogue, and prints the OpenTelemetry
spans and metrics of it as JSON. Reads an embedded fake, which fails at first,
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

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("otel", flag.ContinueOnError)
	flags.IntVar(&o.failures, "failures", 1, "how many `TIMES` the fake responds 503 first")
	flags.BoolVar(&o.pretty, "pretty", false, "indent the JSON")
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		if o.failures < 0 {
			return errors.New("-failures cannot be negative")
		}
		return nil
	})
	if !ok {
		return status
	}
	return program.Exit(ctx, "otel", observe(ctx, o, stdout, stderr), stderr)
}

// observe sets up both exporters, makes the calls and sees to it that what was
// recorded is written, also when a call failed.
func observe(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
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
	about, err := describe(ctx)
	if err != nil {
		return err
	}
	tracing := trace.NewTracerProvider(trace.WithResource(about), trace.WithSyncer(spans)) // a server would use WithBatcher
	metering := metric.NewMeterProvider(metric.WithResource(about), metric.WithReader(metric.NewPeriodicReader(numbers)))
	defer func() {
		flush := context.WithoutCancel(ctx)
		err = errors.Join(err, tracing.Shutdown(flush), metering.Shutdown(flush))
	}()

	service, err := connect(o, horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return otelhttp.NewTransport(next,
			otelhttp.WithTracerProvider(tracing), otelhttp.WithMeterProvider(metering),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path }))
	}))
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(stderr)
	return calls(ctx, service.Client, tracing)
}

// describe names this program in its spans and metrics. OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES go before.
func describe(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "horseracing-example-otel")),
		resource.WithFromEnv())
}

// connect returns the service. A fake fails at first.
func connect(o options, instrument horseracing.Option) (*program.Service, error) {
	return program.ConnectOrStart(func() (*horseracingtest.Server, error) {
		fake, err := horseracingtest.Start(horseracingtest.WithClock(time.Now))
		if err == nil && o.failures > 0 {
			fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Times: o.failures, Status: http.StatusServiceUnavailable})
		}
		return fake, err
	}, instrument)
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
