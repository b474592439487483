package horseracingtest_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestTheLogHoldsTheNewestRequestsAndCountsAll(t *testing.T) {
	s := start(t, horseracingtest.WithRequestLog(2))
	do(t, s, newRequest(t, s, "GET", openPath, ""))
	do(t, s, newRequest(t, s, "GET", resultsPath, `{"tier":5}`))
	do(t, s, newRequest(t, s, "GET", "/api/v1/horses/a%2Fb?x=1", ""))
	got := s.Requests()
	for i := range got {
		got[i].Header = http.Header{"X-Api-Key": got[i].Header["X-Api-Key"]} // and others
	}
	key := http.Header{"X-Api-Key": {s.APIKey}}
	want := []horseracingtest.Request{
		{Time: s.Now(), Method: "GET", Path: resultsPath, Header: key, Body: []byte(`{"tier":5}`), Status: 200},
		{Time: s.Now(), Method: "GET", Path: "/api/v1/horses/a%2Fb?x=1", Header: key, Status: 400},
	}
	double.Equal(t, "the log", want, got)
	double.Equal(t, "the count", 3, s.RequestCount())
	s.ResetLog()
	double.Equal(t, "what ResetLog leaves", 0, len(s.Requests())+s.RequestCount()+s.MaxInFlight())
}

func TestEveryRequestIsLoggedWithoutItsKey(t *testing.T) {
	var text strings.Builder
	s := start(t, horseracingtest.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	s.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true}, horseracingtest.Fault{Skip: 1, Status: 503})
	for _, method := range []string{"GET", "GET", "POST"} {
		_, _, _ = send(s, newRequest(t, s, method, openPath+"?user_key="+string(s.UserKey(0)), ""))
	}
	s.Close()
	logged := text.String()
	for _, want := range []string{"msg=request method=GET path=/api/v1/races/open status=400 took=", "status=503", "method=POST path=/api/v1/races/open status=0"} {
		double.Equal(t, want+" is in\n"+logged, true, strings.Contains(logged, want))
	}
	for _, key := range []string{s.APIKey, string(s.UserKey(0))} {
		double.Equal(t, key+" is in\n"+logged, false, strings.Contains(logged, key))
	}
}
