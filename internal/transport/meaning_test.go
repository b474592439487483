package transport

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/internal/pace"
)

func TestWriteMayHaveTakenEffectUnlessItWasNotSentOrRejected(t *testing.T) {
	const post = http.MethodPost
	for status := 100; status <= 999; status++ {
		isRejected := status >= 400 && status <= 499 && status != 408 && status != 499
		check.Equal(t, fmt.Sprintf("status %d: may have taken effect", status), !isRejected, MayHaveTakenEffect(post, status, nil))
	}
	check.Equal(t, "lost", true, MayHaveTakenEffect(post, 0, errReset))
	check.Equal(t, "without a connection", false, MayHaveTakenEffect(post, 0, &UnsentError{errReset}))
	check.Equal(t, "a read", false, MayHaveTakenEffect(http.MethodGet, 0, errReset))
}

// Either clock may be wrong, the service's or this machine's: the shorter of the two
// readings counts, and never less than nothing.
func TestARetryAfterIsReadInEachFormThatHasOneMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		const s, centuries = time.Second, 200 * 365 * 24 * time.Hour
		for _, test := range []struct {
			text, date string
			want       time.Duration
		}{
			{"", "", 0}, {"0", "", 0}, {"-1", "", 0}, {"soon", "", 0},
			{"3", "", 3 * s}, {" 3 ", in(time.Hour), 3 * s}, {"1.93", "", 1930 * time.Millisecond},
			{"1s", "", s}, {"1000ms", "", s}, {"1, 1", "", s}, {"2,9", "", 2 * s},
			{"9223372037", "", centuries}, {"99999999999999999999", "", centuries},
			{"1e300", "", centuries}, {"0x1p62", "", centuries}, {"9223372036854775807", "", centuries}, {"-1e300", "", 0}, {"NaN", "", 0}, {"-1s", "", 0},
			{in(4 * s), "", 4 * s}, {in(-time.Minute), "", 0}, {"Fri, 31 Dec 9999 23:59:59 GMT", in(0), centuries},
			{time.Now().Add(4 * s).UTC().Format(time.RFC1123Z), "", 4 * s},
			{time.Now().Add(4 * s).Format(time.RFC3339), "", 4 * s}, {time.Now().Add(4500 * time.Millisecond).Format(time.RFC3339Nano), "", 4500 * time.Millisecond},
			{strconv.FormatInt(time.Now().Add(4*s).Unix(), 10), "", 4 * s}, {strconv.FormatInt(time.Now().Add(4*s).UnixMilli(), 10), "", 4 * s},
			{in(4 * s), in(0), 4 * s}, {in(time.Hour + 4*s), in(time.Hour), 4 * s}, {in(4*s - time.Hour), in(-time.Hour), 0},
			{in(4 * s), "Thu, 01 Jan 1970 00:00:00 GMT", 4 * s}, {in(4 * s), in(time.Minute), 0},
		} {
			got := RetryAfter(http.Header{"Retry-After": {test.text}, "Date": {test.date}})
			check.Equal(t, fmt.Sprintf("%q, Date %q", test.text, test.date), test.want, min(got, centuries))
		}
	})
}

func FuzzAWaitIsNeverNegative(f *testing.F) {
	f.Add("1, 1", "Fri, 31 Dec 9999 23:59:59 GMT")
	f.Add("9223372036854775807", "2026-01-02T03:04:05+01:00")
	f.Fuzz(func(t *testing.T, text, date string) {
		header := http.Header{"Retry-After": {text}, "Date": {date}, "Ratelimit-Remaining": {date}, "Ratelimit-Reset": {text}}
		check.Equal(t, "below zero", time.Duration(0), min(0, RetryAfter(header)))
		for _, outcome := range []pace.Signal{pace.Accepted, pace.Refused, pace.Unavailable} {
			if hold := hold(header, outcome); hold.Route < 0 || hold.Walks < hold.Route || hold.Walks > time.Hour {
				t.Errorf("%+v", hold)
			}
		}
	})
}

