package transport

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// Either clock may be wrong, the service's or this machine's: the shorter of the two
// readings counts, and never less than nothing.
func TestARetryAfterIsReadAsSecondsOrAsADate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		const longest = 1_000_000_000 * time.Second
		for _, test := range []struct {
			text, date string
			want       time.Duration
		}{
			{"", "", 0}, {"0", "", 0}, {"-1", "", 0}, {"soon", "", 0}, {"NaN", "", 0}, {"1.5", "", 1500 * time.Millisecond},
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

// A quota is read in each form in which services announce one; what cannot be read is none.
func TestAnAnnouncedQuotaIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unix := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
		type quota struct {
			limit, left int
			reset       time.Duration
			ok          bool
		}
		for _, test := range []struct {
			header []string // names and values
			want   quota
		}{
			{nil, quota{}},
			{[]string{"RateLimit-Limit", "60", "RateLimit-Remaining", "7", "RateLimit-Reset", "10"}, quota{60, 7, 10 * time.Second, true}},
			{[]string{"RateLimit-Limit", "60, 60;w=10", "RateLimit-Remaining", "0", "RateLimit-Reset", "10"}, quota{60, 0, 10 * time.Second, true}},
			{[]string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "10"}, quota{60, 7, 10 * time.Second, true}},
			{[]string{"X-RateLimit-Remaining", "7", "X-RateLimit-Reset", unix(time.Minute)}, quota{0, 7, time.Minute, true}},
			{[]string{"X-RateLimit-Remaining", "7", "X-RateLimit-Reset", unix(-time.Minute)}, quota{0, 7, 0, true}},
			{[]string{"RateLimit", `"default";r=7;t=10`, "RateLimit-Policy", `"default";q=60;w=10`}, quota{60, 7, 10 * time.Second, true}},
			{[]string{"RateLimit", `"default";r=0;t=10`}, quota{0, 0, 10 * time.Second, true}},
			{[]string{"RateLimit", "limit=60, remaining=7, reset=10"}, quota{60, 7, 10 * time.Second, true}},
			{[]string{"RateLimit-Limit", "60", "RateLimit-Remaining", "7"}, quota{}},
			{[]string{"RateLimit-Remaining", "-7", "RateLimit-Reset", "10"}, quota{}},
			{[]string{"RateLimit-Remaining", "7", "RateLimit-Reset", "1.5"}, quota{}},
			{[]string{"RateLimit-Remaining", "7", "RateLimit-Reset", "99999999999999999999"}, quota{}},
			{[]string{"RateLimit", "none"}, quota{}},
		} {
			header := http.Header{}
			for i := 0; i < len(test.header); i += 2 {
				header.Set(test.header[i], test.header[i+1])
			}
			var got quota
			if got.limit, got.left, got.reset, got.ok = announced(header); got.ok != test.want.ok || got.ok && (got.reset-test.want.reset).Abs() > time.Second {
				t.Errorf("%v: %+v, want %+v", header, got, test.want)
			}
			if got.reset = test.want.reset; test.want.ok && got != test.want {
				t.Errorf("%v: %+v, want %+v", header, got, test.want)
			}
		}
	})
}
