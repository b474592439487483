package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/database"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

// The clock of a bubble makes each text the same.
func inBubble(t *testing.T, set settings, name string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake, s := open(t, set)
		transcript(t, fake, s, name)
	})
}

// A race without a closing time is listed, but not for a horse, since it cannot be entered yet.
func TestOpenRacesAreThoseThatCanBeEntered(t *testing.T) { inBubble(t, settings{}, "open") }

// Each result is small, a text and structured, and has the time of the service.
func TestEachReadingToolReturnsWhatTheServiceHas(t *testing.T) {
	for _, version := range []string{"", "2025-06-18", "2025-03-26"} {
		synctest.Test(t, func(t *testing.T) {
			fake := newFake(t, horseracingtest.WithInMemory())
			transcript(t, fake, inMemoryAs(t, fake, settings{}, nil, version), "reads")
		})
	}
}

func TestAMistakeInAnArgumentIsNamedWithWhatIsExpected(t *testing.T) {
	inBubble(t, allowed(t), "mistakes")
}

func TestListsAreReadOnWithTheirCursor(t *testing.T) {
	_, s := open(t, settings{})
	for tool, test := range map[string]struct {
		args map[string]any
		want int
	}{
		"list_results":      {map[string]any{"limit": 100}, 150},
		"list_tournaments":  {map[string]any{"limit": 1, "finished": true}, 4},
		"list_open_races":   {map[string]any{"limit": "2", "order_by": "-fee", "closed": true, "tier": nil}, 5}, // a number as text, and null
		"list_breeding":     {map[string]any{"limit": 3, "order_by": "price", "max_price": 150}, 7},             // and a text as number
		"list_owned_horses": {map[string]any{"limit": 4, "order_by": "level"}, 6},
	} {
		seen := map[any]bool{}
		for more := true; more; more = test.args["cursor"] != "" {
			page := get[list[struct{ Race, Tournament, Horse any }]](s, tool, test.args)
			test.args["cursor"] = page.Cursor
			for _, entry := range page.Entries {
				if seen[entry] {
					t.Fatalf("%s: %v a second time", tool, entry)
				}
				seen[entry] = true
			}
		}
		double.Equal(t, "entries of "+tool, test.want, len(seen))
	}
}

func TestAServiceThatIsDownIsASentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := allowed(t)
		fake, s := open(t, l)
		addRace(t, fake, 1, func(r *horseracing.Race) {
			r.StartTime = horseracing.NewTimestamp(fake.Now().Add(24 * time.Hour))
			r.RegistrationDeadline = r.StartTime
		})
		p, other := s.plan(1).Plan, s.plan(3).Plan
		if got := s.register(other); got.State != ledger.Entered {
			t.Errorf("%+v", got)
		}
		for _, fault := range []horseracingtest.Fault{
			{Path: "/", Status: 503, Times: -1}, {Path: "/", ResetBefore: true, Times: -1}, {Path: "/", Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Times: -1},
			{Path: "/", Delay: time.Hour, Times: -1},
		} {
			fake.Inject(fault)
			for tool, args := range map[string]map[string]any{"list_open_races": nil, "list_results": {"limit": 5}, "plan_registration": {"horse": 1, "race": 2}, "register": {"plan": p}} {
				began := time.Now()
				problem := s.call(tool, args, nil)
				took := time.Since(began)
				double.FailIf(t, took > time.Minute || tool != "register" && took > 30*time.Second || !strings.HasPrefix(problem, "unavailable: ") || tool == "register" && !strings.Contains(problem, "nothing was sent"), "%s after %v: %q", tool, took, problem)
			}
			fake.ClearFaults()
			time.Sleep(2 * time.Hour) // what was learned of the pace is over
		}
		double.Equal(t, "sent and recorded", []int{1, 1}, []int{posts(fake), len(double.Must(database.Read(t.Context(), l.path)))})
	})
}

// It waits in real time, as SQLite does.
func TestALedgerThatIsInUseIsASentence(t *testing.T) {
	l := allowed(t)
	_, s := open(t, l)
	plan := s.plan(1).Plan
	db := double.Must(database.Open(t.Context(), l.path))
	defer db.Close()
	other := double.Must(db.Conn(t.Context())) // of another process
	defer other.Close()
	double.Must(other.ExecContext(t.Context(), "BEGIN IMMEDIATE"))
	if problem := s.call("register", map[string]any{"plan": plan}, nil); !strings.HasPrefix(problem, "in_use: nothing was sent: ") {
		t.Errorf("while the ledger is in use: %q", problem)
	}
	get[ledgerView](s, "list_ledger", nil) // needs no lock
	double.Must(other.ExecContext(t.Context(), "ROLLBACK"))
	if got := s.register(plan); got.State != ledger.Entered {
		t.Errorf("then: %+v", got)
	}
}

