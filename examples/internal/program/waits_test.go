package program

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
)

func TestAWaitOfFiveSecondsIsALineAndARetryIsNot(t *testing.T) {
	for _, test := range []struct {
		retryAfter string
		lines      int
	}{{"2", 0}, {"8", 1}} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			responses := 0
			client, err := horseracing.NewClient("https://service.example", "key", Waits(&out), horseracing.WithHTTPClient(&http.Client{
				Transport: transport(func(r *http.Request) *http.Response {
					if responses++; responses == 1 {
						return &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {test.retryAfter}}, Body: http.NoBody, Request: r}
					}
					return &http.Response{StatusCode: 404, Body: http.NoBody, Request: r}
				}),
			}))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, _ = client.Horses.Get(t.Context(), 7)
			if responses != 2 || time.Since(began) < 2*time.Second {
				t.Fatalf("%d responses after %v: the test shows nothing", responses, time.Since(began))
			}
			if strings.Count(out.String(), "\n") != test.lines || test.lines > 0 && !strings.Contains(out.String(), "GET /api/v1/horses") {
				t.Errorf("Retry-After %s: it printed %q", test.retryAfter, out.String())
			}
		})
	}
}

type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
