package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"
)

var errReset = errors.New("connection reset")

// status returns an attempt with a response.
func status(code int) Attempt { return Attempt{Status: code} }

// after returns the attempt with a Retry-After.
func (a Attempt) after(d time.Duration) Attempt { a.RetryAfter = d; return a }

func failure(err error) Attempt { return Attempt{Err: err} }

func TestAnAttemptIsClassifiedByItsResponse(t *testing.T) {
	for _, test := range []struct {
		name        string
		attempt     Attempt
		read, write outcome
	}{
		{"200", status(200), conclusive, conclusive},
		{"a redirect", status(302), conclusive, conclusive},
		{"404", status(404), conclusive, conclusive},
		{"501", status(501), failed, permanent},
		{"408", status(408), failed, permanent},
		{"500", status(500), failed, permanent},
		{"502", status(502), failed, permanent},
		{"520", status(520), failed, permanent},
		{"503", status(503), failed, permanent},
		{"504", status(504), failed, permanent},
		{"429", status(429), refused, refused},
		{"429 with a wait", status(429).after(time.Second), refused, refused},
		{"503 with a wait", status(503).after(time.Second), refused, permanent},
		{"a reset", failure(errReset), failed, permanent},
		{"no connection", Attempt{Err: errReset, Unsent: true}, failed, failed},
		{"a certificate", Attempt{Err: &tls.CertificateVerificationError{Err: errReset}, Unsent: true}, permanent, permanent},
		{"no TLS", Attempt{Err: tls.RecordHeaderError{}, Unsent: true}, permanent, permanent},
		{"too large", failure(tooLarge(1)), permanent, permanent},
		{"a page", Attempt{Status: 200, Err: ErrHTML}, failed, permanent},
	} {
		for method, want := range map[string]outcome{http.MethodGet: test.read, http.MethodPost: test.write} {
			r := &Record{Request: request(method), Attempt: test.attempt}
			if got := r.classify(); got != want {
				t.Errorf("%s %s: got %d, want %d", method, test.name, got, want)
			}
		}
	}
}

// waits is a range that contains a backoff.
type waits struct{ least, most time.Duration }

// try is an attempt of a call, and what the policy makes of it.
type try struct {
	Attempt
	retried bool
	waits   waits
	tokens  int // left
}

func TestThePolicyOfACall(t *testing.T) {
	ms, second := func(n int) waits { return waits{0, time.Duration(n) * time.Millisecond} }, time.Second
	unread := Attempt{Status: 200, Err: ErrHTML}
	for name, test := range map[string]struct {
		method string
		tokens int // at first
		tries  []try
	}{
		"a success earns a token":             {"GET", 100, []try{{status(200), false, waits{}, 101}}},
		"a full bucket earns nothing":         {"GET", 500, []try{{status(200), false, waits{}, 500}}},
		"so does a response that is final":    {"GET", 100, []try{{status(404), false, waits{}, 101}}},
		"a success refunds its retries":       {"GET", 500, []try{{status(500), true, ms(200), 495}, {status(502), true, ms(400), 490}, {status(200), false, waits{}, 500}}},
		"Max retries":                         {"GET", 500, []try{{status(500), true, ms(200), 495}, {status(500), true, ms(400), 490}, {status(500), true, ms(800), 485}, {status(500), false, waits{}, 485}}},
		"an empty bucket allows no retry":     {"GET", 4, []try{{status(500), false, waits{}, 4}}},
		"the last tokens":                     {"GET", 9, []try{{failure(errReset), true, ms(200), 4}, {failure(errReset), false, waits{}, 4}}},
		"a refusal costs nothing":             {"GET", 0, []try{{status(429), true, ms(200), 0}, {status(429), true, ms(400), 0}, {status(200), false, waits{}, 1}}},
		"a Retry-After is the least":          {"GET", 500, []try{{status(429).after(5 * second), true, waits{5 * second, 5500 * time.Millisecond}, 500}}},
		"it is heeded up to MaxWait":          {"GET", 500, []try{{status(429).after(15 * second), true, waits{15 * second, 16500 * time.Millisecond}, 500}}},
		"a longer one is final":               {"GET", 500, []try{{status(503).after(15*second + 1), false, waits{}, 500}}},
		"a 500 may have one":                  {"GET", 500, []try{{status(500).after(3 * second), true, waits{3 * second, 3300 * time.Millisecond}, 495}}},
		"so is damage":                        {"GET", 500, []try{{unread, true, ms(200), 495}, {status(503), true, ms(400), 490}, {unread, true, ms(800), 485}, {unread, false, waits{}, 485}}},
		"what is permanent is not retried":    {"GET", 500, []try{{failure(tooLarge(1)), false, waits{}, 500}}},
		"a write that left is not":            {"POST", 500, []try{{failure(errReset), false, waits{}, 500}}},
		"nor one that failed":                 {"POST", 500, []try{{status(503).after(second), false, waits{}, 500}}},
		"a write without a connection is":     {"POST", 500, []try{{Attempt{Err: errReset, Unsent: true}, true, ms(200), 495}, {status(200), false, waits{}, 500}}},
		"and one that was refused by a limit": {"POST", 500, []try{{status(429), true, ms(200), 500}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &policy{logger: slog.New(slog.DiscardHandler), tokens: test.tokens}
			r := &Record{Request: request(test.method)}
			playOn(t, p, r, test.tries)
		})
	}
}

