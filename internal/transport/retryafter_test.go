package transport

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func FuzzRetryAfter(f *testing.F) {
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	for _, seed := range []string{"", "0", "5", " 7 ", "-1", "1.5", "99999999999999999999", "9223372036854775807", date, "Mon, 02 Jan 9999 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", "Mon Jan  2 15:04:05 2006"} {
		f.Add(seed, date)
		f.Add(seed, "no date")
	}
	f.Fuzz(func(t *testing.T, text, date string) {
		header := http.Header{"Retry-After": {text}, "Date": {date}}
		called := time.Now()
		wait := retryAfter(header)
		if wait < 0 {
			t.Errorf("it waits %v", wait)
		}
		if seconds, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32); err == nil && wait != time.Duration(seconds)*time.Second {
			t.Errorf("%d seconds are %v", seconds, wait)
		}
		until, err := http.ParseTime(strings.TrimSpace(text))
		if err != nil {
			return
		}
		if wait > max(0, until.Sub(called)) {
			t.Errorf("it waits %v until %v", wait, until)
		}
		if now, err := http.ParseTime(date); err == nil && wait > max(0, until.Sub(now)) {
			t.Errorf("it waits %v from %v until %v", wait, now, until)
		}
	})
}
