package horseracingtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// statuses sends one request at each of the offsets from now, in ascending
// order, and returns "." for each that was accepted and "x" for each that was not.
func statuses(t *testing.T, s *horseracingtest.Server, offsets ...time.Duration) string {
	t.Helper()
	var b strings.Builder
	at := time.Duration(0)
	for _, offset := range offsets {
		s.Advance(offset - at)
		at = offset
		switch response, body := do(t, s, newRequest(t, s, "GET", "/api/v1/missions", "")); response.StatusCode {
		case http.StatusOK:
			b.WriteByte('.')
		case http.StatusTooManyRequests:
			b.WriteByte('x')
		default:
			t.Fatalf("status %d: %s", response.StatusCode, body)
		}
	}
	return b.String()
}

func millis(ms ...int) []time.Duration {
	offsets := make([]time.Duration, len(ms))
	for i := range ms {
		offsets[i] = time.Duration(ms[i]) * time.Millisecond
	}
	return offsets
}

func TestEachKindOfLimitAcceptsWhatItAllowsAndRefusesTheRest(t *testing.T) {
	type limit = horseracingtest.RequestLimit
	for _, test := range []struct {
		name   string
		limits []limit
		at     []time.Duration
		want   string
	}{
		{"bucket", []limit{{PerSecond: 2}}, millis(0, 0, 499, 500, 999, 1000), ".xx.x."},
		{"bucket with a burst", []limit{{PerSecond: 2, Burst: 3}}, millis(0, 0, 0, 0, 500, 500, 9000, 9000, 9000, 9000), "...x.x...x"},
		{"fixed window", []limit{{PerWindow: 2, Window: time.Second}}, millis(900, 950, 999, 1000, 1001, 1999, 2000), "..x..x."},
		{"sliding window", []limit{{PerWindow: 2, Window: time.Second, Sliding: true}}, millis(900, 950, 999, 1000, 1899, 1900, 1949, 1950), "..xxx.x."},
		{"two windows", []limit{{PerWindow: 2, Window: time.Second}, {PerWindow: 3, Window: 10 * time.Second}}, millis(0, 0, 0, 1000, 1000, 9999, 10000), "..x.xx."},
		{"a refusal takes nothing from the other limit", []limit{{PerSecond: 1}, {PerWindow: 3, Window: time.Minute}}, millis(0, 0, 0, 0, 1000, 2000, 3000), ".xxx..x"},
		{"a refusal counts in a sliding window", []limit{{PerWindow: 2, Window: time.Second, Sliding: true, CountRefused: true}}, millis(0, 0, 600, 700, 1100, 1600, 2600), "..xxxx."},
		{"a refusal counts in a bucket, up to what it holds", []limit{{PerSecond: 1, Burst: 2, CountRefused: true}}, millis(0, 0, 0, 0, 0, 0, 3000, 6000), "..xxxx.."},
		{"a refusal of one limit counts in the other", []limit{{PerSecond: 1}, {PerWindow: 3, Window: time.Minute, CountRefused: true}}, millis(0, 0, 0, 1000, 60000), ".xxx."},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(test.limits...))
			if got := statuses(t, s, test.at...); got != test.want {
				t.Errorf("at %v: %s, want %s", test.at, got, test.want)
			}
		})
	}
}

func TestALimitIsPerApplicationKey(t *testing.T) {
	s := start(t, horseracingtest.WithAPIKey("one", "two"), horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{PerWindow: 1, Window: time.Hour}))
	for _, test := range []struct {
		key  string
		want int
	}{{"one", 200}, {"one", 429}, {"two", 200}, {"neither", 401}, {"neither", 429}} {
		r := newRequest(t, s, "GET", openPath, "")
		r.Header.Set("x-api-key", test.key)
		if response, body := do(t, s, r); response.StatusCode != test.want {
			t.Errorf("key %s: status %d, want %d: %s", test.key, response.StatusCode, test.want, body)
		}
	}
}

