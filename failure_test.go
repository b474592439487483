package horseracing

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/horseracing-go/horseracing/internal/call"
	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// A RetryAfter is what is left of the wait, by the response or by a later one of the route.
func TestFailureNamesWhatIsLeftOfARetryAfter(t *testing.T) {
	for _, test := range []struct{ ago, held, want time.Duration }{
		{0, 10 * time.Second, 10 * time.Second}, {8 * time.Second, 9 * time.Second, 9 * time.Second}, {8 * time.Second, 0, 2 * time.Second}, {time.Minute, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := request{Request: call.Request{Keys: redact.New()}}
			refused := call.Attempt{Number: 1, Status: 429, Header: http.Header{"Retry-After": {"10"}}, Ended: time.Now().Add(-test.ago)}
			err := r.failure(&call.Outcome{Attempt: refused, Stopped: &pace.ExpiredError{For: test.held, Status: 429}})
			api, _ := errors.AsType[*APIError](err)
			check.Equal(t, fmt.Sprintf("%+v", test), test.want, api.RetryAfter)
		})
	}
}
