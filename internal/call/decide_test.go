package call

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/horseracing-go/horseracing/internal/transport"
)

var errReset = errors.New("connection reset")

// The retries of a request are at most three, at most 15 seconds apart.
func TestDecideWhatFollowsAnAttempt(t *testing.T) {
	const wait = 100 * time.Millisecond // half of the first backoff
	ended := context.Canceled
	after := func(code int, seconds string) Attempt {
		return Attempt{Number: 1, Status: code, Header: http.Header{"Retry-After": {seconds}}}
	}
	for name, test := range map[string]struct {
		method   string // PAGE is a GET for a page
		max      int
		last     Attempt
		failures int
		ended    error
		want     decision
	}{
		"a success earns a token":           {"GET", 3, Attempt{Number: 1, Status: 200}, 0, nil, decision{cost: -1}},
		"a success gives back its retries":  {"GET", 3, Attempt{Number: 3, Status: 200}, 2, nil, decision{cost: -10}},
		"and those of a page":               {"PAGE", 3, Attempt{Number: 3, Status: 200}, 2, nil, decision{cost: -2}},
		"a failure":                         {"GET", 3, Attempt{Number: 1, Status: 500}, 0, nil, decision{again: true, wait: wait, cost: 5}},
		"a page that fails":                 {"PAGE", 3, Attempt{Number: 1, Status: 500}, 0, nil, decision{again: true, wait: wait, cost: 1}},
		"the backoff doubles":               {"GET", 3, Attempt{Number: 3, Status: 500}, 2, nil, decision{again: true, wait: 4 * wait, cost: 5}},
		"and heeds a Retry-After":           {"GET", 3, after(500, "2"), 0, nil, decision{again: true, wait: 2*time.Second + wait, cost: 5}},
		"a write that may have had effect":  {"POST", 3, Attempt{Number: 1, Status: 500}, 0, nil, decision{}},
		"a refusal costs nothing":           {"GET", 3, Attempt{Number: 1, Status: 429}, 0, nil, decision{again: true}},
		"even for longer than it may wait":  {"GET", 3, after(429, "60"), 0, nil, decision{again: true}}, // the pace ends the call
		"a Retry-After that is too long":    {"GET", 3, after(500, "16"), 0, nil, decision{}},
		"one of a page is cut":              {"PAGE", 3, after(500, "16"), 0, nil, decision{again: true, wait: 15 * time.Second, cost: 1}},
		"refusals count as attempts":        {"GET", 3, Attempt{Number: 4, Status: 500}, 0, nil, decision{}},
		"a refusal of the last attempt":     {"GET", 3, Attempt{Number: 4, Status: 429}, 3, nil, decision{}},
		"but not those of a page":           {"PAGE", 3, Attempt{Number: 9, Status: 500}, 2, nil, decision{again: true, wait: 4 * wait, cost: 1}},
		"a page fails too often":            {"PAGE", 3, Attempt{Number: 9, Status: 500}, 3, nil, decision{}},
		"it is refused after its last":      {"PAGE", 3, Attempt{Number: 9, Status: 429}, 3, nil, decision{again: true}},
		"nothing was accepted for an hour":  {"PAGE", 3, Attempt{Number: 1, Status: 429, refusedFor: time.Hour}, 0, nil, decision{}},
		"which a single call may wait for":  {"GET", 3, Attempt{Number: 1, Status: 429, refusedFor: time.Hour}, 0, nil, decision{again: true}},
		"no retries of a page":              {"PAGE", 0, Attempt{Number: 1, Status: 429}, 0, nil, decision{}},
		"the context ended after a failure": {"GET", 3, Attempt{Number: 1, Status: 500}, 0, ended, decision{stopped: ended}},
		"it ended after the last retry":     {"GET", 3, Attempt{Number: 4, Status: 500}, 3, ended, decision{stopped: ended}},
		"it ended after a response":         {"GET", 3, Attempt{Number: 1, Status: 404}, 0, ended, decision{cost: -1}},
		"it ended, and none may follow":     {"GET", 3, Attempt{Number: 1, Err: transport.ErrTooLarge}, 0, ended, decision{}},
		"it ended the attempt":              {"GET", 3, Attempt{Number: 1, Err: context.Canceled}, 0, ended, decision{}},
	} {
		r := &Request{Info: Info{Method: test.method}, Retry: Retry{Max: test.max, MinWait: 2 * wait, MaxWait: 15 * time.Second}}
		if r.IsPage = test.method == "PAGE"; r.IsPage {
			r.Method = http.MethodGet
		}
		test.last.classify(r.Method)
		check.Equal(t, name, test.want, decide(r, &test.last, test.failures, test.ended, 0.5), cmp.AllowUnexported(decision{}))
	}
}
