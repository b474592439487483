package horseracingtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// transports are the ways in which a fake can be reached; faults must work on
// each of them.
var transports = []struct {
	name  string
	proto int
	opts  []horseracingtest.Option
}{
	{"TCP", 1, nil},
	{"HTTP/2", 2, []horseracingtest.Option{horseracingtest.WithTLS()}},
	{"in memory", 1, []horseracingtest.Option{horseracingtest.WithInMemory()}},
	{"HTTP/2 in memory", 2, []horseracingtest.Option{horseracingtest.WithInMemory(), horseracingtest.WithTLS()}},
}

func eachTransport(t *testing.T, test func(t *testing.T, s *horseracingtest.Server, proto int)) {
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			test(t, start(t, append(transport.opts, horseracingtest.WithSchedule(0))...), transport.proto)
		})
	}
}

// attempt sends one request and reads what comes, without the retries that
// net/http itself makes for requests that can be repeated.
func attempt(t *testing.T, s *horseracingtest.Server, method, path, body string) (*http.Response, string, error) {
	t.Helper()
	r := newRequest(t, s, method, path, body)
	r.GetBody = nil
	response, err := s.HTTPClient().Do(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	return response, string(got), err
}

func registration(s *horseracingtest.Server) string {
	return `{"horse_number":` + itoa(s.Horses(0)[0]) + `,"user_key":"` + string(s.UserKey(0)) + `","main_race_id":7}`
}

func TestAFaultRespondsInsteadOfTheService(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *horseracingtest.Server, proto int) {
		s.AddRaces(raceAt(s, 7, time.Hour))
		s.Inject(horseracingtest.Fault{Method: "POST", Status: 503, Header: http.Header{"retry-after": {"7"}, "Content-Type": {"text/html"}}, Body: "<h1>down</h1>"})
		response, body, err := attempt(t, s, "POST", registerPath, registration(s))
		if err != nil {
			t.Fatal(err)
		}
		if response.ProtoMajor != proto {
			t.Errorf("HTTP/%d, want %d", response.ProtoMajor, proto)
		}
		if response.StatusCode != 503 || response.Header.Get("Retry-After") != "7" || response.Header.Get("Content-Type") != "text/html" || body != "<h1>down</h1>" {
			t.Errorf("response %d %v %s", response.StatusCode, response.Header, body)
		}
		if len(s.Registrations()) != 0 {
			t.Error("the request reached the service")
		}
		if response, body, err := attempt(t, s, "POST", registerPath, registration(s)); err != nil || response.StatusCode != 200 {
			t.Errorf("the second request: %v %s", err, body)
		}
	})
}

func TestAResetBeforeTheRequestLeavesTheServiceUntouched(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *horseracingtest.Server, _ int) {
		s.AddRaces(raceAt(s, 7, time.Hour))
		s.Inject(horseracingtest.Fault{Method: "POST", ResetBefore: true})
		if response, _, err := attempt(t, s, "POST", registerPath, registration(s)); err == nil {
			t.Errorf("response with status %d", response.StatusCode)
		}
		if len(s.Registrations()) != 0 {
			t.Error("the registration happened")
		}
	})
}

func TestAResetAfterTheRequestHasChangedTheService(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *horseracingtest.Server, _ int) {
		s.AddRaces(raceAt(s, 7, time.Hour))
		s.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true})
		if response, _, err := attempt(t, s, "POST", registerPath, registration(s)); err == nil {
			t.Errorf("response with status %d", response.StatusCode)
		}
		if len(s.Registrations()) != 1 {
			t.Error("the registration did not happen")
		}
		if r := s.Requests()[0]; r.Status != 0 {
			t.Errorf("the log has status %d", r.Status)
		}
	})
}

func TestAResetOverTCPIsOne(t *testing.T) {
	s := start(t)
	for _, fault := range []horseracingtest.Fault{{ResetBefore: true}, {ResetAfter: true}} {
		s.Inject(fault)
		const windows = syscall.Errno(10054) // WSAECONNRESET
		if _, _, err := attempt(t, s, "POST", openPath, "{}"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, windows) {
			t.Errorf("%+v: %v, want a connection reset", fault, err)
		}
	}
}

func TestACutBodyEndsTooEarly(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *horseracingtest.Server, _ int) {
		_, whole, err := attempt(t, s, "GET", resultsPath, "")
		if err != nil {
			t.Fatal(err)
		}
		s.Inject(horseracingtest.Fault{CutBody: 100})
		response, body, err := attempt(t, s, "GET", resultsPath, "")
		if err == nil || body != whole[:100] {
			t.Errorf("%d bytes came of %d: %v", len(body), len(whole), err)
		}
		if response == nil || response.ContentLength != int64(len(whole)) {
			t.Errorf("the response does not announce its %d bytes", len(whole))
		}
	})
}

