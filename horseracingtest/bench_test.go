package horseracingtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

const million = 1_000_000

// pageRequest requests a page somewhere in the history.
func pageRequest(s *horseracingtest.Server, n int64) *http.Request {
	before := s.Now().UnixMilli() - n*7_919_993%(10*365*24*3600*1000)
	body := `{"start_time_from":` + itoa(before) + `}`
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.URL+resultsPath, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("x-api-key", s.APIKey)
	r.Header.Set("content-type", "application/json")
	return r
}

// sink is a response writer that discards the response.
type sink struct {
	header http.Header
	n      int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }

// BenchmarkPageFromHandler is what the fake itself takes for a page of ten races.
func BenchmarkPageFromHandler(b *testing.B) {
	s := start(b, horseracingtest.WithHistory(million))
	handler := horseracingtest.Handler(s)
	b.ReportAllocs()
	written, n := 0, int64(0)
	for b.Loop() {
		w := &sink{header: http.Header{}}
		handler.ServeHTTP(w, pageRequest(s, n))
		written += w.n
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(float64(written)/float64(n), "B/page")
}

// BenchmarkPageOverLoopback is what a client on loopback gets that discards the
// responses: one such client, and several at once.
func BenchmarkPageOverLoopback(b *testing.B) {
	s := start(b, horseracingtest.WithHistory(million))
	fetch := func(n int64) {
		response, err := s.HTTPClient().Do(pageRequest(s, n))
		if err != nil {
			b.Error(err)
			return
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	b.Run("one", func(b *testing.B) {
		n := int64(0)
		for b.Loop() {
			fetch(n)
			n++
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "pages/s")
	})
	b.Run("sixteen", func(b *testing.B) {
		var n atomic.Int64
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				fetch(n.Add(1))
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
	})
}

// BenchmarkStart is what a test pays for a fake.
func BenchmarkStart(b *testing.B) {
	for _, races := range []int{2000, million} {
		b.Run(itoa(races), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				horseracingtest.NewServer(horseracingtest.WithHistory(races)).Close()
			}
		})
	}
}
