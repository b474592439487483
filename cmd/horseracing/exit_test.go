package main

import (
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
)

func TestAnErrorAsJSONHasACodeAndTheOperation(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for args, want := range map[string]string{
		"race 99 --json":  `{"error":{"code":"not_found","message":"GET /api/v1/races/99: not found: status 200 OK, but the response does not contain it","operation":"GET /api/v1/races/99","status":200}}`,
		"race one --json": `{"error":{"code":"usage","message":"\"one\" is not a number above zero"}}`,
		"opne --json":     `{"error":{"code":"usage","message":"there is no command \"opne\": did you mean open?"}}`,
	} {
		if got := run(t, environment(fake), strings.Fields(args)...); got.stderr != want+"\n" || got.stdout != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestAFailedPollAsJSONHasTheCodeOfItsCause(t *testing.T) {
	down := &horseracing.APIError{StatusCode: 503, Method: "GET", Route: "/api/v2/races/results", Attempts: 1}
	for code, err := range map[string]error{"unavailable": down, "failed": &horseracing.TieOverflowError{}} {
		var stderr strings.Builder
		p := &program{stderr: &stderr, asJSON: true}
		p.complain(err)
		if !strings.HasPrefix(stderr.String(), `{"error":{"code":"`+code+`",`) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: %s", code, &stderr)
		}
	}
}
