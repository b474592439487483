package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestOnlyAYesPays(t *testing.T) {
	versions := []string{"2026-07-28", "2025-11-25"} // a result asks the host; a request does
	var words string
	responds := func(response *mcp.ElicitResult, err error) *mcp.ClientOptions {
		return &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			words = r.Params.Message
			if response == nil && err == nil {
				<-ctx.Done()
				err = ctx.Err()
			}
			return response, err
		}}
	}
	yes, no := map[string]any{"pay": "yes"}, map[string]any{"pay": "no"}
	links := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}}
	for name, test := range map[string]struct {
		host     *mcp.ClientOptions
		versions []string
		asks     bool
		pays     bool
	}{
		"yes":               {responds(&mcp.ElicitResult{Action: "accept", Content: yes}, nil), versions, true, true},
		"no":                {responds(&mcp.ElicitResult{Action: "accept", Content: no}, nil), versions, true, false},
		"accepted unread":   {responds(&mcp.ElicitResult{Action: "accept"}, nil), versions, true, false},
		"declined":          {responds(&mcp.ElicitResult{Action: "decline", Content: yes}, nil), versions, true, false},
		"the host gives up": {responds(nil, errors.New("no window")), versions[1:], true, false}, // in the other, it does not call again
		"nobody responds":   {responds(nil, nil), versions[1:], true, false},
		"it cannot ask":     {nil, versions, false, false},
		"it can only link":  {links, versions, false, false},
	} {
		for _, version := range test.versions {
			synctest.Test(t, func(t *testing.T) {
				words = ""
				fake := newFake(t, horseracingtest.WithInMemory())
				l := allowed(t)
				l.confirm, l.Budget = true, tokens(t, "100")
				s := inMemoryAs(t, fake, l, test.host, version)
				plan, began := s.plan(1).Plan, time.Now()
				var out registered
				problem := s.call("register", map[string]any{"plan": plan}, &out)
				synctest.Wait() // for a host that is no longer waited for
				for _, want := range []string{"Pay 2.5 tokens", "horse 1,", "race 1,", "7.5 tokens are left today and 97.5 in all"} {
					if strings.Contains(words, want) != test.asks {
						t.Errorf("%s, version %s: the question is %q", name, version, words)
					}
				}
				if took := time.Since(began); took > confirmTime+time.Second || strings.HasPrefix(problem, "not_confirmed: nothing was sent: ") == test.pays {
					t.Errorf("%s, version %s: after %v: %q", name, version, took, problem)
				}
				if entries, _ := ledger.Read(l.path); (out.State == ledger.Entered) != test.pays || (len(entries) == 1) != test.pays || (posts(fake) == 1) != test.pays {
					t.Errorf("%s, version %s: %+v, %d sent, %v", name, version, out, posts(fake), entries)
				}
			})
		}
	}
}

func TestAYesIsForOneQuestionOnce(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	l := allowed(t)
	l.confirm = true
	s := inMemoryAs(t, fake, l, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}, "")
	yes := mcp.InputResponseMap{"pay": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"pay": "yes"}}}
	call := func(plan, state string, response mcp.InputResponseMap) *mcp.CallToolResult {
		t.Helper()
		return double.Must(s.CallTool(t.Context(), &mcp.CallToolParams{Name: "register", Arguments: map[string]any{"plan": plan}, RequestState: state, InputResponses: response}))
	}
	one, two := s.plan(1).Plan, s.plan(2).Plan
	asked := call(one, "", nil).RequestState
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400, Body: `{"error":"full"}`})
	for name, test := range map[string]struct{ plan, state string }{"never asked": {one, ""}, "made up": {one, "x"}, "of another race": {two, asked}} {
		double.Equal(t, name+" is an error", true, call(test.plan, test.state, yes).IsError)
	}
	asked = call(one, "", nil).RequestState
	double.Equal(t, "a yes is an error", false, call(one, asked, yes).IsError)
	double.Equal(t, "a second yes is an error", true, call(one, asked, yes).IsError)
	double.Equal(t, "registrations sent", 1, posts(fake))
}
