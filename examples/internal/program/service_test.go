package program

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestAWaitOfFiveSecondsIsALineAndARetryIsNot(t *testing.T) {
	for retryAfter, lines := range map[string]int{"2": 0, "8": 1} {
		synctest.Test(t, func(t *testing.T) {
			fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))
			defer fake.Close()
			fake.Inject(horseracingtest.Fault{Status: 503, Header: http.Header{"Retry-After": {retryAfter}}})
			var out strings.Builder
			if _, err := fake.Client(Waits(&out)).Horses.Get(t.Context(), 7); err != nil {
				t.Fatal(err)
			}
			if strings.Count(out.String(), "\n") != lines || lines > 0 && !strings.Contains(out.String(), "GET /api/v1/horses") {
				t.Errorf("Retry-After %s: it printed %q", retryAfter, out.String())
			}
		})
	}
}
