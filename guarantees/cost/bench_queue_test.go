package cost_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// BenchmarkManyInLine measures how long 20,000 calls take to get in line behind a Retry-After, and
// to leave it when their context ends.
func BenchmarkManyInLine(b *testing.B) {
	const calls = 20_000
	for b.Loop() {
		client := double.Client(b, double.Respond(http.StatusTooManyRequests, "", "Retry-After: 600"), horseracing.WithRetry(horseracing.Retry{MaxWait: time.Hour}))
		ctx, cancel := context.WithCancel(b.Context())
		var all sync.WaitGroup
		call := func() { _ = double.OpenRaces(ctx, client) }
		all.Go(call)
		inLine := func(n int) (took time.Duration) {
			for began := time.Now(); client.Pace().Waiting < n; took = time.Since(began) {
				time.Sleep(time.Millisecond)
			}
			return took
		}
		inLine(1)
		for range calls - 1 {
			all.Go(call)
		}
		b.ReportMetric(float64(inLine(calls).Milliseconds()), "ms-in")
		began := time.Now()
		cancel()
		all.Wait()
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-out")
		b.ReportMetric(0, "ns/op")
	}
}
