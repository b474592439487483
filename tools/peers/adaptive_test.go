package peers

import (
	"context"
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
	"golang.org/x/time/rate"

	"github.com/horseracing-go/horseracing"
)

// TestBesideAWS measures this SDK, the adaptive retry mode of the AWS SDK and a plain loop, in virtual
// time: four requests in flight for each client, 1 ms to the limit and 15 to 25 ms back.
//
//	go test -v -run TestBesideAWS .
func TestBesideAWS(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of simulations")
	}
	bucket := func() limit { return rate.NewLimiter(50, 50) }
	sliding := func() limit { return &slidingWindow{most: 60, length: time.Minute} }
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
		{"50 a second, five clients, minutes 5 to 15", bucket, 50, 429, 5, 5 * time.Minute, 15 * time.Minute, 0.9, 0.4},
		{"50 a second, ten clients, minutes 5 to 15", bucket, 50, 429, 10, 5 * time.Minute, 15 * time.Minute, 0.9, 0.4},
	} {
		for name, connect := range map[string]connector{"horseracing": connectSDK, "AWS": connectAWS, "plain": connectPlain} {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &service{limit: row.limit(), status: row.status}
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
type limit interface{ Allow() bool }

// slidingWindow accepts so many requests in any such time.
type slidingWindow struct {
	most   int
	length time.Duration
	log    []time.Time
}

func (l *slidingWindow) Allow() bool {
	now := time.Now()
	l.log = slices.DeleteFunc(l.log, func(at time.Time) bool { return now.Sub(at) >= l.length })
	if len(l.log) == l.most {
		return false
	}
	l.log = append(l.log, now)
	return true
}

// service sends an empty list, or a refusal.
type service struct {
	limit
	status int
	mu     sync.Mutex
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
	status := http.StatusOK
	if s.Allow() {
		c.accepted++
	} else {
		c.refused++
		status = s.status
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("[]")),
	}
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