// playOn gives the policy one attempt after another.
func playOn(t *testing.T, p *policy, r *Record, tries []try) {
	t.Helper()
	for i, try := range tries {
		r.begin()
		r.Attempt = try.Attempt
		retried := p.shouldRetry(context.WithValue(t.Context(), recordKey{}, r))
		if retried != try.retried || r.wait < try.waits.least || r.wait > try.waits.most || p.tokens != try.tokens {
			t.Errorf("attempt %d: retried %v after %v, %d tokens left; want %+v", i+1, retried, r.wait, p.tokens, try)
		}
	}
}

// The scheduler waits after the refusals of a walk; a failure is retried like that of any call.
func TestThePolicyOfAWalk(t *testing.T) {
	none, first := waits{}, waits{0, usual.MinWait}
	for name, tries := range map[string][]try{
		"refusals do not count":  {{status(429), true, none, 5}, {status(429), true, none, 5}, {status(429), true, none, 5}, {status(500), true, first, 0}},
		"any Retry-After waits":  {{status(429).after(1000 * time.Hour), true, none, 5}},
		"failures end it":        {{status(500), true, first, 0}, {status(500), false, none, 0}},
		"what is permanent does": {{failure(tooLarge(1)), false, none, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Record{Request: request(http.MethodGet)}
			r.Patient = true
			playOn(t, &policy{logger: slog.New(slog.DiscardHandler), tokens: retryCost}, r, tries)
		})
	}
}

func TestNothingIsRetriedOnceTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &policy{logger: slog.New(slog.DiscardHandler), tokens: budgetSize}
	for name, test := range map[string]struct {
		attempt Attempt
		stopped error
	}{
		"a failure":                 {status(500), context.Canceled},
		"a response that is final":  {status(404), nil},
		"the end of the context":    {failure(context.Canceled), nil},
		"a failure for good":        {failure(tooLarge(1)), nil},
		"a reset, not by the error": {failure(io.ErrUnexpectedEOF), context.Canceled},
	} {
		r := &Record{Request: request(http.MethodGet), Attempt: test.attempt}
		if p.shouldRetry(context.WithValue(ctx, recordKey{}, r)) || !errors.Is(r.Stopped, test.stopped) {
			t.Errorf("%s: Stopped is %v", name, r.Stopped)
		}
	}
}

// Clients that were refused together must not come back together.
func TestWaitsAreSpread(t *testing.T) {
	for demanded, most := range map[time.Duration]time.Duration{0: usual.MinWait, 10 * time.Second: 11 * time.Second} {
		waits := map[time.Duration]bool{}
		for range 200 {
			waits[usual.backoff(demanded, 0)] = true
		}
		shortest, longest := slices.Min(slices.Collect(maps.Keys(waits))), slices.Max(slices.Collect(maps.Keys(waits)))
		if len(waits) < 180 || shortest < demanded || longest > most || longest-shortest < (most-demanded)*9/10 {
			t.Errorf("200 waits of at least %v are %d, from %v to %v", demanded, len(waits), shortest, longest)
		}
	}
}

func TestWaitsDoNotOverflow(t *testing.T) {
	for _, retry := range []Retry{
		{MinWait: math.MaxInt64, MaxWait: math.MaxInt64}, {MinWait: time.Nanosecond, MaxWait: 3 * time.Nanosecond}, {MinWait: 1, MaxWait: 1}, usual,
	} {
		for retries := range 2000 {
			for _, demanded := range []time.Duration{0, time.Second, math.MaxInt64} {
				if wait := retry.backoff(demanded, retries); wait < demanded || demanded == 0 && wait > retry.MaxWait {
					t.Fatalf("%+v, retry %d: %v of %v", retry, retries, wait, demanded)
				}
			}
		}
	}
}
