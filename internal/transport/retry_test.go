package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/decode"
)

var errReset = errors.New("connection reset")

// The default waits.
const minWait, maxWait = 200 * time.Millisecond, 15 * time.Second

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func equal(t rapid.TB, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// attempt is the outcome of an attempt.
type attempt struct {
	resp *http.Response
	err  error
}

func failure(err error) attempt { return attempt{err: err} }

// fails is a transport that always fails.
func fails(*http.Request) (*http.Response, error) { return nil, errReset }

// status returns an attempt with a response.
func status(code int) attempt {
	return attempt{resp: &http.Response{StatusCode: code, Header: http.Header{}, Body: new(Body)}}
}

func classify(method string, a attempt) (Meaning, bool) {
	if a.resp == nil {
		return Classify(method, 0, nil, a.err)
	}
	return Classify(method, a.resp.StatusCode, a.resp.Header, a.err)
}

// after returns the attempt with a Retry-After.
func (a attempt) after(d time.Duration) attempt {
	a.resp.Header.Set("Retry-After", d.String())
	return a
}

// unusable returns the attempt with a response that cannot be used.
func (a attempt) unusable(err error) attempt { a.err = err; return a }

func TestAttemptMeansTheSameForReadsAndWritesAndOnlySomeMayBeRepeated(t *testing.T) {
	for _, test := range []struct {
		name        string
		attempt     attempt
		meaning     Meaning
		read, write bool // may be repeated
	}{
		{"200", status(200), Conclusive, false, false},
		{"403", status(403), Conclusive, false, false},
		{"404 with a wait", status(404).after(time.Second), Conclusive, false, false},
		{"499", status(499), Conclusive, false, false},
		{"408", status(408), Transient, true, false},
		{"429", status(429), RateLimited, true, true},
		{"403 with a wait", status(403).after(time.Second), RateLimited, true, false},
		{"503 with a wait", status(503).after(time.Second), RateLimited, true, false},
		{"503", status(503), Transient, true, false},
		{"500 with a wait", status(500).after(time.Second), Transient, true, false},
		{"a reset", failure(errReset), Transient, true, false},
		{"no connection", failure(&UnsentError{errReset}), Transient, true, true},
		{"a certificate", failure(&UnsentError{&tls.CertificateVerificationError{Err: errReset}}), Permanent, false, false},
		{"no TLS", failure(&UnsentError{tls.RecordHeaderError{}}), Permanent, false, false},
		{"too large", failure(tooLarge(1)), Permanent, false, false},
		{"an encoding", status(200).unusable(ErrEncoding), Permanent, false, false},
		{"a page", status(200).unusable(ErrHTML), Transient, true, false},
		{"an empty body", status(200).unusable(decode.ErrEmpty), Transient, true, false},
		{"a body that is cut", status(200).unusable(fmt.Errorf("not valid JSON: %w", io.ErrUnexpectedEOF)), Transient, true, false},
		{"a body of another shape", status(200).unusable(errors.New("an object does not fit")), Conclusive, false, false},
		{"nothing, as if the goroutine was ended", attempt{}, Conclusive, false, false},
	} {
		for method, want := range map[string]bool{http.MethodGet: test.read, http.MethodPost: test.write} {
			meaning, mayRepeat := classify(method, test.attempt)
			equal(t, method+" "+test.name+": meaning, and may be repeated", []any{test.meaning, want}, []any{meaning, mayRepeat})
		}
	}
	for code := 500; code <= 599; code++ {
		meaning, _ := classify(http.MethodGet, status(code))
		equal(t, "status "+strconv.Itoa(code), Transient, meaning)
	}
}

// Clients that were refused together must not come back together.
func TestBackoffIsSpreadAtRandom(t *testing.T) {
	for _, test := range []struct {
		retries        int
		demanded, most time.Duration
	}{{0, 0, minWait}, {3, 0, 8 * minWait}, {10, 0, maxWait}, {0, 10 * time.Second, 11 * time.Second}, {0, 14900 * time.Millisecond, maxWait}} {
		var waits []time.Duration
		for range 200 {
			waits = append(waits, Backoff(minWait, maxWait, test.retries, test.demanded, rand.Float64()))
		}
		shortest, longest := slices.Min(waits), slices.Max(waits)
		if shortest < test.demanded || longest > test.most || longest-shortest < (test.most-test.demanded)*9/10 {
			t.Errorf("%+v: the waits are from %v to %v", test, shortest, longest)
		}
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := func(name string, least time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(least), math.MaxInt64).Draw(t, name))
		}
		least := wait("least", 1)
		most := wait("most", least)
		demanded := rapid.SampledFrom([]time.Duration{0, time.Second, math.MaxInt64}).Draw(t, "demanded")
		got := Backoff(least, most, rapid.IntRange(0, 2000).Draw(t, "retries"), demanded, rapid.SampledFrom([]float64{0, 0.5, 1 - 0x1p-53}).Draw(t, "random"))
		if got < min(demanded, most) || got > most {
			t.Fatalf("%v to %v: %v of %v", least, most, got, demanded)
		}
	})
}

func TestBudgetIsFullAtFirstAndNeverMoreThanThatNorLessThanNone(t *testing.T) {
	var b Budget
	for _, step := range []struct {
		refund, spend int
		ok            bool
		left          int
	}{{0, 0, true, 500}, {1, 0, true, 500}, {0, 5, true, 495}, {0, 1, true, 494}, {5, 0, true, 499}, {5, 0, true, 500}, {0, 501, false, 500}, {0, 499, true, 1}, {0, 5, false, 1}, {0, 1, true, 0}, {0, 1, false, 0}, {0, 0, true, 0}, {2, 0, true, 2}} {
		b.Spend(-step.refund)
		equal(t, fmt.Sprintf("%+v: ok", step), step.ok, b.Spend(step.spend))
		left := 0
		for b.Spend(1) {
			left++
		}
		b.Spend(-left)
		equal(t, fmt.Sprintf("%+v: tokens", step), step.left, left)
	}
}
