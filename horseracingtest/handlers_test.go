package horseracingtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestHandlersMatchByMethodAndSegments(t *testing.T) {
	s := start(t)
	for _, pattern := range []string{"GET /api/v1/horses/{n}", "/api/v9/{a}/x/{b}", "GET /api/v1/horses/5"} { // the newest wins
		s.Handle(pattern, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			return horseracingtest.Response{Body: pattern}, true
		})
	}
	s.Handle("POST "+registerPath, func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		s.Advance(time.Hour) // a handler can use the server
		return horseracingtest.Response{Body: string(r.Body)}, true
	})
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/horses/5", "", "GET /api/v1/horses/5"},
		{"GET", "/api/v1/horses/6", "", "GET /api/v1/horses/{n}"},
		{"PUT", "/api/v9/1/x/2", "{}", "/api/v9/{a}/x/{b}"},
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
	response, _ := do(t, s, r)
	double.Equal(t, "status without a valid key", http.StatusUnauthorized, response.StatusCode)
}
