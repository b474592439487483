package transport

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
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

// Either clock may be wrong, the service's or this machine's: the shorter of the two
// readings counts, and never less than nothing.
func TestARetryAfterIsReadAsSecondsOrAsADate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		const longest = 9223372036 * time.Second // of whole seconds in a Duration
		for _, test := range []struct {
			text, date string
			want       time.Duration
		}{
			{"", "", 0}, {"0", "", 0}, {"-1", "", 0}, {"soon", "", 0}, {"1.5", "", 0},
			{"3", "", 3 * time.Second}, {" 3 ", in(time.Hour), 3 * time.Second},
			{"9223372037", "", longest}, {"99999999999999999999", "", longest},
			{in(4 * time.Second), "", 4 * time.Second}, {in(-time.Minute), "", 0}, {"Fri, 31 Dec 9999 23:59:59 GMT", in(0), math.MaxInt64},
			{in(4 * time.Second), in(0), 4 * time.Second},
			{in(time.Hour + 4*time.Second), in(time.Hour), 4 * time.Second},
			{in(4*time.Second - time.Hour), in(-time.Hour), 0},
			{in(4 * time.Second), "Thu, 01 Jan 1970 00:00:00 GMT", 4 * time.Second},
			{in(4 * time.Second), in(time.Minute), 0},
		} {
			if got := retryAfter(http.Header{"Retry-After": {test.text}, "Date": {test.date}}); got != test.want {
				t.Errorf("%q, Date %q: %v, want %v", test.text, test.date, got, test.want)
			}
		}
	})
}
