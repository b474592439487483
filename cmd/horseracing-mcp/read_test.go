package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestOpenRacesAreThoseThatCanBeEntered(t *testing.T) {
	fake, s := open(t, settings{})
	addRace(t, fake, 1, func(r *horseracing.Race) { r.Places, r.Participants = 1, []horseracing.RaceParticipant{{Number: 2}} })
	addRace(t, fake, 2, func(r *horseracing.Race) {
		r.RegistrationDeadline = horseracing.NewTimestamp(fake.Now().Add(-time.Minute))
	})
	addRace(t, fake, 3, func(r *horseracing.Race) { r.MinLevel, r.MaxLevel = 500, 501 })
	addRace(t, fake, 4, func(r *horseracing.Race) { r.Tier, r.EntryFee = "Delta", *tokens(t, "2") })
	for name, test := range map[string]struct {
		args map[string]any
		want []horseracing.RaceID
	}{
		"all, the full one last": {nil, []horseracing.RaceID{3, 4, 5, 1}},
		"closed ones too":        {map[string]any{"closed": true}, []horseracing.RaceID{3, 4, 5, 2, 1}},
		"for a horse":            {map[string]any{"horse": 1}, []horseracing.RaceID{4, 5}},
		"of a level":             {map[string]any{"level": 500, "tier": "omega"}, []horseracing.RaceID{3}},
		"with a limit":           {map[string]any{"limit": 2.0}, []horseracing.RaceID{3, 4}},
		"below a fee":            {map[string]any{"max_fee": "2"}, []horseracing.RaceID{4}},
	} {
		var got []horseracing.RaceID
		for _, r := range get[list[raceView]](s, "list_open_races", test.args).Entries {
			got = append(got, r.Race)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnOpenRaceWithoutAClosingTimeIsListedAndCannotBeEnteredYet(t *testing.T) {
	fake, s := open(t, settings{})
	for want, args := range []map[string]any{{"horse": 1}, nil} { // for a horse the list has only what it can enter now
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: 200, Body: `[{"main_race_id":7,"registration_deadline":null}]`})
		got := get[list[raceView]](s, "list_open_races", args).Entries
		if len(got) != want || want > 0 && (got[0].Enterable || !strings.Contains(got[0].Note, "cannot be entered yet")) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestListsAreReadOnWithTheirCursor(t *testing.T) {
	_, s := open(t, settings{})
	for tool, test := range map[string]struct {
		args map[string]any
		want int
	}{
		"list_results":     {map[string]any{"limit": 100}, 150},
		"list_tournaments": {map[string]any{"limit": 1, "finished": true}, 4},
	} {
		seen := map[any]bool{}
		for more := true; more; more = test.args["cursor"] != "" {
			page := get[list[struct{ Race, Tournament any }]](s, tool, test.args)
			test.args["cursor"] = page.Cursor
			for _, entry := range page.Entries {
				if seen[entry] {
					t.Fatalf("%s: %v a second time", tool, entry)
				}
				seen[entry] = true
			}
		}
		if len(seen) != test.want {
			t.Errorf("%s: %d of %d", tool, len(seen), test.want)
		}
	}
}

func TestEachReadingToolReturnsWhatTheServiceHas(t *testing.T) {
	fake, s := open(t, settings{})
	open := get[list[raceView]](s, "list_open_races", nil)
	if r := open.Entries[0]; r.Fee != (amount{"2.5", "2500000000000000000"}) || r.Prizes[0] != (amount{"6", "6000000000000000000"}) || r.Name != instruction || !r.Enterable || r.Finished {
		t.Errorf("open races: %+v", open)
	}
	results := get[list[raceView]](s, "list_results", map[string]any{"since": fake.Now().AddDate(-1, 0, 0).Format(time.DateOnly)})
	one := get[wholeRace](s, "get_race", map[string]any{"race": results.Entries[0].Race})
	if len(one.Runners) != len(one.Horses) || one.Runners[0].Horse != one.Horses[0] || one.Runners[0].Total == 0 {
		t.Errorf("a finished race: %+v", one)
	}
	horse := get[horseView](s, "get_horse", map[string]any{"horse": 1})
	withTraits := get[horseView](s, "get_horse", map[string]any{"horse": 1, "traits": true})
	owned := get[list[horseView]](s, "list_owned_horses", nil)
	if horse.Horse != 1 || owned.Entries[0].Horse != 1 || horse.Name == "" || horse.Appearance != nil || withTraits.Appearance == nil || len(owned.Entries) != len(fake.Horses(0)) || owned.Entries[0].Appearance != nil {
		t.Errorf("horse %+v, %d owned", horse, len(owned.Entries))
	}
	missions := get[list[missionView]](s, "list_missions", map[string]any{"horse": 1})
	breeding := get[list[breedingView]](s, "list_breeding", map[string]any{"limit": 1})
	cups := get[list[tournamentView]](s, "list_tournaments", map[string]any{"tier": 5})
	if missions.Entries[0].Name == "" || len(breeding.Entries) != 1 || breeding.LeftOut == 0 || breeding.Entries[0].Price.Units == "0" || breeding.Entries[0].Price.Tokens == "" || len(cups.Entries) > 0 && cups.Entries[0].Tier != 5 {
		t.Errorf("missions %+v, breeding %+v, tournaments %+v", missions, breeding, cups)
	}
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusOK, Body: `[{"main_race_id":"x"}]`})
	if open := get[list[raceView]](s, "list_open_races", nil); !strings.HasPrefix(open.Note, "some entries could not be read: ") {
		t.Errorf("an entry that cannot be read: %+v", open)
	}
}

// A token is at least two bytes of JSON, mostly three or four.
const tenThousandTokens = 25_000

func TestAResultIsSmallIsATextTooAndHasTheTimeOfTheService(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	for _, version := range []string{"", "2025-06-18", "2025-03-26"} {
		s := inMemoryAs(t, fake, settings{}, nil, version)
		for tool, args := range map[string]map[string]any{
			"list_open_races": nil, "list_results": nil, "list_owned_horses": nil, "list_breeding": nil, "list_tournaments": {"finished": true},
			"get_race": {"race": 1}, "get_horse": {"horse": 1}, "list_missions": {"horse": 1},
		} {
			result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				t.Fatal(err)
			}
			var repeated any
			text := result.Content[0].(*mcp.TextContent).Text
			err = json.Unmarshal([]byte(text), &repeated)
			if diff := cmp.Diff(result.StructuredContent, repeated); diff != "" || len(text) > tenThousandTokens || err != nil || len(result.Content) != 1 {
				t.Errorf("%s of version %q: %d bytes, %v, %s", tool, version, len(text), err, diff)
			}
			now, err := time.Parse(time.RFC3339, result.StructuredContent.(map[string]any)["now"].(string))
			if distance := fake.Now().Sub(now).Abs(); err != nil || distance > 5*time.Second {
				t.Errorf("%s: now is %v, %v", tool, now, err)
			}
		}
	}
}

