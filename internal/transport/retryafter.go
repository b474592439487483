package transport

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns the wait that a Retry-After header demands, in seconds (also a fraction) or as a
// date, or zero if none can be read. A date counts from the response's own Date or from
// the local clock, whichever gives the shorter wait: either clock may be wrong.
func retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if seconds >= 0 && (err == nil || errors.Is(err, strconv.ErrRange)) { // too large for the type is too long for anyone
		return time.Duration(min(seconds, maxSeconds) * float64(time.Second))
	}
	if until, err := http.ParseTime(text); err == nil {
		return waitUntil(until, header)
	}
	wait, _ := time.ParseDuration(text) // zero if it cannot be read
	return max(0, wait)
}

const maxSeconds = 1_000_000_000 // a Retry-After of more is cut to this

// waitUntil returns how long it is until an instant of the service, by its own clock in the
// Date or by the local one, whichever gives the shorter wait.
func waitUntil(until time.Time, header http.Header) time.Duration {
	wait := time.Until(until) // saturates
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		wait = min(wait, until.Sub(date))
	}
	return max(0, wait)
}

// firstUnixTime is the least number that is an instant, and not a count of seconds.
const firstUnixTime = 900_000_000 // in 1998

// announced returns the limit that a response announces: of limit requests, left more are
// accepted until reset. limit is 0 if it is not said. It reads the fields RateLimit-*,
// X-RateLimit-* and RateLimit (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers).
func announced(header http.Header) (limit, left int, reset time.Duration, ok bool) {
	if header["Ratelimit-Remaining"] == nil && header["X-Ratelimit-Remaining"] == nil && header["Ratelimit"] == nil {
		return 0, 0, 0, false
	}
	said := map[string]string{} // the parameters of a structured field
	for _, each := range strings.FieldsFunc(header.Get("RateLimit")+";"+header.Get("RateLimit-Policy"), func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(each), "=")
		said[name] = cmp.Or(said[name], value)
	}
	number := func(field, parameter, older string) (uint64, error) {
		text, _, _ := strings.Cut(cmp.Or(header.Get("RateLimit-"+field), header.Get("X-RateLimit-"+field), said[parameter], said[older]), ",") // policies may follow
		return strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	}
	most, _ := number("Limit", "q", "limit")
	remaining, noLeft := number("Remaining", "r", "remaining")
	seconds, noReset := number("Reset", "t", "reset")
	if reset = time.Duration(seconds) * time.Second; seconds >= firstUnixTime {
		reset = waitUntil(time.Unix(int64(seconds), 0), header)
	}
	return int(most), int(remaining), reset, noLeft == nil && noReset == nil
}