// A quota is read in each form in which services announce one; what cannot be read is none.
func TestAnAnnouncedQuotaIsReadInEachForm(t *testing.T) {
	for _, test := range []struct {
		header string // names and values
		want   []quota
	}{
		{"", nil},
		{"RateLimit-Limit: 60; RateLimit-Remaining: 7; RateLimit-Reset: 10", []quota{{60, 7, 10 * time.Second}}},
		{"RateLimit-Limit: 60, 60|w=10; RateLimit-Remaining: 0; RateLimit-Reset: 0", []quota{{60, 0, time.Second}}},
		{"X-RateLimit-Limit: 60; X-RateLimit-Remaining: 7.5; X-RateLimit-Reset: 1.5", []quota{{60, 7, 1500 * time.Millisecond}}},
		{`RateLimit: "default"|r=7|t=10; RateLimit-Policy: "default"|q=60|w=10`, []quota{{60, 7, 10 * time.Second}}},
		{"RateLimit: limit=60, remaining=7, reset=10", []quota{{60, 7, 10 * time.Second}}},
		{`RateLimit: "day"|r=42|t=400, "burst"|r=0|t=3; RateLimit-Policy: "burst"|q=10|w=5, "day"|q=50|w=864`, []quota{{50, 42, 400 * time.Second}, {10, 0, 3 * time.Second}}},
		{`RateLimit: limit=50, remaining=42, reset=400, limit=10, remaining=0, reset=3`, []quota{{50, 42, 400 * time.Second}, {10, 0, 3 * time.Second}}},
		{`X-RateLimit-Remaining: 42; X-RateLimit-Reset: 400; RateLimit: "day", "burst"|r=0|t=3`, []quota{{0, 42, 400 * time.Second}, {0, 0, 3 * time.Second}}},
		{`RateLimit: "day"|r=42, "burst"|r=0|t=3`, []quota{{0, 0, 3 * time.Second}}},
		{"X-RateLimit-Reset: 2", []quota{{0, -1, 2 * time.Second}}},
		{"RateLimit-Remaining: -7; RateLimit-Reset: 10", []quota{{0, -1, 10 * time.Second}}},
		{"RateLimit-Remaining: NaN; RateLimit-Reset: 10", []quota{{0, -1, 10 * time.Second}}},
		{"RateLimit-Limit: 60; RateLimit-Remaining: 7", nil},
		{"RateLimit-Remaining: 7; RateLimit-Reset: soon", nil},
		{"RateLimit: none", nil},
	} {
		header := http.Header{}
		for field := range strings.SplitSeq(test.header, "; ") {
			name, value, _ := strings.Cut(field, ": ")
			header.Set(name, strings.ReplaceAll(value, "|", ";"))
		}
		check.Equal(t, fmt.Sprint(header), test.want, announced(header), cmp.AllowUnexported(quota{}))
	}
}

func TestAResponseHoldsItsRoute(t *testing.T) {
	const s, accepted, refused, unavailable = time.Second, pace.Accepted, pace.Refused, pace.Unavailable
	for name, test := range map[string]struct {
		remaining, reset string
		retryAfter       time.Duration
		outcome          pace.Signal
		want             pace.Hold
	}{
		"no word of a limit":                    {"", "", 0, accepted, pace.Hold{}},
		"a Retry-After":                         {"", "", 9 * s, refused, pace.Hold{Route: 9 * s, Walks: 9 * s}},
		"one of a success":                      {"", "", 9 * s, accepted, pace.Hold{}},
		"one of a day":                          {"", "", 24 * time.Hour, refused, pace.Hold{Route: time.Hour, Walks: time.Hour}},
		"a limit that is used up":               {"0", "9", 0, accepted, pace.Hold{Route: 9 * s, Walks: 9 * s}},
		"a twelfth of it is left":               {"5", "9", 0, accepted, pace.Hold{Walks: 9 * s}},
		"more is left":                          {"6", "9", 0, accepted, pace.Hold{}},
		"a Retry-After before the reset":        {"0", "3600", s, refused, pace.Hold{Route: s, Walks: s}},
		"a reset before the Retry-After":        {"0", "9", 3600 * s, refused, pace.Hold{Route: 9 * s, Walks: 9 * s}},
		"another limit refuses":                 {"5", "9", 20 * s, refused, pace.Hold{Route: 20 * s, Walks: 20 * s}},
		"a reset in a day, and nothing refused": {"0", "86400", 0, accepted, pace.Hold{}},
		"a reset in a day, and it is refused":   {"0", "86400", 0, refused, pace.Hold{Route: time.Hour, Walks: time.Hour}},
		"a 503 that names a reset alone":        {"", "9", 0, unavailable, pace.Hold{}},
		"a 429 that does":                       {"", "9", 0, refused, pace.Hold{Route: 9 * s, Walks: 9 * s}},
		"one that resets in an hour":            {"56", "3600", 0, refused, pace.Hold{Route: 60 * s, Walks: 60 * s}},
		"one that leaves few until then":        {"5", "3600", 0, refused, pace.Hold{Route: 60 * s, Walks: 3600 * s}},
		"the first reset of a 429":              {"56, 40", `9;RateLimit;"a";r=1;t=30, "b";r=1;t=3`, 0, refused, pace.Hold{Route: 3 * s, Walks: 3 * s}},
		"a second limit that is used up":        {"56", `9;RateLimit;"a", "b";r=0;t=3`, 0, accepted, pace.Hold{Route: 3 * s, Walks: 3 * s}},
		"two that are used up":                  {"0", `9;RateLimit;"a", "b";r=0;t=3`, 0, accepted, pace.Hold{Route: 9 * s, Walks: 9 * s}},
		"few left of two":                       {"5", `9;RateLimit;"a", "b";q=60;r=5;t=3`, 0, accepted, pace.Hold{Walks: 9 * s}},
		"one used up, few left of another":      {"5", `9;RateLimit;"a", "b";r=0;t=3`, 0, accepted, pace.Hold{Route: 3 * s, Walks: 9 * s}},
	} {
		header := http.Header{"Retry-After": {test.retryAfter.String()}}
		if test.reset != "" {
			reset, others, _ := strings.Cut(test.reset, ";RateLimit;")
			header["Ratelimit-Limit"], header["Ratelimit-Reset"], header["Ratelimit"] = []string{"60"}, []string{reset}, []string{others}
			if test.remaining != "" {
				header["Ratelimit-Remaining"] = []string{test.remaining}
			}
		}
		check.Equal(t, name, test.want, hold(header, test.outcome))
	}
}
