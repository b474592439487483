package horseracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

var errReset = errors.New("connection reset")

// found is the outcome of an attempt.
type found struct {
	resp *http.Response
	err  error
}

func failed(err error) found { return found{err: err} }

// status returns an attempt with a response.
func status(code int) found {
	return found{resp: &http.Response{StatusCode: code, Header: http.Header{}, Body: new(transport.Body)}}
}

// after returns the attempt with a Retry-After.
func (f found) after(d time.Duration) found {
	f.resp.Header.Set("Retry-After", d.String())
	return f
}

// newExchange returns the exchange of a call, or of a page for WALK. Its attempts find these, one
// after the other.
func newExchange(ctx context.Context, method string, finds ...found) *exchange {
	op := operation{method: method}
	if method == "WALK" {
		op.method, op.isPage = http.MethodGet, true
	}
	b := &backend{logger: slog.New(slog.DiscardHandler), pace: pace.NewScheduler(nil), header: func(http.Header) {}}
	b.send = tripFunc(func(*http.Request) (*http.Response, error) {
		next := finds[0]
		finds = finds[1:]
		return next.resp, next.err
	})
	x := &exchange{backend: b, ctx: ctx, config: callConfig{retry: defaultRetry}}
	x.request = request{op: op, keys: redact.New(), url: url.URL{Scheme: "https", Host: "game.test", Path: "/"}}
	x.last.request = &x.request
	return x
}

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// waits is a range that contains a backoff.
type waits struct{ least, most time.Duration }

// try is an attempt of a call, and what is made of it.
type try struct {
	found
	retried bool
	waits   waits
	tokens  int // left
}

// A walk's refusals are the scheduler's, and its failures cost a token each.
func TestRetriesOfACallAndOfAWalk(t *testing.T) {
	none, ms, second := waits{}, func(n int) waits { return waits{0, time.Duration(n) * time.Millisecond} }, time.Second
	unsent := failed(&transport.UnsentError{Err: errReset})
	for name, test := range map[string]struct {
		method string // WALK is a GET for a walk
		tokens int    // at first
		tries  []try
	}{
		"a success":                        {"GET", 100, []try{{status(200), false, none, 100}}},
		"a success after retries":          {"GET", 500, []try{{status(500), true, ms(200), 495}, {status(502), true, ms(400), 490}, {status(200), false, none, 490}}},
		"Max retries":                      {"GET", 500, []try{{status(500), true, ms(200), 495}, {status(500), true, ms(400), 490}, {status(500), true, ms(800), 485}, {status(500), false, none, 485}}},
		"the last tokens":                  {"GET", 9, []try{{failed(errReset), true, ms(200), 4}, {failed(errReset), false, none, 4}}},
		"a refusal costs nothing":          {"GET", 0, []try{{status(429), true, none, 0}, {status(429), true, none, 0}, {status(200), false, none, 0}}},
		"a Retry-After is the scheduler's": {"GET", 500, []try{{status(403).after(5 * second), true, none, 500}, {status(503).after(15*second + 1), true, none, 500}}},
		"a 500 may have one":               {"GET", 500, []try{{status(500).after(3 * second), true, waits{3 * second, 3300 * time.Millisecond}, 495}}},
		"a 500 may have too long a one":    {"GET", 500, []try{{status(500).after(16 * second), false, none, 500}}},
		"a write that failed earns no":     {"POST", 100, []try{{status(503).after(second), false, none, 100}}},
		"a write without a connection":     {"POST", 500, []try{{unsent, true, ms(200), 495}, {status(200), false, none, 495}}},
		"a write that was refused by pace": {"POST", 500, []try{{status(429), true, none, 500}}},
		"a walk's refusals, then a failure": {"WALK", 5, []try{
			{status(429), true, none, 5}, {status(403).after(time.Hour), true, none, 5}, {status(429), true, none, 5},
			{status(429), true, none, 5}, {status(500), true, ms(200), 4},
		}},
		"a walk's failure that names a wait": {"WALK", 5, []try{{status(502).after(10 * time.Minute), true, waits{defaultRetry.MaxWait, defaultRetry.MaxWait}, 4}}},
		"a walk's failures":                  {"WALK", 5, []try{{status(500), true, ms(200), 4}, {status(500), true, ms(400), 3}, {status(200), false, none, 3}}},
		"a walk's failure that is for good":  {"WALK", 5, []try{{failed(transport.ErrTooLarge), false, none, 5}}},
	} {
		x := newExchange(t.Context(), test.method)
		x.backend.budget.Add(test.tokens - x.backend.budget.Left())
		for i, try := range test.tries {
			x.last.attempt = newAttempt(i+1, try.resp, try.err)
			retried, err := x.check(x.ctx, try.resp, nil)
			var wait time.Duration
			if retried {
				wait = x.backoff(defaultRetry.MinWait, defaultRetry.MaxWait, i, try.resp)
			}
			if tokens := x.backend.budget.Left(); retried != try.retried || err != nil || wait < try.waits.least || wait > try.waits.most || tokens != try.tokens {
				t.Errorf("%s, attempt %d: retried %v after %v, %d tokens left, %v; want %+v", name, i+1, retried, wait, tokens, err, try)
			}
		}
	}
}

