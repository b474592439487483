// Otel shows the client's calls as OpenTelemetry spans and metrics. The client
// depends on nothing of it: the program wraps the client's transport in
// otelhttp's, and every attempt passes through that.
//
//	go -C examples/otel run .               # the fake responds to the first attempt with 503
//	go -C examples/otel run . -failures 0
//	go -C examples/otel run . | jq -r 'select(.SpanContext) | .Name'
//
// It prints JSON, one object per span and one with the metrics: a span "a horse"
// of the program's own and under it a span for each attempt. Spans and metrics
// are named by the route with its placeholder, not by the path: a name for each
// horse would be one too many.
//
// It reads a fake of the service that lives for this run, unless
// HORSERACING_BASE_URL and HORSERACING_API_KEY are set.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: otel [flags]

Reads the open races and a horse, and prints the OpenTelemetry spans and metrics
of it as JSON. Reads an embedded fake, which fails at first, unless
HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  otel                     two attempts for the first call
  otel -failures 0         nothing fails

Flags:
`

func main() { program.Main("otel", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("otel", flag.ContinueOnError)
	failures := flags.Uint("failures", 1, "how many `TIMES` the fake responds 503 first")
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}
	return observe(ctx, int(*failures), stdout, stderr)
}

// observe configures both exporters and makes the calls. What was recorded is
// written also if a call failed.
func observe(ctx context.Context, failures int, stdout, stderr io.Writer) (err error) {
	spans, err := stdouttrace.New(stdouttrace.WithWriter(stdout))
	if err != nil {
		return err
	}
	numbers, err := stdoutmetric.New(stdoutmetric.WithWriter(stdout))
	if err != nil {
		return err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "horseracing-example-otel")),
		resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go first
	if err != nil {
		return err
	}
	tracing := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithSyncer(spans)) // a server would use WithBatcher
	metering := metric.NewMeterProvider(metric.WithResource(about), metric.WithReader(metric.NewPeriodicReader(numbers)))
	defer func() {
		flush := context.WithoutCancel(ctx)
		err = errors.Join(err, tracing.Shutdown(flush), metering.Shutdown(flush))
	}()

	service, err := program.Connect(stderr, nil, instrument(tracing, metering))
	if err != nil {
		return err
	}
	defer service.Close()
	if service.Fake != nil && failures > 0 {
		service.Fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Times: failures, Status: http.StatusServiceUnavailable})
	}
	return calls(ctx, service.Client, tracing)
}

// instrument makes a span of every attempt and counts it, by its route.
func instrument(tracing trace.TracerProvider, metering *metric.MeterProvider) horseracing.Option {
	return horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return otelhttp.NewTransport(withRoute{next},
			otelhttp.WithTracerProvider(tracing), otelhttp.WithMeterProvider(metering),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + template(r).Value.AsString() }))
	})
}

func template(r *http.Request) attribute.KeyValue {
	call, _ := horseracing.CallFromContext(r.Context())
	return attribute.String("url.template", call.Route)
}

// withRoute adds the route to the span and the metrics of an attempt.
type withRoute struct{ next http.RoundTripper }

func (t withRoute) RoundTrip(r *http.Request) (*http.Response, error) {
	trace.SpanFromContext(r.Context()).SetAttributes(template(r))
	labels, _ := otelhttp.ClientLabelerFromContext(r.Context())
	labels.Add(template(r))
	return t.next.RoundTrip(r)
}

// calls makes two calls, each under a span of its own.
func calls(ctx context.Context, client *horseracing.Client, tracing trace.TracerProvider) error {
	tracer := tracing.Tracer("github.com/horseracing-go/horseracing/examples/otel")
	for _, call := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"open races", func(ctx context.Context) error { _, err := client.Races.Open(ctx); return err }},
		{"a horse", func(ctx context.Context) error { _, err := client.Horses.Get(ctx, 1); return err }},
	} {
		ctx, span := tracer.Start(ctx, call.name)
		err := call.do(ctx)
		if err != nil {
			span.RecordError(err) // the SDK's errors contain no key
			span.SetStatus(codes.Error, call.name+" failed")
		}
		span.End()
		if err != nil {
			return err
		}
	}
	return nil
}