func TestAResponseDrips(t *testing.T) {
	for _, transport := range transports {
		if transport.proto == 2 || transport.name == "TCP" {
			continue // the bubble needs pipes, and its clock a connection that is ready at once
		}
		synctest.Test(t, func(t *testing.T) {
			s := horseracingtest.NewServer(append(transport.opts, horseracingtest.WithClock(time.Now))...)
			defer s.Close()
			s.Inject(horseracingtest.Fault{Drip: time.Second, Status: 200, Body: "[1,2]"})
			began := time.Now()
			_, body, err := attempt(t, s, "GET", openPath, "")
			if took := time.Since(began); err != nil || body != "[1,2]" || took != 5*time.Second {
				t.Errorf("%q came after %v: %v", body, took, err)
			}
		})
	}
}

func TestADripOverTCPSendsEveryByte(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *horseracingtest.Server, _ int) {
		s.Inject(horseracingtest.Fault{Drip: time.Microsecond, Status: 200, Body: "[1,2]"})
		if _, body, err := attempt(t, s, "GET", openPath, ""); err != nil || body != "[1,2]" {
			t.Errorf("%q: %v", body, err)
		}
	})
}

func TestAnIgnoredBodyGetsTheResponseToNone(t *testing.T) {
	s := start(t)
	type race struct {
		ID int `json:"main_race_id"`
	}
	want := get[[]race](t, s, resultsPath, "")
	s.Inject(horseracingtest.Fault{Path: resultsPath, IgnoreBody: true})
	got := get[[]race](t, s, resultsPath, `{"tier":1,"start_time_from":5}`)
	if len(got) != 10 || got[0] != want[0] {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestHeadersCanBeAddedToTheServicesResponse(t *testing.T) {
	s := start(t)
	s.Inject(horseracingtest.Fault{Header: http.Header{"X-Cache": {"HIT"}}})
	response, body := do(t, s, newRequest(t, s, "GET", openPath, ""))
	if response.StatusCode != 200 || response.Header.Get("X-Cache") != "HIT" || !strings.HasPrefix(body, "[{") {
		t.Errorf("%d %v %.20s", response.StatusCode, response.Header, body)
	}
}

func TestFaultsStrikeByRule(t *testing.T) {
	s := start(t)
	s.Inject(
		horseracingtest.Fault{Path: "/api/v1/races", Skip: 2, Times: 2, Status: 500},
		horseracingtest.Fault{Method: "GET", Path: resultsPath, Times: -1, Status: 501},
		horseracingtest.Fault{Method: "POST", Status: 502},
	)
	status := func(path string) int {
		response, _ := do(t, s, newRequest(t, s, "GET", path, ""))
		return response.StatusCode
	}
	for i, want := range []int{200, 200, 500, 500, 200} {
		if got := status(openPath); got != want {
			t.Errorf("request %d: status %d, want %d", i, got, want)
		}
	}
	for range 3 {
		if got := status(resultsPath); got != 501 {
			t.Errorf("status %d, want 501", got)
		}
	}
	s.ClearFaults()
	if got := status(resultsPath); got != 200 {
		t.Errorf("status %d after ClearFaults", got)
	}
}

func TestASkippingFaultLetsTheNextOneStrike(t *testing.T) {
	s := start(t)
	s.Inject(horseracingtest.Fault{Skip: 1, Status: 500}, horseracingtest.Fault{Status: 501})
	for _, want := range []int{501, 500, 200} {
		if response, _ := do(t, s, newRequest(t, s, "GET", openPath, "")); response.StatusCode != want {
			t.Errorf("status %d, want %d", response.StatusCode, want)
		}
	}
}

func TestAFaultThatMakesNoSensePanics(t *testing.T) {
	s := start(t)
	for _, fault := range []horseracingtest.Fault{
		{}, {Path: "api/v1", Status: 500}, {Body: "x", ResetAfter: true}, {ResetBefore: true, Status: 500}, {ResetBefore: true, ResetAfter: true},
		{Delay: -1}, {Skip: -1, Status: 500}, {Status: 42}, {ResetAfter: true, CutBody: 5}, {Method: "GET"},
		{Probability: 0.5}, {Probability: 1.5, Status: 500}, {Probability: -1, Status: 500}, {TakesEffectAfter: -1}, {TakesEffectAfter: 1, Status: 500}, {TakesEffectAfter: 1, ResetAfter: true},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was taken", fault)
				}
			}()
			s.Inject(fault)
		}()
	}
}

func TestADelayEndsWithTheRequest(t *testing.T) {
	for name, slow := range map[string]func(*horseracingtest.Server){
		"delay": func(s *horseracingtest.Server) { s.Inject(horseracingtest.Fault{Delay: time.Hour}) },
		"drip": func(s *horseracingtest.Server) {
			s.Inject(horseracingtest.Fault{Status: 200, Body: "[1]", Drip: time.Hour})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			slow(s)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			response, err := s.HTTPClient().Do(newRequest(t, s, "GET", resultsPath, "{}").WithContext(ctx))
			if err == nil {
				_, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			awaitNoneInFlight(t, s)
		})
	}
}

// awaitNoneInFlight waits until the fake has no request in hand.
func awaitNoneInFlight(t *testing.T, s *horseracingtest.Server) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if s.ResetLog(); s.MaxInFlight() == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a request is still in hand")
		}
	}
}

