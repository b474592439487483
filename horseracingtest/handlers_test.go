package horseracingtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestHandlersMatchByMethodAndSegments(t *testing.T) {
	s := start(t)
	named := func(body string) func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return func(horseracingtest.Request) (horseracingtest.Response, bool) {
			return horseracingtest.Response{Body: body}, true
		}
	}
	s.Handle("GET /api/v1/horses/{n}", named("horse"))
	s.Handle("/api/v9/{a}/x/{b}", named("new"))
	s.Handle("GET /api/v1/horses/5", named("five")) // the newest wins
	s.Handle("POST "+registerPath, func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		s.Advance(time.Hour) // a handler can use the server
		return horseracingtest.Response{Body: string(r.Body)}, true
	})
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/horses/5", "", "five"},
		{"GET", "/api/v1/horses/6", "", "horse"},
		{"PUT", "/api/v9/1/x/2", "{}", "new"},
		{"POST", registerPath, "anything", "anything"},
		{"GET", "/api/v9/1/x", "", "unknown_path"},
		{"POST", "/api/v1/horses/6", "", "wrong_method"},
	} {
		if _, body := do(t, s, newRequest(t, s, test.method, test.path, test.body)); body != test.want && !strings.Contains(body, `"code":"`+test.want+`"`) {
			t.Errorf("%s %s: %s, want %s", test.method, test.path, body, test.want)
		}
	}
	r := newRequest(t, s, "GET", "/api/v1/horses/6", "")
	r.Header.Set("x-api-key", "wrong")
	if response, body := do(t, s, r); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a handler saw a request without a valid key: %s", body)
	}
}
