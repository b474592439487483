package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// span is what the tests read of a span that was printed.
type span struct {
	Name                string
	SpanContext, Parent struct{ SpanID string }
	Status              struct{ Code string }
	line                string
}

// spans returns the spans that the program printed, in the order in which they ended.
func spans(t *testing.T, out string) (all []span) {
	t.Helper()
	for line := range strings.Lines(out) {
		s := span{line: line}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Name != "" {
			all = append(all, s)
		}
	}
	return all
}

func TestEachAttemptIsASpanOfItsRouteUnderTheCall(t *testing.T) {
	t.Setenv("HORSERACING_BASE_URL", "")
	t.Setenv("HORSERACING_API_KEY", "")
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	const route = "/api/v1/horses/{horse_number}"
	all := spans(t, out.String())
	if len(all) != 3 || all[2].Name != "a horse" {
		t.Fatalf("want two attempts and the call:\n%s", &out)
	}
	for i, status := range []string{"503", "200"} {
		s := all[i]
		hasStatus := strings.Contains(s.line, `"http.response.status_code","Value":{"Type":"INT64","Value":`+status)
		hasRoute := strings.Contains(s.line, `"url.template","Value":{"Type":"STRING","Value":"`+route)
		if s.Name != "GET "+route || !hasStatus || !hasRoute || s.Parent != all[2].SpanContext {
			t.Errorf("attempt %d: %s", i+1, s.line)
		}
	}
	if _, metrics, found := strings.Cut(out.String(), "http.client.request.duration"); !found || !strings.Contains(metrics, route) {
		t.Errorf("there is no metric of the duration by route:\n%s", &out)
	}
}

func TestAFailedCallIsASpanWithItsErrorAndWithoutKeys(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", "a-wrong-key-of-nobody")
	var out strings.Builder
	err := run(t.Context(), &out)
	failed := slices.IndexFunc(spans(t, out.String()), func(s span) bool { return s.Name == "a horse" && s.Status.Code == "Error" })
	if err == nil || failed < 0 || strings.Contains(out.String(), "a-wrong-key-of-nobody") {
		t.Errorf("%v\n%s", err, &out)
	}
}
