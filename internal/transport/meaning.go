package transport

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// Meaning is what an attempt shows, whether it was a read or a write.
type Meaning int

const (
	Conclusive Meaning = iota + 1 // a response that another attempt would not change
	Refused                       // the service refuses the request because of the pace
	Transient                     // a failure that another attempt may not meet
	Permanent                     // a failure that every attempt would meet
)

// Classify returns what an attempt means, and whether its request may be sent again. A write
// may be only if the attempt had no effect; a read is a GET. With both a response and an error,
// the response was received and cannot be used.
func Classify(method string, resp *http.Response, err error) (meaning Meaning, mayRepeat bool) {
	isRead := method == http.MethodGet
	switch _, isUnsent := errors.AsType[*UnsentError](err); {
	case err != nil && isPermanent(err):
		return Permanent, false
	case err != nil && (resp == nil || isDamaged(err)):
		return Transient, isRead || isUnsent
	case err != nil || resp == nil:
		return Conclusive, false
	}
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests:
		return Refused, true
	case (status == http.StatusForbidden || status == http.StatusServiceUnavailable) && RetryAfter(resp.Header) > 0:
		return Refused, isRead
	case IsTransient(status):
		return Transient, isRead
	}
	return Conclusive, false
}

// isDamaged reports whether a response was damaged on its way: its body is empty or ends too early,
// or it is the HTML page of a gateway.
func isDamaged(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrEmpty) || errors.Is(err, ErrHTML)
}

// IsTransient reports whether a status is that of a transient failure.
func IsTransient(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// isPermanent reports whether every attempt would fail with this error.
func isPermanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrEncoding) || IsPlainServer(err)
}

// IsPlainServer reports whether the other side of a TLS handshake does not speak
// TLS.
func IsPlainServer(err error) bool {
	_, isPlain := errors.AsType[tls.RecordHeaderError](err)
	return isPlain
}

// statusClientClosed is the status with which nginx notes a client that did not wait.
const statusClientClosed = 499

// MayHaveTakenEffect reports whether an attempt that ended so is a write that may have taken
// effect, although no response confirms it. A write has not taken effect if it certainly was
// not sent, or if the status is 4xx. The statuses 408 and 499 are exceptions: they mean that a
// server or proxy stopped waiting.
func MayHaveTakenEffect(method string, status int, err error) bool {
	_, isUnsent := errors.AsType[*UnsentError](err)
	isRejected := status >= 400 && status <= 499 && status != http.StatusRequestTimeout && status != statusClientClosed
	return method != http.MethodGet && !isUnsent && !isRejected
}

// Report returns what the pace is to learn from an attempt: how it went, and for how long its
// response holds the route.
func Report(method string, resp *http.Response, err error) (pace.Outcome, pace.Hold) {
	meaning, _ := Classify(method, resp, err)
	outcome := pace.Accepted
	switch {
	case resp == nil:
		return pace.Unclear, pace.Hold{}
	case resp.StatusCode == http.StatusServiceUnavailable:
		outcome = pace.Unavailable
	case meaning == Refused:
		outcome = pace.Refused
	case meaning == Transient:
		outcome = pace.Unclear
	}
	return outcome, hold(resp.Header, outcome == pace.Refused || outcome == pace.Unavailable)
}

// maxHold is the longest time that a response holds its route. A service may name a wrong time, so a
// request is sent at least once an hour.
const maxHold = time.Hour

// hold returns for how long no request of the route may follow a response: until the
// Retry-After of a refusal has passed, and while an announced limit is used up. If both are
// present, the shorter one counts. A walk leaves a twelfth of an announced limit to others.
func hold(header http.Header, isRefusal bool) pace.Hold {
	var named time.Duration
	if isRefusal {
		named = min(RetryAfter(header), maxHold)
	}
	q, ok := announced(header)
	reset := min(q.reset, maxHold)
	switch {
	case !ok || q.reset > maxHold && !isRefusal:
	case named > 0 && (q.left > 0 || named < reset):
	case q.left == 0:
		return pace.Hold{Route: reset, Walks: reset}
	case q.left <= q.limit/12:
		return pace.Hold{Walks: reset}
	}
	return pace.Hold{Route: named, Walks: named}
}