func TestARefusalReportsHowLongToWaitAndHowMuchIsLeft(t *testing.T) {
	// The clock is at 12:00:00 and is advanced by 250 ms.
	for _, test := range []struct {
		name  string
		limit horseracingtest.RequestLimit
		want  map[string]string
	}{
		{"nothing", horseracingtest.RequestLimit{PerWindow: 1, Window: time.Minute}, map[string]string{}},
		{"seconds", horseracingtest.RequestLimit{PerWindow: 1, Window: time.Minute, RetryAfter: "seconds"}, map[string]string{"Retry-After": "60"}},
		{"date, rounded up", horseracingtest.RequestLimit{PerWindow: 1, Window: 1500 * time.Millisecond, Sliding: true, RetryAfter: "date"}, map[string]string{"Retry-After": "Sun, 01 Jun 2025 12:00:02 GMT"}},
		{"headers of a window", horseracingtest.RequestLimit{PerWindow: 1, Window: time.Minute, Headers: true}, map[string]string{"Ratelimit-Limit": "1", "Ratelimit-Remaining": "0", "Ratelimit-Reset": "60"}},
		{"headers of a bucket", horseracingtest.RequestLimit{PerSecond: 0.1, Headers: true}, map[string]string{"Ratelimit-Limit": "1", "Ratelimit-Remaining": "0", "Ratelimit-Reset": "10"}},
		{"headers of a sliding window", horseracingtest.RequestLimit{PerWindow: 1, Window: time.Minute, Sliding: true, Headers: true}, map[string]string{"Ratelimit-Limit": "1", "Ratelimit-Remaining": "0", "Ratelimit-Reset": "60"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, horseracingtest.WithRequestLimit(test.limit))
			s.Advance(250 * time.Millisecond)
			do(t, s, newRequest(t, s, "GET", openPath, ""))
			response, body := do(t, s, newRequest(t, s, "GET", openPath, ""))
			if response.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "too_many_requests") || strings.Contains(body, s.APIKey) {
				t.Errorf("status %d: %s", response.StatusCode, body)
			}
			got := map[string]string{}
			for _, name := range []string{"Retry-After", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"} {
				if value := response.Header.Get(name); value != "" {
					got[name] = value
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if date := response.Header.Get("Date"); date != "Sun, 01 Jun 2025 12:00:00 GMT" {
				t.Errorf("Date %s is not the fake's", date)
			}
		})
	}
}

func TestACapInFlightCountsWhatIsBeingHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithLatency(time.Second),
			horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{InFlight: 3}))
		defer s.Close()
		for range 4 { // as soon as a response is there, its place is free
			results := make(chan int)
			for range 5 {
				go func() {
					response, err := s.HTTPClient().Do(newRequest(t, s, "GET", openPath, ""))
					if err != nil {
						t.Error(err)
						results <- 0
						return
					}
					response.Body.Close()
					results <- response.StatusCode
				}()
			}
			got := map[int]int{}
			for range 5 {
				got[<-results]++
			}
			if got[200] != 3 || got[429] != 2 {
				t.Errorf("%v", got)
			}
		}
	})
}

func TestALimitOfAPathLimitsThatPathAlone(t *testing.T) {
	s := start(t, horseracingtest.WithRequestLimit(
		horseracingtest.RequestLimit{Path: "/api/v1/races", PerSecond: 1, Headers: true}, horseracingtest.RequestLimit{PerSecond: 1, Burst: 4}))
	var got []string
	for _, path := range []string{openPath, openPath, "/api/v1/missions", "/api/v1/missions", "/api/v1/missions", "/api/v1/missions"} {
		response, body := do(t, s, newRequest(t, s, "GET", path, ""))
		got = append(got, fmt.Sprint(response.StatusCode, response.Header["Ratelimit-Limit"]))
		if response.StatusCode == 429 && path == openPath && !strings.Contains(body, "requests to /api/v1/races per second") {
			t.Errorf("the refusal does not name the path: %s", body)
		}
	}
	if diff := cmp.Diff([]string{"200 [1]", "429 [1]", "200 []", "200 []", "200 []", "429 []"}, got); diff != "" {
		t.Error(diff)
	}
}