func TestAMistakeInAnArgumentIsNamedWithWhatIsExpected(t *testing.T) {
	fake, s := open(t, allowed(t))
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/horses/missions/7", Status: 403, Body: "<!DOCTYPE html><html>blocked</html>", Times: -1})
	for _, test := range []struct {
		tool string
		args map[string]any
		want string // at the beginning, and after it
	}{
		{"get_race", nil, `validating "arguments": missing properties: ["race"]`},
		{"get_race", map[string]any{"race": "7"}, `validating "arguments": /properties/race: type: 7 has type "string", want "integer"`},
		{"get_race", map[string]any{"race": -1}, `validating "arguments": /properties/race: minimum: `},
		{"get_race", map[string]any{"race": 1 << 53}, `validating "arguments": /properties/race: maximum: `},
		{"get_race", map[string]any{"race": 99999}, "not_found: "},
		{"list_results", map[string]any{"cursor": "x"}, "invalid_argument: cursor must be"},
		{"list_results", map[string]any{"since": "yesterday"}, "invalid_argument: since must be a date or a time"},
		{"list_results", map[string]any{"tier": 99}, "failed: there is no tier 99"},
		{"list_results", map[string]any{"limit": 101}, `validating "arguments": /properties/limit: maximum: `},
		{"list_open_races", map[string]any{"max_fee": "a lot"}, "invalid_argument: max_fee must be a number of tokens"},
		{"list_open_races", map[string]any{"tier": "Silver"}, `invalid_argument: of a tier "Silver"; found: Omega`},
		{"list_missions", map[string]any{"horse": 7}, "unavailable: an HTML page; the page is from a proxy or firewall"},
	} {
		problem := s.call(test.tool, test.args, nil)
		code, words, _ := strings.Cut(test.want, ": ")
		if !strings.HasPrefix(problem, code+": ") || !strings.Contains(problem, words) {
			t.Errorf("%s %v: %q, want %q", test.tool, test.args, problem, test.want)
		}
	}
}

