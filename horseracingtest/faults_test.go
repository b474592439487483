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
				if body != test.body || (err != nil) != test.cut || len(s.Registrations()) == 1 != test.paid {
					t.Errorf("%q, %v, registrations %v", body, err, s.Registrations())
				}
				if (response == nil) != (test.status == 0) || s.Requests()[0].Status != test.status {
					t.Fatalf("%v; the log has %+v", response, s.Requests()[0])
				}
				if response != nil && (response.StatusCode != test.status || response.ProtoMajor != transport.proto) {
					t.Errorf("status %s by HTTP/%d", response.Status, response.ProtoMajor)
				}
				if response != nil && test.fault.Header != nil && response.Header.Get("Retry-After") != "7" {
					t.Errorf("header %v", response.Header)
				}
				for _, paid := range []bool{test.paid, test.paid || test.fault.TakesEffectAfter > 0} {
					s.Advance(30 * time.Second)
					if len(s.Registrations()) == 1 != paid {
						t.Errorf("at %v: registrations %v", s.Now(), s.Registrations())
					}
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
		response, _ := do(t, s, newRequest(t, s, "GET", path, ""))
		got = append(got, response.StatusCode)
	}
	s.ClearFaults()
	response, _ := do(t, s, newRequest(t, s, "GET", resultsPath, ""))
	double.Equal(t, "statuses", []int{501, 200, 500, 500, 200, 502, 502, 200}, append(got, response.StatusCode))
}

func TestAProbableFaultStrikesItsShareAlikeOnEveryRun(t *testing.T) {
	run := func(seed uint64) (struck string) {
		s := start(t, horseracingtest.WithSeed(seed), horseracingtest.WithInMemory())
		s.Inject(horseracingtest.Fault{Probability: 0.2, Status: 503})
		for range 400 {
			response, _ := do(t, s, newRequest(t, s, "GET", "/api/v1/missions", ""))
			struck += itoa(response.StatusCode / 100)
		}
		return struck
	}
	first := run(1)
	if n := strings.Count(first, "5"); n < 55 || n > 105 {
		t.Errorf("%d of 400 were struck with probability 0.2", n)
	}
	if first != run(1) || first == run(2) {
		t.Error("the faults do not depend on the seed alone")
	}
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
		do(t, s, newRequest(t, s, "GET", openPath, ""))
	}
	s.ClearFaults()
	r.cleanup()
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "Path:"+registerPath) {
		t.Errorf("%q", r.errors)
	}
}
