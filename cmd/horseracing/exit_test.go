package main

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestAnErrorAsJSONHasACodeAndTheOperation(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for args, want := range map[string]string{
		"race 99 --json":  `{"error":{"code":"not_found","message":"GET /api/v1/races/99: not found: status 200 OK, but the response does not contain it","operation":"GET /api/v1/races/99","status":200}}`,
		"race one --json": `{"error":{"code":"usage","message":"\"one\" is not a number above zero"}}`,
		"resluts --json":  `{"error":{"code":"usage","message":"unknown command \"resluts\" for \"horseracing\" Did you mean this? results"}}`,
	} {
		if got := run(t, environment(fake), strings.Fields(args)...); got.stderr != want+"\n" || got.stdout != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestACommandEndsAfterItsTimeout(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithLatency(time.Hour))
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: horseracing.NewBigInt(1)})
	for _, args := range []string{"open", "watch", "results --follow", "results", "register --horse 1 --race 7 --yes --ledger " + filepath.Join(t.TempDir(), "l")} {
		got := run(t, environment(fake), append(strings.Fields(args), "--timeout", "50ms")...)
		if got.status != 5 || !strings.HasSuffix(got.stderr, ": it took longer than --timeout 50ms\n") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// What was sent before the time was over may be paid.
func TestAnUnknownOutcomeAfterTheTimeoutIsStatus7(t *testing.T) {
	expired := errors.Join(errExpired, unpaid(horseracing.ErrOutcomeUnknown))
	if end := exitCodeOf(t.Context(), expired); end != outcomeOpen || explain(expired) == errExpired.Error() {
		t.Errorf("%+v, %s", end, explain(expired))
	}
}

// A 403 with a Retry-After is about the pace, and a page is of a firewall: neither is about
// the key.
func TestA403IsNotAlwaysAboutTheKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		header http.Header
		body   string
		status int
	}{
		{nil, "", 4}, {http.Header{"Retry-After": {"60"}}, "", 5}, {http.Header{"Content-Type": {"text/html"}}, "<!doctype html><html>blocked</html>", 5},
	} {
		fake, args, _ := newRegistration(t)
		fault := horseracingtest.Fault{Method: "GET", Path: "/api/v1/races/open", Status: 403, Header: test.header, Body: test.body, Times: -1}
		fake.Inject(fault)
		got := run(t, environment(fake), "open", "--json")
		if isKey := strings.Contains(got.stderr, "unauthorized") || strings.Contains(got.stderr, "key"); got.status != test.status || isKey != (test.status == 4) {
			t.Errorf("%v: %+v", test.header, got)
		}
		fault.Method, fault.Path = "POST", ""
		fake.Inject(fault)
		if got := run(t, environment(fake), args...); got.status != 6 || len(fake.Registrations()) > 0 {
			t.Errorf("a registration, %v: %+v", test.header, got)
		}
	}
}
