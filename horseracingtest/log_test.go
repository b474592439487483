package horseracingtest_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestTheLogHoldsRequestsAndStatuses(t *testing.T) {
	s := start(t)
	s.Advance(time.Hour)
	do(t, s, newRequest(t, s, "GET", resultsPath, `{"tier":5}`))
	do(t, s, newRequest(t, s, "GET", "/api/v1/horses/a%2Fb?x=1", ""))
	requests := s.Requests()
	if len(requests) != 2 || s.RequestCount() != 2 {
		t.Fatalf("%d requests, count %d", len(requests), s.RequestCount())
	}
	first := requests[0]
	if key := first.Header.Get("X-Api-Key"); key != s.APIKey {
		t.Errorf("x-api-key %q", key)
	}
	first.Header = nil
	want := horseracingtest.Request{Time: s.Now(), Method: "GET", Path: resultsPath, Body: []byte(`{"tier":5}`), Status: 200}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if second := requests[1]; second.Path != "/api/v1/horses/a%2Fb?x=1" || second.Status != 400 || second.Body != nil {
		t.Errorf("%+v", second)
	}
	s.ResetLog()
	if len(s.Requests()) != 0 || s.RequestCount() != 0 || s.MaxInFlight() != 0 {
		t.Error("ResetLog left something")
	}
}

func TestEveryRequestIsLoggedWithoutItsKey(t *testing.T) {
	var text strings.Builder
	s := start(t, horseracingtest.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	s.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true}, horseracingtest.Fault{Skip: 1, Status: 503})
	for _, method := range []string{"GET", "GET", "POST"} {
		attempt(t, s, method, openPath+"?user_key="+string(s.UserKey(0)), "")
	}
	s.Close()
	logged := text.String()
	for _, want := range []string{"msg=request method=GET path=/api/v1/races/open status=400 took=", "status=503", "method=POST path=/api/v1/races/open status=0"} {
		if !strings.Contains(logged, want) {
			t.Errorf("no %q in\n%s", want, logged)
		}
	}
	if strings.Contains(logged, s.APIKey) || strings.Contains(logged, string(s.UserKey(0))) {
		t.Errorf("a key is logged:\n%s", logged)
	}
}

func TestTheLogKeepsTheNewestAndCountsAll(t *testing.T) {
	s := start(t, horseracingtest.WithRequestLog(2))
	for i := range 5 {
		do(t, s, newRequest(t, s, "GET", "/api/v1/horses/"+itoa(i+1), ""))
	}
	paths := []string{}
	for _, r := range s.Requests() {
		paths = append(paths, r.Path)
	}
	if diff := cmp.Diff([]string{"/api/v1/horses/4", "/api/v1/horses/5"}, paths); diff != "" || s.RequestCount() != 5 {
		t.Errorf("count %d (-want +got):\n%s", s.RequestCount(), diff)
	}
}
