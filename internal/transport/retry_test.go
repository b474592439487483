package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var errReset = errors.New("connection reset")

// status returns an attempt with a response.
func status(code int) Attempt { return Attempt{Status: code} }

// after returns the attempt with a Retry-After.
func (a Attempt) after(d time.Duration) Attempt { a.RetryAfter = d; return a }

func failure(err error) Attempt { return Attempt{Err: err} }

func TestAttemptMeansTheSameForReadsAndWritesAndOnlySomeMayBeRepeated(t *testing.T) {
	for _, test := range []struct {
		name        string
		attempt     Attempt
		meaning     meaning
		read, write bool // may be repeated
	}{
		{"200", status(200), conclusive, false, false},
		{"a redirect", status(302), conclusive, false, false},
		{"403", status(403), conclusive, false, false},
		{"404", status(404), conclusive, false, false},
		{"404 with a wait", status(404).after(time.Second), conclusive, false, false},
		{"499", status(499), conclusive, false, false},
		{"408", status(408), transient, true, false},
		{"429", status(429), refused, true, true},
		{"403 with a wait", status(403).after(time.Second), refused, true, false},
		{"503 with a wait", status(503).after(time.Second), refused, true, false},
		{"503", status(503), transient, true, false},
		{"500 with a wait", status(500).after(time.Second), transient, true, false},
		{"a reset", failure(errReset), transient, true, false},
		{"no connection", Attempt{Err: errReset, Unsent: true}, transient, true, true},
		{"a certificate", Attempt{Err: &tls.CertificateVerificationError{Err: errReset}, Unsent: true}, permanent, false, false},
		{"no TLS", Attempt{Err: tls.RecordHeaderError{}, Unsent: true}, permanent, false, false},
		{"too large", failure(tooLarge(1)), permanent, false, false},
		{"an encoding", Attempt{Status: 200, Err: ErrEncoding}, permanent, false, false},
		{"a page", Attempt{Status: 200, Err: ErrHTML}, transient, true, false},
	} {
		for method, want := range map[string]bool{http.MethodGet: test.read, http.MethodPost: test.write} {
			r := &Record{Request: request(method), Attempt: test.attempt}
			if meaning := r.meaning(); meaning != test.meaning || r.mayRepeat(meaning) != want {
				t.Errorf("%s %s: meaning %d, want %d; may be repeated: %t", method, test.name, meaning, test.meaning, !want)
			}
		}
	}
	for code := 500; code <= 599; code++ {
		if a := status(code); a.meaning() != transient {
			t.Errorf("status %d is not transient", code)
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

// A walk's refusals are the scheduler's, and its failures cost a token each.
func TestPolicyOfACallAndOfAWalk(t *testing.T) {
	none, ms, second := waits{}, func(n int) waits { return waits{0, time.Duration(n) * time.Millisecond} }, time.Second
	unsent := Attempt{Err: errReset, Unsent: true}
	for name, test := range map[string]struct {
		method string // WALK is a GET for a walk
		tokens int    // at first
		tries  []try
	}{
		"a success earns a token":          {"GET", 100, []try{{status(200), false, none, 101}}},
		"a full bucket earns nothing":      {"GET", 500, []try{{status(200), false, none, 500}}},
		"a success refunds its retries":    {"GET", 500, []try{{status(500), true, ms(200), 495}, {status(502), true, ms(400), 490}, {status(200), false, none, 500}}},
		"Max retries":                      {"GET", 500, []try{{status(500), true, ms(200), 495}, {status(500), true, ms(400), 490}, {status(500), true, ms(800), 485}, {status(500), false, none, 485}}},
		"the last tokens":                  {"GET", 9, []try{{failure(errReset), true, ms(200), 4}, {failure(errReset), false, none, 4}}},
		"a refusal costs nothing":          {"GET", 0, []try{{status(429), true, none, 0}, {status(429), true, none, 0}, {status(200), false, none, 1}}},
		"a Retry-After is the scheduler's": {"GET", 500, []try{{status(403).after(5 * second), true, none, 500}, {status(503).after(15*second + 1), true, none, 500}}},
		"a 500 may have one":               {"GET", 500, []try{{status(500).after(3 * second), true, waits{3 * second, 3300 * time.Millisecond}, 495}}},
		"a write that failed earns no":     {"POST", 100, []try{{status(503).after(second), false, none, 100}}},
		"a write without a connection":     {"POST", 500, []try{{unsent, true, ms(200), 495}, {status(200), false, none, 500}}},
		"a write that was refused by pace": {"POST", 500, []try{{status(429), true, ms(200), 500}}},
		"a walk's refusals, then a failure": {"WALK", 5, []try{
			{status(429), true, none, 5}, {status(403).after(time.Hour), true, none, 5}, {status(429), true, none, 5},
			{status(429), true, none, 5}, {status(500), true, ms(200), 4},
		}},
		"a walk's failure that names a wait": {"WALK", 5, []try{{status(502).after(10 * time.Minute), true, waits{usual.MaxWait, usual.MaxWait * 11 / 10}, 4}}},
		"a walk's failures":                  {"WALK", 5, []try{{status(500), true, ms(200), 4}, {status(500), true, ms(400), 3}, {status(200), false, none, 5}}},
		"a walk's failure that is for good":  {"WALK", 5, []try{{failure(tooLarge(1)), false, none, 5}}},
	} {
		p, r := &policy{logger: slog.New(slog.DiscardHandler), tokens: test.tokens}, &Record{Request: request(test.method)}
		if test.method == "WALK" {
			r.Method, r.Patient = http.MethodGet, true
		}
		for i, try := range test.tries {
			r.begin()
			r.Attempt = try.Attempt
			retried := p.shouldRetry(context.WithValue(t.Context(), recordKey{}, r))
			if retried != try.retried || r.wait < try.waits.least || r.wait > try.waits.most || p.tokens != try.tokens {
				t.Errorf("%s, attempt %d: retried %v after %v, %d tokens left; want %+v", name, i+1, retried, r.wait, p.tokens, try)
			}
		}
	}
}

func TestPolicyRetriesNothingOnceTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &policy{logger: slog.New(slog.DiscardHandler), tokens: budgetSize}
	for name, test := range map[string]struct {
		attempt Attempt
		stopped error
	}{
		"a failure":                  {status(500), context.Canceled},
		"a reset":                    {failure(errReset), context.Canceled},
		"a conclusive response":      {status(404), nil},
		"the end of the context":     {failure(context.Canceled), nil},
		"a failure that is for good": {failure(tooLarge(1)), nil},
	} {
		r := &Record{Request: request(http.MethodGet), Attempt: test.attempt}
		if p.shouldRetry(context.WithValue(ctx, recordKey{}, r)) || !errors.Is(r.Stopped, test.stopped) {
			t.Errorf("%s: Stopped is %v", name, r.Stopped)
		}
	}
}

// Clients that were refused together must not come back together.
func TestBackoffIsSpreadAtRandom(t *testing.T) {
	for demanded, most := range map[time.Duration]time.Duration{0: usual.MinWait, 10 * time.Second: 11 * time.Second} {
		shortest, longest := time.Duration(math.MaxInt64), time.Duration(0)
		for range 200 {
			wait := usual.backoff(demanded, 0)
			shortest, longest = min(shortest, wait), max(longest, wait)
		}
		if shortest < demanded || longest > most || longest-shortest < (most-demanded)*9/10 {
			t.Errorf("200 waits of at least %v are from %v to %v", demanded, shortest, longest)
		}
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := func(name string, least time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(least), math.MaxInt64).Draw(t, name))
		}
		retry := Retry{MinWait: wait("MinWait", 1)}
		retry.MaxWait = wait("MaxWait", retry.MinWait)
		demanded := rapid.SampledFrom([]time.Duration{0, time.Second, math.MaxInt64}).Draw(t, "demanded")
		got := retry.backoff(demanded, rapid.IntRange(0, 2000).Draw(t, "retries"))
		if got < demanded || demanded == 0 && got > retry.MaxWait {
			t.Fatalf("%+v: %v of %v", retry, got, demanded)
		}
	})
}
