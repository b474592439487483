package horseracingtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestEachFaultStrikesOnEveryTransport(t *testing.T) {
	const receipt = `{"registered":true,"main_race_id":7,"horse_number":1,"entry_fee":0}`
	for _, test := range []struct {
		name   string
		fault  horseracingtest.Fault
		body   string // as far as it is received
		status int    // 0 if no response is received
		cut    bool
		paid   bool
	}{
		{"a status", horseracingtest.Fault{Status: 503, Header: http.Header{"retry-after": {"7"}}, Body: "<h1>down</h1>"}, "<h1>down</h1>", 503, false, false},
		{"a header", horseracingtest.Fault{Header: http.Header{"retry-after": {"7"}}}, receipt, 200, false, true},
		{"a reset before", horseracingtest.Fault{ResetBefore: true}, "", 0, true, false},
		{"a reset after", horseracingtest.Fault{ResetAfter: true}, "", 0, true, true},
		{"a body that is cut", horseracingtest.Fault{CutBody: 10}, receipt[:10], 200, true, true},
		{"a body that drips", horseracingtest.Fault{Drip: time.Microsecond}, receipt, 200, false, true},
		{"a late effect", horseracingtest.Fault{TakesEffectAfter: time.Minute}, "", 0, true, false},
	} {
		for _, transport := range transports {
			t.Run(test.name+"/"+transport.name, func(t *testing.T) {
				s := start(t, append(transport.opts, horseracingtest.WithSchedule(0))...)
				s.AddRaces(raceAt(s, 7, time.Hour))
				s.Inject(test.fault)
				response, body, err := send(s, newRequest(t, s, "POST", registerPath, registration(1, s.UserKey(0), 7)))
				double.Equal(t, "body", test.body, body)
				double.Equal(t, fmt.Sprintf("%v: it is cut", err), test.cut, err != nil)
				double.Equal(t, "status in the log", test.status, s.Requests()[0].Status)
				if test.status > 0 {
					double.Equal(t, "status", test.status, response.StatusCode)
					double.Equal(t, "version of HTTP", transport.proto, response.ProtoMajor)
					if test.fault.Header != nil {
						double.Equal(t, "Retry-After", "7", response.Header.Get("Retry-After"))
					}
				}
				for _, paid := range []bool{test.paid, test.paid, test.paid || test.fault.TakesEffectAfter > 0} {
					double.Equal(t, "paid at "+s.Now().String(), paid, len(s.Registrations()) == 1)
					s.Advance(30 * time.Second)
				}
			})
		}
	}
}

func TestFaultsStrikeByRuleInTheirOrder(t *testing.T) {
	s := start(t)
	s.Inject(
		horseracingtest.Fault{Path: "/api/v1/races", Skip: 2, Times: 2, Status: 500},
		horseracingtest.Fault{Method: "GET", Path: openPath, Status: 501}, // while the first one skips
		horseracingtest.Fault{Method: "GET", Path: resultsPath, Times: -1, Status: 502},
		horseracingtest.Fault{Method: "POST", Status: 503},
	)
	var got []int
	for _, path := range []string{openPath, openPath, openPath, openPath, openPath, resultsPath, resultsPath} {
		got = append(got, statusOf(t, s, path))
	}
	s.ClearFaults()
	double.Equal(t, "statuses", []int{501, 200, 500, 500, 200, 502, 502, 200}, append(got, statusOf(t, s, resultsPath)))
}

func TestAProbableFaultStrikesItsShareAlikeOnEveryRun(t *testing.T) {
	run := func(seed uint64) (struck string) {
		s := start(t, horseracingtest.WithSeed(seed), horseracingtest.WithInMemory())
		s.Inject(horseracingtest.Fault{Probability: 0.2, Status: 503})
		for range 400 {
			struck += itoa(statusOf(t, s, missionsPath) / 100)
		}
		return struck
	}
	first := run(1)
	if n := strings.Count(first, "5"); n < 55 || n > 105 {
		t.Errorf("%d of 400 were struck with probability 0.2", n)
	}
	double.Equal(t, "the same seed strikes alike", first, run(1))
	double.Equal(t, "another seed does", false, first == run(2))
}

// reporter is a testing.TB that keeps what it gets.
type reporter struct {
	testing.TB
	cleanup func()
	errors  []string
}

func (r *reporter) Cleanup(f func()) { r.cleanup = f }
func (r *reporter) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestRequiredFaultsFailATestInWhichOneDidNotStrike(t *testing.T) {
	s, r := start(t), &reporter{TB: t}
	s.RequireFaults(r)
	s.Inject(horseracingtest.Fault{Path: registerPath, Status: 501}, horseracingtest.Fault{Status: 502, Times: 2}, horseracingtest.Fault{Status: 503, Times: -1})
	for range 3 {
		statusOf(t, s, openPath)
	}
	s.ClearFaults()
	r.cleanup()
	double.Equal(t, fmt.Sprintf("%q has one error, about registrations", r.errors), true, len(r.errors) == 1 && strings.Contains(r.errors[0], "Path:"+registerPath))
}

