package horseracingtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
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
					double.Equal(t, "Retry-After", test.fault.Header["retry-after"], response.Header["Retry-After"])
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