// A conclusive response refunds the retries before it, and one without retries earns a token.
func TestBudgetOfACallAtItsEnd(t *testing.T) {
	unsent := failed(&transport.UnsentError{Err: errReset})
	for name, test := range map[string]struct {
		method      string // WALK is a GET for a walk
		tokens      int    // at first
		finds       []found
		left, tries int
	}{
		"a success earns a token":         {"GET", 100, []found{status(200)}, 101, 1},
		"so does a 404":                   {"GET", 100, []found{status(404)}, 101, 1},
		"a full bucket earns nothing":     {"GET", 500, []found{status(200)}, 500, 1},
		"a success refunds its retries":   {"GET", 400, []found{status(500), status(502), status(200)}, 400, 3},
		"of a write, too":                 {"POST", 400, []found{unsent, status(200)}, 400, 2},
		"of a walk, too":                  {"WALK", 5, []found{status(500), status(500), status(200)}, 5, 3},
		"a success after refusals":        {"GET", 0, []found{status(429), status(429), status(200)}, 1, 3},
		"a failure refunds nothing":       {"GET", 400, []found{status(500), failed(errReset), status(503), status(500)}, 385, 4},
		"nor does one that is for good":   {"GET", 400, []found{status(500), failed(transport.ErrTooLarge)}, 395, 2},
		"nor does a refusal of a context": {"GET", 400, []found{status(500), failed(context.Canceled)}, 395, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				x := newExchange(ctx, test.method, test.finds...)
				send := x.backend.send
				x.backend.send = tripFunc(func(req *http.Request) (*http.Response, error) {
					resp, err := send.RoundTrip(req)
					if err == context.Canceled {
						cancel()
					}
					return resp, err
				})
				x.backend.budget.Add(test.tokens - x.backend.budget.Left())
				x.run()
				if tokens := x.backend.budget.Left(); tokens != test.left || x.last.number != test.tries || x.stopped != nil {
					t.Errorf("%d attempts, %d tokens, %v; want %d, %d", x.last.number, tokens, x.stopped, test.tries, test.left)
				}
			})
		})
	}
}

func TestNothingIsRetriedOnceTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		found   found
		stopped error
	}{
		"a failure":                  {status(500), context.Canceled},
		"a reset":                    {failed(errReset), context.Canceled},
		"a conclusive response":      {status(404), nil},
		"the end of the context":     {failed(context.Canceled), nil},
		"a failure that is for good": {failed(transport.ErrTooLarge), nil},
	} {
		x := newExchange(ctx, http.MethodGet)
		x.last.attempt = newAttempt(1, test.found.resp, test.found.err)
		again, err := x.check(ctx, test.found.resp, nil)
		if again || err != nil || x.stopped != test.stopped {
			t.Errorf("%s: %v, %v, %v", name, again, err, x.stopped)
		}
	}
}