func TestEachKindOfLimitAcceptsWhatItAllowsAndRefusesTheRest(t *testing.T) {
	type limit = horseracingtest.RequestLimit
	for _, test := range []struct {
		name   string
		limits []limit
		at     []int  // milliseconds
		want   string // "." for each that is accepted
	}{
		{"bucket", []limit{{PerSecond: 2}}, []int{0, 0, 499, 500, 999, 1000}, ".xx.x."},
		{"bucket with a burst", []limit{{PerSecond: 2, Burst: 3}}, []int{0, 0, 0, 0, 500, 500, 9000, 9000, 9000, 9000}, "...x.x...x"},
		{"fixed window", []limit{{PerWindow: 2, Window: time.Second}}, []int{900, 950, 999, 1000, 1001, 1999, 2000}, "..x..x."},
		{"sliding window", []limit{{PerWindow: 2, Window: time.Second, Sliding: true}}, []int{900, 950, 999, 1000, 1899, 1900, 1949, 1950}, "..xxx.x."},
		{"two windows", []limit{{PerWindow: 2, Window: time.Second}, {PerWindow: 3, Window: 10 * time.Second}}, []int{0, 0, 0, 1000, 1000, 9999, 10000}, "..x.xx."},
		{"a refusal takes nothing from the other limit", []limit{{PerSecond: 1}, {PerWindow: 3, Window: time.Minute}}, []int{0, 0, 0, 0, 1000, 2000, 3000}, ".xxx..x"},
		{"a refusal counts in a sliding window", []limit{{PerWindow: 2, Window: time.Second, Sliding: true, CountRefused: true}}, []int{0, 0, 600, 700, 1100, 1600, 2600}, "..xxxx."},
		{"a refusal counts in a bucket, up to what it holds", []limit{{PerSecond: 1, Burst: 2, CountRefused: true}}, []int{0, 0, 0, 0, 0, 0, 3000, 6000}, "..xxxx.."},
		{"a refusal of one limit counts in the other", []limit{{PerSecond: 1}, {PerWindow: 3, Window: time.Minute, CountRefused: true}}, []int{0, 0, 0, 1000, 60000}, ".xxx."},
	} {
		s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(test.limits...))
		began, got := s.Now(), ""
		for _, at := range test.at {
			s.Advance(began.Add(time.Duration(at) * time.Millisecond).Sub(s.Now()))
			got += map[int]string{http.StatusOK: ".", http.StatusTooManyRequests: "x"}[statusOf(t, s, missionsPath)]
		}
		double.Equal(t, test.name, test.want, got)
	}
}

func TestALimitIsPerApplicationKeyAndPath(t *testing.T) {
	s := start(t, horseracingtest.WithAPIKey("one", "two"), horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{Path: "/api/v1/races", PerWindow: 1, Window: time.Hour}))
	for _, test := range []struct {
		key, path string
		want      int
	}{{"one", openPath, 200}, {"one", openPath, 429}, {"one", missionsPath, 200}, {"two", openPath, 200}, {"neither", openPath, 401}, {"neither", openPath, 429}} {
		r := newRequest(t, s, "GET", test.path, "")
		r.Header.Set("x-api-key", test.key)
		response, _ := do(t, s, r)
		double.Equal(t, "key "+test.key+", "+test.path, test.want, response.StatusCode)
	}
}

func TestARefusalReportsHowLongToWaitAndHowMuchIsLeft(t *testing.T) {
	type limit = horseracingtest.RequestLimit
	for _, test := range []struct {
		limit limit
		want  []string // Retry-After, and the limit, what remains and its reset
	}{
		{limit{PerWindow: 1, Window: time.Minute}, []string{"", "", "", ""}},
		{limit{PerWindow: 1, Window: time.Minute, RetryAfter: "seconds"}, []string{"60", "", "", ""}},
		{limit{PerWindow: 1, Window: 1500 * time.Millisecond, Sliding: true, RetryAfter: "date"}, []string{"Sun, 01 Jun 2025 12:00:02 GMT", "", "", ""}},
		{limit{PerWindow: 1, Window: time.Minute, Headers: true}, []string{"", "1", "0", "60"}},
		{limit{PerSecond: 0.1, Headers: true}, []string{"", "1", "0", "10"}},
		{limit{PerWindow: 1, Window: time.Minute, Sliding: true, Headers: true}, []string{"", "1", "0", "60"}},
	} {
		s := start(t, horseracingtest.WithRequestLimit(test.limit))
		s.Advance(250 * time.Millisecond) // it is 12:00:00.25
		statusOf(t, s, openPath)
		response, _ := do(t, s, newRequest(t, s, "GET", openPath, ""))
		got := []string{response.Header.Get("Date")}
		for _, name := range []string{"Retry-After", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"} {
			got = append(got, response.Header.Get(name))
		}
		double.Equal(t, fmt.Sprintf("%+v: status", test.limit), http.StatusTooManyRequests, response.StatusCode)
		double.Equal(t, fmt.Sprintf("%+v: header", test.limit), append([]string{"Sun, 01 Jun 2025 12:00:00 GMT"}, test.want...), got) // the fake's clock
	}
}

func TestACapInFlightCountsWhatIsBeingHandled(t *testing.T) {
	double.Bubble(t, func(t *testing.T, s *horseracingtest.Server) {
		for range 4 { // as soon as a response is there, its place is free
			var accepted atomic.Int32
			var group sync.WaitGroup
			for range 5 {
				group.Go(func() {
					if response, _, err := send(s, newRequest(t, s, "GET", openPath, "")); err == nil && response.StatusCode == http.StatusOK {
						accepted.Add(1)
					}
				})
			}
			group.Wait()
			double.Equal(t, "accepted of 5 requests", 3, int(accepted.Load()))
		}
	}, horseracingtest.WithLatency(time.Second), horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{InFlight: 3}))
}