func TestCloseEndsDelaysAndLatency(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			s := start(t, append(transport.opts, horseracingtest.WithLatency(time.Hour))...)
			s.Inject(
				horseracingtest.Fault{Path: openPath, Delay: time.Hour},
				horseracingtest.Fault{Path: registerPath, Delay: time.Hour, ResetBefore: true}, // its body stays unread
			)
			done := make(chan error, 3)
			for _, r := range []*http.Request{
				newRequest(t, s, "GET", openPath, ""), newRequest(t, s, "GET", resultsPath, ""), newRequest(t, s, "POST", registerPath, "{}"),
			} {
				go func() {
					_, err := s.HTTPClient().Do(r)
					done <- err
				}()
			}
			for s.RequestCount() < 3 {
				time.Sleep(time.Millisecond)
			}
			s.Close()
			if s.ResetLog(); s.MaxInFlight() != 0 {
				t.Error("Close left a request in hand")
			}
			for range 3 {
				if err := <-done; err == nil {
					t.Error("a request got a response")
				}
			}
		})
	}
}

func TestADroppedRequestTakesEffectLater(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *horseracingtest.Server, _ int) {
		s.AddRaces(raceAt(s, 7, time.Hour), raceAt(s, 8, 10*time.Minute))
		s.Inject(horseracingtest.Fault{Method: "POST", TakesEffectAfter: 30 * time.Second, Times: 2})
		tooLate := strings.Replace(registration(s), `"main_race_id":7`, `"main_race_id":8`, 1)
		if response, _, err := attempt(t, s, "POST", registerPath, registration(s)); err == nil {
			t.Errorf("status %d", response.StatusCode)
		}
		s.Advance(4*time.Minute + 40*time.Second) // the deadline of race 8 is 20 s away
		if _, _, err := attempt(t, s, "POST", registerPath, tooLate); err == nil {
			t.Error("the second was not dropped")
		}
		if got := s.Registrations(); len(got) != 1 || !got[0].Time.Equal(s.Now().Add(-4*time.Minute-10*time.Second)) {
			t.Errorf("%+v", got)
		}
		s.Advance(time.Minute)
		if got := s.Registrations(); len(got) != 1 {
			t.Errorf("a registration took effect behind the deadline: %+v", got)
		}
	})
}

func TestALateEffectShowsInReadsFromItsInstantOn(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0))
	s.AddRaces(raceAt(s, 7, time.Hour))
	s.Inject(horseracingtest.Fault{Method: "POST", TakesEffectAfter: 30 * time.Second})
	_, err := s.Client().Races.Register(t.Context(), horseracing.Registration{Horse: 1, Race: 7, UserKey: s.UserKey(0)})
	if !errors.Is(err, horseracing.ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	for _, want := range []bool{false, false, true} {
		if race, err := s.Client().Races.Get(t.Context(), 7); err != nil || race.Has(1) != want {
			t.Errorf("at %v: %+v, want the horse in it: %v: %v", s.Now(), race, want, err)
		}
		s.Advance(15 * time.Second)
	}
}

func TestAProbableFaultStrikesItsShareAlikeOnEveryRun(t *testing.T) {
	run := func(seed uint64) (struck string) {
		s := start(t, horseracingtest.WithSeed(seed))
		s.Inject(horseracingtest.Fault{Probability: 0.2, Status: 503}, horseracingtest.Fault{Probability: 0.5, Times: 3, Status: 500})
		for range 400 {
			response, _ := do(t, s, newRequest(t, s, "GET", "/api/v1/missions", ""))
			struck += itoa(response.StatusCode)[:1] + itoa(response.StatusCode)[2:]
		}
		return struck
	}
	first := run(1)
	if n, limited := strings.Count(first, "53"), strings.Count(first, "50"); n < 55 || n > 105 || limited != 3 {
		t.Errorf("%d of 400 were struck with probability 0.2, and %d with a limit of 3", n, limited)
	}
	if first != run(1) {
		t.Error("another run has other faults")
	}
	if first == run(2) {
		t.Error("another seed has the same faults")
	}
}

// reporter is a testing.TB that keeps what it gets.
type reporter struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (r *reporter) Helper()          {}
func (r *reporter) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *reporter) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestRequiredFaultsFailATestInWhichOneDidNotStrike(t *testing.T) {
	s := start(t)
	r := &reporter{TB: t}
	s.Inject(horseracingtest.Fault{Status: 500})
	s.RequireFaults(r)
	s.Inject(horseracingtest.Fault{Path: registerPath, Status: 501}, horseracingtest.Fault{Status: 502, Times: 5})
	s.ClearFaults()
	s.Inject(horseracingtest.Fault{Status: 503, Times: -1})
	do(t, s, newRequest(t, s, "GET", openPath, ""))
	if len(r.cleanups) != 1 || len(r.errors) != 0 {
		t.Fatalf("%d cleanups, errors %v", len(r.cleanups), r.errors)
	}
	r.cleanups[0]()
	if len(r.errors) != 3 || !strings.Contains(r.errors[0], "Status:500") || !strings.Contains(r.errors[1], "Path:/api/v1/races/register") || !strings.Contains(r.errors[2], "Status:502") {
		t.Errorf("%q", r.errors)
	}
}
