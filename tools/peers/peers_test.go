// Package peers measures what a call costs in this SDK and in others: the
// simplest list of each, empty and served at once from memory.
package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v92/github"
	"github.com/horseracing-go/horseracing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stripe/stripe-go/v85"
)

var (
	ctx       = context.Background()
	base, key = "https://api.example", "key"
)

// A peer is an SDK: what its service responds when there is nothing to list, and
// how its README sets up a client, here with a transport from memory.
type peer struct {
	name, empty string
	client      func(*http.Client) lister
}

// A lister makes one call and counts the entries it got.
type lister func() (int, error)

var (
	hand = peer{"by-hand", `[]`, byHand}
	ours = peer{"horseracing", `[]`, func(c *http.Client) lister {
		client := must(horseracing.NewClient(base, key, horseracing.WithHTTPClient(c)))
		return func() (int, error) {
			races, err := client.Races.Open(ctx)
			return len(races), err
		}
	}}
	others = []peer{
		// Without a token; it has no retries of its own.
		{"go-github", `[]`, func(c *http.Client) lister {
			client := must(github.NewClient(github.WithHTTPClient(c), github.WithEnterpriseURLs(base, base)))
			return func() (int, error) {
				orgs, _, err := client.Organizations.List(ctx, "someone", nil)
				return len(orgs), err
			}
		}},
		{"stripe-go", `{"object":"list","url":"/v1/customers","has_more":false,"data":[]}`, func(c *http.Client) lister {
			client := stripe.NewClient(key, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
				HTTPClient: c, URL: stripe.String(base), EnableTelemetry: new(false),
				LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
			})))
			return func() (n int, err error) {
				for _, err = range client.V1Customers.List(ctx, nil).All(ctx) {
					if err != nil {
						break
					}
					n++
				}
				return n, err
			}
		}},
		{"openai-go", `{"object":"list","data":[]}`, func(c *http.Client) lister {
			client := openai.NewClient(option.WithAPIKey(key), option.WithBaseURL(base), option.WithHTTPClient(c))
			return func() (int, error) {
				models, err := client.Models.List(ctx)
				if err != nil {
					return 0, err
				}
				return len(models.Data), nil
			}
		}},
	}
)

// byHand is what a careful programmer writes without an SDK.
func byHand(client *http.Client) lister {
	return func() (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/races/open", nil)
		if err != nil {
			return 0, err
		}
		req.Header.Set("X-Api-Key", key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err
		}
		if resp.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("status %d: %s", resp.StatusCode, text)
		}
		var races []struct {
			Tier string `json:"tier"`
		}
		err = json.Unmarshal(text, &races)
		return len(races), err
	}
}

// memory responds to every request with the same text, at once, and counts them.
type memory struct {
	text     string
	requests int
}

func (m *memory) RoundTrip(req *http.Request) (*http.Response, error) {
	m.requests++
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(m.text)), Body: io.NopCloser(strings.NewReader(m.text)), Request: req,
	}, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestEveryCallSendsOneRequestAndReadsTheList keeps the comparison honest.
func TestEveryCallSendsOneRequestAndReadsTheList(t *testing.T) {
	for _, p := range append([]peer{hand, ours}, others...) {
		for want, text := range []string{p.empty, strings.Replace(p.empty, "[]", `[{"main_race_id":1,"tier":"Omega"}]`, 1)} {
			m := &memory{text: text}
			n, err := p.client(&http.Client{Transport: m})()
			if err != nil || n != want || m.requests != 1 {
				t.Errorf("%s, given %s: %d entries, %d requests, %v", p.name, text, n, m.requests, err)
			}
		}
	}
}

// BenchmarkEmptyList runs each SDK and a call by hand by turns, so that both meet the
// same noise, and reports how many times as long the SDK takes as the call by hand.
func BenchmarkEmptyList(b *testing.B) {
	for _, p := range append([]peer{ours}, others...) {
		b.Run(p.name, func(b *testing.B) {
			call := func(p peer) func() {
				list := p.client(&http.Client{Transport: &memory{text: p.empty}})
				return func() {
					if n, err := list(); n != 0 || err != nil {
						b.Fatal(n, err)
					}
				}
			}
			one, plain := call(p), call(hand)
			time20 := func(f func()) float64 {
				started := time.Now()
				for range 20 {
					f()
				}
				return time.Since(started).Seconds()
			}
			var toHand []float64
			for b.Loop() {
				toHand = append(toHand, time20(one)/time20(plain))
			}
			slices.Sort(toHand)
			b.ReportMetric(toHand[len(toHand)/2], "times-by-hand")
			b.ReportMetric(testing.AllocsPerRun(100, one), "allocs")
			b.ReportMetric(testing.AllocsPerRun(100, plain), "allocs-by-hand")
			b.ReportMetric(0, "ns/op") // of forty calls: no use
		})
	}
}
