package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// span is what the test reads of a span that the exporter printed.
type span struct {
	Name        string
	SpanContext *struct{ TraceID, SpanID string }
	Parent      struct{ SpanID string }
	Attributes  []keyValue
	Resource    []keyValue
}

type keyValue struct {
	Key   string
	Value struct{ Value any }
}

func find(attributes []keyValue, key string) any {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.Value
		}
	}
	return nil
}

// output runs the program and returns its spans by name, in the order they ended, and all it printed.
func output(t *testing.T, wantStatus int, args ...string) (map[string][]span, string) {
	t.Helper()
	var stdout, stderr strings.Builder
	if err := run(context.Background(), args, &stdout, &stderr); program.Exit("otel", err, &stderr) != wantStatus {
		t.Fatalf("%v; want exit status %d", err, wantStatus)
	}
	spans := map[string][]span{}
	for decoder := json.NewDecoder(strings.NewReader(stdout.String())); ; {
		var s span
		if err := decoder.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the output is no sequence of JSON objects: %v", err)
		}
		if s.SpanContext != nil {
			spans[s.Name] = append(spans[s.Name], s)
		}
	}
	return spans, stdout.String() + stderr.String()
}

func TestARetryIsASpanOfItsOwn(t *testing.T) {
	spans, printed := output(t, 0, "-failures", "1")
	calls, attempts := spans["open races"], spans["GET /api/v1/races/open"]
	if len(calls) != 1 || len(attempts) != 2 {
		t.Fatalf("%d spans of the call and %d of attempts, want 1 and 2:\n%s", len(calls), len(attempts), printed)
	}
	for i, want := range []float64{503, 200} {
		if got := find(attempts[i].Attributes, "http.response.status_code"); got != want {
			t.Errorf("attempt %d has status %v, want %v", i+1, got, want)
		}
		if attempts[i].Parent.SpanID != calls[0].SpanContext.SpanID {
			t.Errorf("attempt %d does not lie under the call", i+1)
		}
	}
	if !strings.Contains(printed, "http.client.request.duration") {
		t.Error("no metric of the requests' duration was printed")
	}
}

func TestAttemptsAreNamedByTheirRoute(t *testing.T) {
	spans, printed := output(t, 0)
	const route = "/api/v1/horses/{horse_number}"
	attempts := spans["GET "+route]
	if len(attempts) != 1 || find(attempts[0].Attributes, "url.template") != route {
		t.Errorf("no span of the route with its template:\n%s", printed)
	}
	if _, metrics, found := strings.Cut(printed, "http.client.request.duration"); !found || !strings.Contains(metrics, route) {
		t.Error("the metric of the requests' duration has no route")
	}
}

func TestItStartsAndEndsAsEveryExample(t *testing.T) {
	programtest.ExpectUsage(t)
	programtest.ExpectErrors(t)
	programtest.Run(t, nil, "-failures", "-1").ExpectSentence(t, 2, "-failures")
}
