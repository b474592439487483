package main

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// What was sent before the time was over is awaited, and may be paid or refused.
func TestTheOutcomeOfARegistrationCountsAfterTheTimeout(t *testing.T) {
	expired := errors.Join(errExpired, unpaid(horseracing.ErrOutcomeUnknown))
	if end := exitCodeOf(t.Context(), expired); end != outcomeOpen || explain(expired) == errExpired.Error() {
		t.Errorf("%+v, %s", end, explain(expired))
	}
	p, c := &program{timeout: time.Nanosecond, demo: true}, new(cobra.Command)
	c.SetContext(t.Context())
	refused := p.withService(c, nil, func(ctx context.Context, _ *service, _ []string) error {
		<-ctx.Done()
		return unpaid(&horseracing.APIError{StatusCode: http.StatusConflict})
	})
	if end := exitCodeOf(t.Context(), refused); end != notRegistered || errors.Is(refused, errExpired) {
		t.Errorf("a refusal: %+v, %v", end, refused)
	}
}

// A 403 with a Retry-After is about the pace, and a page is of a firewall: neither is about
// the key.
func TestA403IsNotAlwaysAboutTheKey(t *testing.T) {
	t.Parallel()
	type fault = horseracingtest.Fault
	for _, test := range []struct {
		fault  fault
		code   string
		status int
	}{
		{fault{}, "unauthorized", 4},
		{fault{Header: http.Header{"Retry-After": {"60"}}}, "unavailable", 5},
		{fault{Header: http.Header{"Content-Type": {"text/html"}}, Body: "<!doctype html><html></html>"}, "unavailable", 5},
	} {
		fake, args, _ := newRegistration(t)
		onlyOpen, onlyPosts := test.fault, test.fault
		onlyOpen.Path, onlyOpen.Status, onlyOpen.Times = "/api/v1/races/open", 403, -1
		onlyPosts.Method, onlyPosts.Status, onlyPosts.Times = "POST", 403, -1
		fake.Inject(onlyOpen, onlyPosts)
		expect(t, environment(fake), result{status: test.status, stderr: `"code":"` + test.code}, "open", "--json")
		if got := run(t, environment(fake), args...); got.status != 6 || len(fake.Registrations()) > 0 {
			t.Errorf("a registration, %v: %+v", test.fault.Header, got)
		}
	}
}