func TestAServiceThatIsDownOrALedgerThatIsInUseIsASentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := allowed(t)
		fake, s := open(t, l)
		p, other := s.plan(1).Plan, s.plan(3).Plan
		lock := flock.New(l.path + ".lock") // another process writes a line
		if locked, err := lock.TryLock(); !locked {
			t.Fatal(err)
		}
		if problem := s.call("register", map[string]any{"plan": other}, nil); !strings.HasPrefix(problem, "in_use: nothing was sent: ") {
			t.Errorf("while the ledger is in use: %q", problem)
		}
		get[ledgerView](s, "list_ledger", nil) // needs no lock
		lock.Unlock()
		if got := s.register(other); got.State != ledger.Entered {
			t.Errorf("then: %+v", got)
		}
		for _, fault := range []horseracingtest.Fault{
			{Path: "/", Status: 503, Times: -1}, {Path: "/", ResetBefore: true, Times: -1}, {Path: "/", Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Times: -1},
			{Path: "/", Delay: time.Hour, Times: -1},
		} {
			fake.Inject(fault)
			for tool, args := range map[string]map[string]any{"list_open_races": nil, "list_results": {"limit": 5}, "plan_registration": {"horse": 1, "race": 2}, "register": {"plan": p}} {
				began := time.Now()
				problem := s.call(tool, args, nil)
				if took := time.Since(began); took > time.Minute || tool != "register" && took > 30*time.Second || !strings.HasPrefix(problem, "unavailable: ") || tool == "register" && !strings.Contains(problem, "nothing was sent") {
					t.Errorf("%s after %v: %q", tool, took, problem)
				}
			}
			fake.ClearFaults()
			time.Sleep(2 * time.Hour) // what was learned of the pace is over
		}
		if entries, err := ledger.Read(l.path); posts(fake) != 1 || err != nil || len(entries) != 1 {
			t.Errorf("%d sent, recorded are %v, %v", posts(fake), entries, err)
		}
	})
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
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: test.args})
		if err != nil {
			t.Fatal(err)
		}
		text := result.Content[0].(*mcp.TextContent).Text
		if result.IsError || strings.ContainsAny(text, invisible) || strings.Contains(text, long[:101]) || !strings.Contains(text, long[:100]+"…") || !strings.HasPrefix(text, `{"about":"Names and other texts`) {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

func TestNoKeyAndNoInstructionLeavesItsField(t *testing.T) {
	fake, s := open(t, allowed(t))
	echo := fmt.Sprintf(`{"error":"%s. %s %s"}`, instruction, fake.APIKey, string(fake.UserKey(0)))
	p := s.plan(1).Plan
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400, Body: echo})
	refused := s.register(p)
	if refused.Entry == nil || refused.Entry.Paid != "no" || !strings.Contains(refused.Note, `recorded: "`) || strings.Contains(strings.Split(refused.Note, `"`)[0], instruction) {
		t.Errorf("%+v", refused)
	}
	fake.Inject(horseracingtest.Fault{Path: "/", Status: 403, Body: echo})
	problem := s.call("list_owned_horses", nil, nil)
	if !strings.HasPrefix(problem, "unauthorized: ") || !strings.Contains(problem, `the service's words: "`+instruction) {
		t.Error(problem)
	}
	said, err := json.Marshal([]any{refused, problem, get[ledgerView](s, "list_ledger", nil)})
	for _, key := range []string{fake.APIKey, string(fake.UserKey(0))} {
		if err != nil || strings.Contains(string(said), key) {
			t.Errorf("%v; a key is in\n%s", err, said)
		}
	}
}
