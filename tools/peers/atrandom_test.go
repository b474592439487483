package peers

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing"
)

// BenchmarkRefusalsAtRandom requests pages from a server that sheds load, a share of all
// requests, by realWorkers goroutines: with this SDK, and with go-retryablehttp as its
// README sets it up.
//
//	go test -run '^$' -bench RefusalsAtRandom -benchtime 1x .
func BenchmarkRefusalsAtRandom(b *testing.B) {
	const pages = 1000
	for _, share := range []float64{0.01, 0.05, 0.15} {
		for _, retryAfter := range []string{"", "1"} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(20 * time.Millisecond)
				if rand.Float64() < share {
					if retryAfter != "" {
						w.Header().Set("Retry-After", retryAfter)
					}
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, "[]")
			}))
			sdk := must(horseracing.NewClient(server.URL, "key", horseracing.WithRetry(horseracing.Retry{Max: 10})))
			plain := retryablehttp.NewClient()
			plain.Logger = nil
			for name, get := range map[string]func() error{
				"horseracing": func() error {
					_, err := sdk.Races.Open(b.Context(), horseracing.AsBackground())
					return err
				},
				"go-retryablehttp": func() error {
					resp, err := plain.Get(server.URL)
					if err != nil {
						return err
					}
					defer resp.Body.Close()
					_, err = io.Copy(io.Discard, resp.Body)
					return err
				},
			} {
				b.Run(fmt.Sprintf("%v/retryAfter=%s/%s", share, retryAfter, name), func(b *testing.B) {
					for b.Loop() {
						var begun, failed atomic.Int64
						var workers sync.WaitGroup
						for range realWorkers {
							workers.Go(func() {
								for begun.Add(1) <= pages {
									if get() != nil {
										failed.Add(1)
									}
								}
							})
						}
						workers.Wait()
						b.ReportMetric(float64(failed.Load()), "failed")
					}
					b.ReportMetric(float64(b.N*pages)/b.Elapsed().Seconds(), "pages/s")
				})
			}
			server.Close()
		}
	}
}
