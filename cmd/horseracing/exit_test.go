package main

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
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

func TestA403IsNotAlwaysAboutTheKey(t *testing.T) {
	t.Parallel()
	fake, _, _ := newRegistration(t)
	transcript(t, fake, "forbidden", nil)
}
