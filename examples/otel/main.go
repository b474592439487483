// Otel shows the client's calls as OpenTelemetry spans and metrics. The client itself does not
// depend on OpenTelemetry: the program wraps its transport in otelhttp's, and every attempt
// passes through that.
//
//	go -C examples/otel run . | jq -r 'select(.SpanContext) | .Name'
//
// It prints JSON: an object for each span, and one with the metrics. If the connection is lost,
// each attempt is a span with its error. After a few seconds the call fails, and the program ends.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/service"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	spans, errSpans := stdouttrace.New(stdouttrace.WithWriter(out)) // a server would send them to a collector
	numbers, errNumbers := stdoutmetric.New(stdoutmetric.WithWriter(out))
	if err := errors.Join(errSpans, errNumbers); err != nil {
		return err
	}
	tracing := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)) // and use WithBatcher
	metering := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(numbers)))
	defer func() { err = errors.Join(err, tracing.Shutdown(ctx), metering.Shutdown(ctx)) }()

	client, fake, err := service.Connect(horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		name := func(_ string, r *http.Request) string { return r.Method + " " + route(r).Value.AsString() }
		return otelhttp.NewTransport(withRoute{next}, otelhttp.WithTracerProvider(tracing), otelhttp.WithMeterProvider(metering),
			otelhttp.WithSpanNameFormatter(name))
	}))
	if err != nil {
		return err
	}
	if fake != nil { // so that there is a retry to see
		fake.Inject(horseracingtest.Fault{Status: http.StatusServiceUnavailable})
	}

	ctx, span := tracing.Tracer("horseracing/examples/otel").Start(ctx, "a horse")
	defer span.End()
	if _, err = client.Horses.Get(ctx, 1); err != nil {
		span.RecordError(err) // errors of the client contain no key
		span.SetStatus(codes.Error, "the horse could not be read")
	}
	return err
}

// withRoute adds the route to the span and the metrics of an attempt.
type withRoute struct{ next http.RoundTripper }

func (t withRoute) RoundTrip(r *http.Request) (*http.Response, error) {
	trace.SpanFromContext(r.Context()).SetAttributes(route(r))
	labels, _ := otelhttp.ClientLabelerFromContext(r.Context())
	labels.Add(route(r))
	return t.next.RoundTrip(r)
}

// route returns the path with its placeholders: a name for each horse would be one too many.
func route(r *http.Request) attribute.KeyValue {
	call, _ := horseracing.CallFromContext(r.Context())
	return attribute.String("url.template", call.Route)
}
