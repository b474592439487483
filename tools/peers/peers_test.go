// Package peers measures what a call costs in this SDK and in others: the
// simplest list of each, empty and served at once from memory. It also measures how
// this SDK and that of AWS share a limit.
package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/google/go-github/v92/github"
	"github.com/horseracing-go/horseracing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stripe/stripe-go/v85"
	"golang.org/x/time/rate"
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
	return respond(http.StatusOK, m.text), nil
}

func respond(status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
	}
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
			b.ReportMetric(0, "ns/op") // of forty calls: no use
		})
	}
}

// TestBesideAWS measures this SDK, the adaptive retry mode of the AWS SDK and a plain loop, in virtual
// time: four requests in flight for each client, 1 ms to the limit and 15 to 25 ms back.
//
//	go test -v -run TestBesideAWS .
func TestBesideAWS(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of simulations")
	}
	bucket := func() limit { return rate.NewLimiter(50, 50).Allow }
	sliding := func() limit { return slidingWindow(60, time.Minute) }
	for _, row := range []struct {
		name            string
		limit           func() limit
		perSecond       float64
		status, clients int // status is that of a refusal
		from, to        time.Duration
		used            float64 // by this SDK, at least
		refused         float64 // of its requests, at most
	}{
		{"60 a minute, sliding, minutes 20 to 120", sliding, 1, 429, 1, 20 * time.Minute, 2 * time.Hour, 0.85, 0.1},
		{"50 a second, 503, minutes 1 to 10", bucket, 50, 503, 1, time.Minute, 10 * time.Minute, 0.6, 0.05},
		{"50 a second, two clients, minutes 5 to 15", bucket, 50, 429, 2, 5 * time.Minute, 15 * time.Minute, 0.9, 0.05},
		{"50 a second, ten clients, minutes 5 to 15", bucket, 50, 429, 10, 5 * time.Minute, 15 * time.Minute, 0.9, 0.4},
	} {
		for name, connect := range map[string]connector{"horseracing": connectSDK, "AWS": connectAWS, "plain": connectPlain} {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &service{accepts: row.limit(), status: row.status}
					all := s.run(t, connect, row.clients, row.from, row.to)
					var accepted, refused int
					for _, c := range all {
						accepted, refused = accepted+c.accepted, refused+c.refused
					}
					used := float64(accepted) / (row.to - row.from).Seconds() / row.perSecond
					share := float64(refused) / float64(accepted+refused)
					byAccepted := func(a, b counts) int { return a.accepted - b.accepted }
					even := float64(slices.MinFunc(all, byAccepted).accepted) / float64(slices.MaxFunc(all, byAccepted).accepted)
					t.Logf("%.0f %% used, %.1f %% refused, least over greatest share %.2f", 100*used, 100*share, even)
					if name == "horseracing" && (used < row.used || share > row.refused) {
						t.Errorf("at least %v are to be used, and at most %v refused", row.used, row.refused)
					}
				})
			})
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A limit accepts a request or refuses it.
type limit func() bool

// slidingWindow accepts so many requests in any such time.
func slidingWindow(most int, length time.Duration) limit {
	var log []time.Time
	return func() bool {
		now := time.Now()
		log = slices.DeleteFunc(log, func(at time.Time) bool { return now.Sub(at) >= length })
		if len(log) == most {
			return false
		}
		log = append(log, now)
		return true
	}
}

// service sends an empty list, or a refusal.
type service struct {
	accepts limit
	status  int
	mu      sync.Mutex
}

type counts struct{ accepted, refused int }

// run has some clients of the service request pages, and returns what each got from a time to another.
func (s *service) run(t *testing.T, connect connector, clients int, from, to time.Duration) []counts {
	ctx, cancel := context.WithCancel(t.Context())
	all := make([]counts, clients)
	var workers sync.WaitGroup
	for i := range all {
		get := connect(transport(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			resp := s.respond(&all[i])
			time.Sleep(15*time.Millisecond + rand.N(10*time.Millisecond)) // no two clients in step
			return resp, nil
		}))
		for range 4 {
			workers.Go(func() {
				for ctx.Err() == nil {
					_ = get(ctx) // what the service refused for too long is requested again
				}
			})
		}
	}
	time.Sleep(from)
	s.mu.Lock()
	clear(all)
	s.mu.Unlock()
	time.Sleep(to - from)
	cancel()
	workers.Wait()
	return all
}

func (s *service) respond(c *counts) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.accepts() {
		c.refused++
		return respond(s.status, "[]")
	}
	c.accepted++
	return respond(http.StatusOK, "[]")
}

// connector returns how a client requests a page.
type connector func(http.RoundTripper) (get func(context.Context) error)

func connectSDK(rt http.RoundTripper) func(context.Context) error {
	client := must(horseracing.NewClient("https://horses.test", "key", horseracing.WithHTTPClient(&http.Client{Transport: rt})))
	return func(ctx context.Context) error {
		_, err := client.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1)
		return err
	}
}

// connectAWS makes attempts as the retry middleware of the AWS SDK does.
func connectAWS(rt http.RoundTripper) func(context.Context) error {
	// Its own wait for a token may be of no time at all, which a virtual clock never ends.
	mode := retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) { o.FailOnNoAttemptTokens = true })
	return func(ctx context.Context) error {
		retried := func(error) error { return nil }
		for attempt := 1; ; attempt++ {
			attempted, err := mode.GetAttemptToken(ctx)
			for ; err != nil; attempted, err = mode.GetAttemptToken(ctx) {
				if time.Sleep(5 * time.Millisecond); ctx.Err() != nil {
					return err
				}
			}
			resp, err := rt.RoundTrip(nil)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = refusal(resp.StatusCode)
			}
			_ = attempted(err)
			_ = retried(err)
			if err == nil || attempt == mode.MaxAttempts() {
				return err
			}
			var spent error
			if retried, spent = mode.GetRetryToken(ctx, err); spent != nil {
				return err
			}
			delay, _ := mode.RetryDelay(attempt, err) // it has no error
			time.Sleep(delay)
		}
	}
}

// connectPlain repeats what is refused, after one second, then two, four and up to thirty.
func connectPlain(rt http.RoundTripper) func(context.Context) error {
	return func(ctx context.Context) error {
		for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
			if resp, err := rt.RoundTrip(nil); err != nil || resp.StatusCode == http.StatusOK || ctx.Err() != nil {
				return err
			}
			time.Sleep(wait)
		}
	}
}

// refusal is an error of the service with a status, as the AWS SDK reads it.
type refusal int

func (r refusal) Error() string       { return http.StatusText(int(r)) }
func (r refusal) HTTPStatusCode() int { return int(r) }
func (r refusal) ErrorCode() string {
	if r == http.StatusTooManyRequests {
		return "TooManyRequestsException"
	}
	return "ServiceUnavailable"
}
