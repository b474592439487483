package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrAttemptTimeout is the error of an attempt that ran out of time.
var ErrAttemptTimeout = errors.New("no complete response within the attempt timeout")

// timeoutLink limits the time of the attempt, from connecting to the last byte
// of the body.
type timeoutLink struct {
	next    http.RoundTripper
	timeout time.Duration
}

func (l timeoutLink) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), l.timeout, ErrAttemptTimeout)
	defer cancel()
	resp, err := l.next.RoundTrip(req.WithContext(ctx))
	return resp, withCause(ctx, err)
}

// withCause adds to an error that the attempt ran out of time, or that the call's
// context ended.
func withCause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), ErrAttemptTimeout) {
		return fmt.Errorf("%w: %w", ErrAttemptTimeout, context.DeadlineExceeded)
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}
