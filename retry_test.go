package horseracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

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

// A retry of a call costs five tokens, and one of a walk costs one; refusals cost nothing. A conclusive
// response refunds the retries before it, and one without retries earns a token.
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
		"the last tokens":                 {"GET", 9, []found{failed(errReset), failed(errReset)}, 4, 2},
		"those of a walk":                 {"WALK", 2, []found{status(429), status(500), status(429), status(500), status(500)}, 0, 5},
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
