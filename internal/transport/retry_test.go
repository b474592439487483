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

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/decode"
)

var errReset = errors.New("connection reset")

// The default waits.
const minWait, maxWait = 200 * time.Millisecond, 15 * time.Second

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// fails is a transport that always fails.
func fails(*http.Request) (*http.Response, error) { return nil, errReset }

func TestAttemptMeansTheSameForReadsAndWritesAndOnlySomeMayBeRepeated(t *testing.T) {
	for _, test := range []struct {
		name        string
		status      int    // zero if there is no response
		retryAfter  string // its header
		err         error
		meaning     Meaning
		read, write bool // may be repeated
	}{
		{"200", 200, "", nil, Conclusive, false, false},
		{"403", 403, "", nil, Conclusive, false, false},
		{"404 with a wait", 404, "1", nil, Conclusive, false, false},
		{"499", 499, "", nil, Conclusive, false, false},
		{"408", 408, "", nil, Transient, true, false},
		{"429", 429, "", nil, RateLimited, true, true},
		{"403 with a wait", 403, "1", nil, RateLimited, true, false},
		{"503 with a wait", 503, "1", nil, RateLimited, true, false},
		{"503", 503, "", nil, Transient, true, false},
		{"500 with a wait", 500, "1", nil, Transient, true, false},
		{"a reset", 0, "", errReset, Transient, true, false},
		{"no connection", 0, "", &UnsentError{errReset}, Transient, true, true},
		{"a certificate", 0, "", &UnsentError{&tls.CertificateVerificationError{Err: errReset}}, Permanent, false, false},
		{"no TLS", 0, "", &UnsentError{tls.RecordHeaderError{}}, Permanent, false, false},
		{"too large", 0, "", tooLarge(1), Permanent, false, false},
		{"an encoding", 200, "", ErrEncoding, Permanent, false, false},
		{"a page", 200, "", ErrHTML, Transient, true, false},
		{"an empty body", 200, "", decode.ErrEmpty, Transient, true, false},
		{"a body that is cut", 200, "", fmt.Errorf("not valid JSON: %w", io.ErrUnexpectedEOF), Transient, true, false},
		{"a body of another shape", 200, "", errors.New("an object does not fit"), Conclusive, false, false},
		{"nothing, as if the goroutine was ended", 0, "", nil, Conclusive, false, false},
	} {
		for method, want := range map[string]bool{http.MethodGet: test.read, http.MethodPost: test.write} {
			meaning, mayRepeat := Classify(method, test.status, http.Header{"Retry-After": {test.retryAfter}}, test.err)
			check.Equal(t, method+" "+test.name+": meaning, and may be repeated", []any{test.meaning, want}, []any{meaning, mayRepeat})
		}
	}
	for code := 500; code <= 599; code++ {
		meaning, _ := Classify(http.MethodGet, code, nil, nil)
		check.Equal(t, "status "+strconv.Itoa(code), Transient, meaning)
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
		check.Equal(t, fmt.Sprintf("%+v: ok", step), step.ok, b.Spend(step.spend))
		left := 0
		for b.Spend(1) {
			left++
		}
		b.Spend(-left)
		check.Equal(t, fmt.Sprintf("%+v: tokens", step), step.left, left)
	}
}
