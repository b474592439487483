package horseracingtest_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestTheLogHoldsTheNewestRequestsAndCountsAll(t *testing.T) {
	s := start(t, horseracingtest.WithRequestLog(2))
	do(t, s, newRequest(t, s, "GET", openPath, ""))
	do(t, s, newRequest(t, s, "GET", resultsPath, `{"tier":5}`))
	do(t, s, newRequest(t, s, "GET", "/api/v1/horses/a%2Fb?x=1", ""))
	got, count := s.Requests(), s.RequestCount()
	for i := range got {
		if key := got[i].Header.Get("X-Api-Key"); key != s.APIKey {
			t.Errorf("x-api-key %q", key)
		}
		got[i].Header = nil
	}
	want := []horseracingtest.Request{
		{Time: s.Now(), Method: "GET", Path: resultsPath, Body: []byte(`{"tier":5}`), Status: 200},
		{Time: s.Now(), Method: "GET", Path: "/api/v1/horses/a%2Fb?x=1", Status: 400},
	}
	if diff := cmp.Diff(want, got); diff != "" || count != 3 {
		t.Errorf("count %d, -want +got:\n%s", count, diff)
	}
	if s.ResetLog(); len(s.Requests()) != 0 || s.RequestCount() != 0 || s.MaxInFlight() != 0 {
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
