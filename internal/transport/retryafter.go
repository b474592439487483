package transport

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns the wait that a Retry-After header demands, in seconds or as a
// date, or zero if none can be read. A date counts from the response's own Date or from
// the local clock, whichever gives the shorter wait: either clock may be wrong.
func retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	seconds, err := strconv.ParseUint(text, 10, 63)
	if err == nil || errors.Is(err, strconv.ErrRange) { // too large for the type is too long for anyone
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return waitUntil(until, header)
}

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

// quotaFields are the fields of a limit, what is left of it and until when, as http.Header
// spells them.
var quotaFields = [][3]string{
	{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"},
	{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
}

// announced returns the quota that a response announces: of limit requests, left more are
// accepted until reset. limit is 0 if it is not said. It reads the fields RateLimit-*,
// X-RateLimit-* and RateLimit (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers).
func announced(header http.Header) (limit, left int, reset time.Duration, ok bool) {
	for _, names := range quotaFields {
		if header[names[1]] == nil {
			continue
		}
		if limit, left, reset, ok = quotaOf(header, header.Get(names[0]), header.Get(names[1]), header.Get(names[2])); ok {
			return limit, left, reset, ok
		}
	}
	if header["Ratelimit"] == nil {
		return 0, 0, 0, false
	}
	said := parameters(header.Get("Ratelimit") + ";" + header.Get("Ratelimit-Policy"))
	return quotaOf(header, cmp.Or(said["q"], said["limit"]), cmp.Or(said["r"], said["remaining"]), cmp.Or(said["t"], said["reset"]))
}

// quotaOf reads the three values of a quota. ok is false unless the last two are numbers.
func quotaOf(header http.Header, limit, left, reset string) (int, int, time.Duration, bool) {
	limit, _, _ = strings.Cut(limit, ",") // policies may follow
	most, _ := strconv.ParseUint(strings.TrimSpace(limit), 10, 31)
	remaining, noLeft := strconv.ParseUint(strings.TrimSpace(left), 10, 31)
	seconds, noReset := strconv.ParseUint(strings.TrimSpace(reset), 10, 32)
	if noLeft != nil || noReset != nil {
		return 0, 0, 0, false
	}
	wait := time.Duration(seconds) * time.Second
	if seconds >= firstUnixTime {
		wait = waitUntil(time.Unix(int64(seconds), 0), header)
	}
	return int(most), int(remaining), wait, true
}

// parameters returns the first value of each name in a structured field.
func parameters(field string) map[string]string {
	values := map[string]string{}
	for _, each := range strings.FieldsFunc(field, func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(each), "=")
		if _, known := values[name]; !known {
			values[name] = value
		}
	}
	return values
}
