package horseracing_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// spans prints a line for every request that passes. It stands for the
// RoundTripper of a tracing library.
type spans struct{ next http.RoundTripper }

func (s spans) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		fmt.Println("span:", req.Method, req.URL.Path, err)
		return nil, err
	}
	fmt.Println("span:", req.Method, req.URL.Path, resp.StatusCode)
	return resp, nil
}

// OpenTelemetry, and whatever else is an http.RoundTripper, wraps the client's
// transport. Every attempt passes through it, so that a retry is a span of its
// own, under the span in the call's context. With OpenTelemetry's otelhttp wrap is
//
//	func(next http.RoundTripper) http.RoundTripper { return otelhttp.NewTransport(next) }
//
// and examples/otel in the repository is the whole program. The API key is in
// a header and a user's key in a body: record neither.
func ExampleWithTransportWrapper() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Status: http.StatusServiceUnavailable}) // for the first attempt

	client, err := horseracing.NewClient(fake.URL, fake.APIKey,
		horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper { return spans{next} }),
		horseracing.WithRetry(horseracing.Retry{Max: 3, MaxWait: time.Millisecond}))
	if err != nil {
		log.Fatal(err)
	}
	races, err := client.Races.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(races), "races are open")
	// Output:
	// span: GET /api/v1/races/open 503
	// span: GET /api/v1/races/open 200
	// 10 races are open
}
