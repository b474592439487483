package transport

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/pace"
)

// Meaning is what an attempt shows, whether it was a read or a write.
type Meaning int

const (
	Conclusive  Meaning = iota + 1 // a response that another attempt would not change
	RateLimited                    // the service refuses the request because of the pace
	Transient                      // a failure that another attempt may not meet
	Permanent                      // a failure that every attempt would meet
)

// Classify returns what an attempt means, and whether its request may be sent again. A write
// may be only if the attempt had no effect; a read is a GET. Without a complete response the status
// is zero. With both a status and an error, the response was received and cannot be used.
func Classify(method string, status int, header http.Header, err error) (meaning Meaning, mayRepeat bool) {
	isRead := method == http.MethodGet
	switch _, isUnsent := errors.AsType[*UnsentError](err); {
	case err != nil && isPermanent(err):
		return Permanent, false
	case err != nil && (status == 0 || isDamaged(err)):
		return Transient, isRead || isUnsent
	case err != nil || status == 0:
		return Conclusive, false
	case status == http.StatusTooManyRequests:
		return RateLimited, true
	case (status == http.StatusForbidden || status == http.StatusServiceUnavailable) && RetryAfter(header) > 0:
		return RateLimited, isRead
	case IsTransient(status):
		return Transient, isRead
	}
	return Conclusive, false
}

// isDamaged reports whether a response was damaged on its way: its body is empty or ends too early,
// or it is the HTML page of a gateway.
func isDamaged(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, decode.ErrEmpty) || errors.Is(err, ErrHTML)
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

// Report returns what the pace is to learn from the response of an attempt with that meaning: how it
// went, and for how long it holds the route. Without a response the status is zero.
func Report(meaning Meaning, status int, header http.Header) (pace.Signal, pace.Hold) {
	outcome := pace.Accepted
	switch {
	case status == 0:
		return pace.Unclear, pace.Hold{}
	case status == http.StatusServiceUnavailable:
		outcome = pace.Unavailable
	case meaning == RateLimited:
		outcome = pace.Refused
	case meaning == Transient:
		outcome = pace.Unclear
	}
	return outcome, hold(header, outcome)
}

// maxHold is the longest time that a response holds its route. A service may name a wrong time, so a
// request is sent at least once an hour.
const maxHold = time.Hour

// maxGuess is the longest wait for a reset that a refusal names without saying that its limit is used up. The
// reset may be that of another limit.
const maxGuess = time.Minute

// hold returns for how long no request of the route may follow a response: until the
// Retry-After of a refusal has passed, and while an announced limit is used up. If both are
// present, the shorter one counts, and of several limits the one that is used up for longest. If a
// status 429 names neither, its first reset counts. A walk leaves a twelfth of an announced limit to
// others.
func hold(header http.Header, outcome pace.Signal) pace.Hold {
	var named, usedUp, scarce, first time.Duration
	isRefusal := outcome == pace.Refused || outcome == pace.Unavailable
	if isRefusal {
		named = min(RetryAfter(header), maxHold)
	}
	for _, q := range announced(header) {
		reset := min(q.reset, maxHold)
		first = min(cmp.Or(first, reset), reset)
		switch {
		case q.reset > maxHold && !isRefusal:
		case q.left == 0:
			usedUp = max(usedUp, reset)
		case q.left > 0 && q.left <= q.limit/12:
			scarce = max(scarce, reset)
		}
	}
	switch {
	case usedUp > 0 && (named == 0 || usedUp < named):
		named = usedUp
	case named == 0 && outcome == pace.Refused:
		named = min(first, maxGuess)
	}
	return pace.Hold{Route: named, Walks: max(named, scarce)}
}

// RetryAfter returns the wait that a Retry-After header demands, or zero if none can be read.
func RetryAfter(header http.Header) time.Duration {
	wait, _ := parseWait(header.Get("Retry-After"), header)
	return wait
}

// quota is what a response announces: of limit requests, left more are accepted until reset
// from now. limit is zero if it is not announced, and left is below zero.
type quota struct {
	limit, left float64
	reset       time.Duration
}

// announced reads the quotas of the fields RateLimit-*, X-RateLimit-* or RateLimit
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers) that say until when they count.
// The first four fields belong to the first quota of the last.
func announced(header http.Header) (quotas []quota) {
	if header["Ratelimit-Reset"] == nil && header["X-Ratelimit-Reset"] == nil && header["Ratelimit"] == nil {
		return nil
	}
	policies := parameters(header["Ratelimit-Policy"])
	for i, own := range parameters(header["Ratelimit"]) {
		policy := policies[max(0, slices.IndexFunc(policies, func(p map[string]string) bool { return p[""] == own[""] }))]
		field := func(name, parameter, older string) string {
			text := cmp.Or(own[parameter], own[older], policy[parameter])
			if i == 0 {
				text = cmp.Or(header.Get("RateLimit-"+name), header.Get("X-RateLimit-"+name), text)
			}
			return text
		}
		number := func(text string, otherwise float64) float64 {
			text, _, _ = strings.Cut(text, ",") // others may follow
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil || !(n >= 0) {
				return otherwise
			}
			return math.Floor(n)
		}
		if reset, ok := parseWait(field("Reset", "t", "reset"), header); ok {
			quotas = append(quotas, quota{
				number(field("Limit", "q", "limit"), 0), number(field("Remaining", "r", "remaining"), -1), cmp.Or(reset, time.Second), // 0 may be less than a second
			})
		}
	}
	return quotas
}

// parameters returns those of each quota of a list, with its name as "". A quota begins where a name, or in
// older drafts a parameter, comes again.
func parameters(fields []string) []map[string]string {
	last := map[string]string{}
	all := []map[string]string{last}
	for part := range strings.FieldsFuncSeq(strings.Join(fields, ","), func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, isParameter := strings.Cut(strings.TrimSpace(part), "=")
		if !isParameter {
			name, value = "", name
		}
		if _, isNext := last[name]; isNext {
			last = map[string]string{}
			all = append(all, last)
		}
		last[name] = value
	}
	return all
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