// RetryAfter returns the wait that a Retry-After header demands, or zero if none can be read.
func RetryAfter(header http.Header) time.Duration {
	wait, _ := parseWait(header.Get("Retry-After"), header)
	return wait
}

// quota is what a response announces: of limit requests, left more are accepted until reset
// from now. limit is zero if it is not announced.
type quota struct {
	limit, left float64
	reset       time.Duration
}

// announced reads the quota of the fields RateLimit-*, X-RateLimit-* or RateLimit
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers). Of several quotas
// it reads the first. It returns false unless a response says what is left, and until when.
func announced(header http.Header) (q quota, ok bool) {
	if header["Ratelimit-Remaining"] == nil && header["X-Ratelimit-Remaining"] == nil && header["Ratelimit"] == nil {
		return quota{}, false
	}
	parameters := map[string]string{}
	for _, each := range strings.FieldsFunc(header.Get("RateLimit")+";"+header.Get("RateLimit-Policy"), func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(each), "=")
		parameters[name] = cmp.Or(parameters[name], value)
	}
	field := func(name, parameter, older string) string {
		return cmp.Or(header.Get("RateLimit-"+name), header.Get("X-RateLimit-"+name), parameters[parameter], parameters[older])
	}
	number := func(text string) (float64, bool) {
		text, _, _ = strings.Cut(text, ",") // others may follow
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return n, err == nil && n >= 0
	}
	q.limit, _ = number(field("Limit", "q", "limit"))
	left, isLeft := number(field("Remaining", "r", "remaining"))
	reset, isReset := parseWait(field("Reset", "t", "reset"), header)
	q.left, q.reset = math.Floor(left), cmp.Or(reset, time.Second) // 0 may be less than a second
	return q, isLeft && isReset
}

const (
	firstUnixTime  = 900_000_000 // seconds: at least this is an instant since 1998, and not a wait
	firstUnixMilli = 1000 * firstUnixTime
	lastUnixMilli  = 10_000 * firstUnixMilli // keeps what follows within its type
)

// parseWait reads a wait from now in each form that has one meaning: seconds, perhaps with a
// fraction or a unit, a Unix time in seconds or milliseconds, and a date. If the text is a
// list, the first entry counts.
func parseWait(text string, header http.Header) (wait time.Duration, ok bool) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	switch isNumber := err == nil || errors.Is(err, strconv.ErrRange); {
	case isNumber && n >= firstUnixMilli:
		return waitUntil(time.UnixMilli(int64(min(n, lastUnixMilli))), header), true
	case isNumber && n >= firstUnixTime:
		return waitUntil(time.UnixMilli(int64(1000*n)), header), true
	case isNumber && n >= 0:
		return time.Duration(n * float64(time.Second)), true
	}
	if wait, err := time.ParseDuration(text); err == nil && wait >= 0 {
		return wait, true
	}
	if until, err := http.ParseTime(text); err == nil {
		return waitUntil(until, header), true
	}
	for _, layout := range []string{time.RFC1123Z, time.RFC3339} {
		if until, err := time.Parse(layout, text); err == nil {
			return waitUntil(until, header), true
		}
	}
	if first, _, isList := strings.Cut(text, ","); isList {
		return parseWait(first, header)
	}
	return 0, false
}

// waitUntil returns how long it is until an instant of the service, by its own clock in the
// Date or by the local one, whichever gives the shorter wait: either clock may be wrong.
func waitUntil(until time.Time, header http.Header) time.Duration {
	wait := time.Until(until) // saturates
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		wait = min(wait, until.Sub(date))
	}
	return max(0, wait)
}
