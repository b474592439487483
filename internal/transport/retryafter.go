package transport

import (
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
	wait := time.Until(until) // saturates
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		wait = min(wait, until.Sub(date))
	}
	return max(0, wait)
}

// announced returns what the RateLimit headers say: how many requests the service
// accepts in all and still, and for how long that counts. ok is false unless all three
// can be read.
func announced(header http.Header) (limit, left int, reset time.Duration, ok bool) {
	var values [3]int
	for i, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		n, err := strconv.ParseUint(strings.TrimSpace(header.Get(name)), 10, 31)
		if err != nil {
			return 0, 0, 0, false
		}
		values[i] = int(n)
	}
	return values[0], values[1], time.Duration(values[2]) * time.Second, true
}