func TestTextsOfOthersAreShortVisibleAndMarked(t *testing.T) {
	fake, s := open(t, settings{})
	const race = `{"main_race_id":1,"type":"@","tier":"@","status":"@","start_time":1,"info":{"name":"@","hippodrome_name":"@"}}`
	const horse = `{"number":1,"name":"@","gender":"@","breed":"@","tier":"@","image":"@","external_url":"@","appearance":[{"trait_type":"@","value":"@"}]}`
	for tool, test := range map[string]struct {
		args       map[string]any
		path, body string // in which each @ is a text of others
	}{
		"list_open_races":   {nil, "races/open", "[" + race + "]"},
		"get_race":          {map[string]any{"race": 1}, "races/1", "[" + race + "]"},
		"get_horse":         {map[string]any{"horse": 1, "traits": true}, "horses/1", horse},
		"list_owned_horses": {nil, "horses/user", "[" + horse + "]"},
		"list_missions":     {map[string]any{"horse": 1}, "horses/missions/1", `{"number":1,"missions":[{"type":"@","mission":"@","name":"@"}]}`},
		"list_breeding":     {nil, "horses/breeding/open", "[" + horse + "]"},
		"list_tournaments":  {nil, "tournaments/open", `[{"_id":"@","name":"@","hippodrome_name":"@"}]`},
	} {
		const invisible = "\u202e\u200b\ufe0f\U000e0041\u3164"
		long := strings.Repeat("x", 4000)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/" + test.path, Status: 200, Body: strings.ReplaceAll(test.body, "@", invisible+long)})
		text, _ := s.textOf(tool, test.args)
		double.FailIf(t, strings.ContainsAny(text, invisible) || strings.Contains(text, long[:101]) || !strings.Contains(text, long[:100]+"…") || !strings.HasPrefix(text, `{"about":"Names and other texts`), "%s: %s", tool, text)
	}
}

func TestNoKeyAndNoInstructionLeavesItsField(t *testing.T) {
	fake, s := open(t, allowed(t))
	echo := fmt.Sprintf(`{"error":"%s. %s %s"}`, instruction, fake.APIKey, string(fake.UserKey(0)))
	p := s.plan(1).Plan
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400, Body: echo})
	refused := s.register(p)
	double.FailIf(t, refused.Entry == nil || refused.Entry.Paid != "no" || !strings.Contains(refused.Note, `recorded: "`) || strings.Contains(strings.Split(refused.Note, `"`)[0], instruction), "%+v", refused)
	fake.Inject(horseracingtest.Fault{Path: "/", Status: 403, Body: echo})
	problem := s.call("list_owned_horses", nil, nil)
	double.FailIf(t, !strings.HasPrefix(problem, "unauthorized: ") || !strings.Contains(problem, `the service's words: "`+instruction), "%v", problem)
	addRace(t, fake, 7, func(r *horseracing.Race) {
		r.Info.Name, r.Info.HippodromeName = fake.APIKey, "a "+string(fake.UserKey(0))
	})
	named := get[wholeRace](s, "get_race", map[string]any{"race": 7})
	double.Equal(t, "the name", "[redacted]", named.Name)
	said, err := json.Marshal([]any{refused, problem, named, get[ledgerView](s, "list_ledger", nil)})
	for _, key := range []string{fake.APIKey, string(fake.UserKey(0))} {
		double.FailIf(t, err != nil || strings.Contains(string(said), key), "%v; a key is in\n%s", err, said)
	}
}

// tools are those that a host is offered, by name.
func (s session) tools() map[string]*mcp.Tool {
	s.t.Helper()
	all := map[string]*mcp.Tool{}
	for tool, err := range s.Tools(s.t.Context(), nil) {
		double.NoError(s.t, err)
		all[tool.Name] = tool
	}
	return all
}

func TestWithoutALedgerNothingCanPayAndHintsAndTheBundleAreTrue(t *testing.T) {
	_, reader := open(t, settings{})
	_, payer := open(t, allowed(t))
	if problem := reader.call("register", map[string]any{"plan": payer.plan(1).Plan}, nil); !strings.HasPrefix(problem, "protocol: ") {
		t.Errorf("register without a ledger: %q", problem)
	}
	reading, all := reader.tools(), payer.tools() // after the error, too
	var bundle struct {
		Version string
		Tools   []struct{ Name string }
	}
	data, err := os.ReadFile("manifest.json")
	double.NoError(t, errors.Join(err, json.Unmarshal(data, &bundle)))
	var bundled []string
	for _, tool := range bundle.Tools {
		bundled = append(bundled, tool.Name)
	}
	slices.Sort(bundled)
	double.Equal(t, "the tools of the bundle", slices.Sorted(maps.Keys(reading)), bundled)
	double.Equal(t, "how many read, and the version of the bundle", []any{8, horseracing.Version}, []any{len(reading), bundle.Version})
	var hints strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tool := all[name]
		annotations, err := json.Marshal(tool.Annotations)
		fmt.Fprintf(&hints, "%s %s\n", name, annotations)
		double.FailIf(t, err != nil || tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil || tool.InputSchema == nil, "%s: %+v, %v", name, tool, err)
	}
	double.Golden(t, "testdata/hints.txt", hints.String())
}
