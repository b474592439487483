package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func ids(races list[raceView]) (ids []horseracing.RaceID) {
	for _, r := range races.Entries {
		ids = append(ids, r.Race)
	}
	return ids
}

func TestOpenRacesAreThoseThatCanBeEntered(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	change := func(id horseracing.RaceID, change func(*horseracing.Race)) {
		r := race(t, fake, id)
		change(&r)
		fake.AddRaces(r)
	}
	change(1, func(r *horseracing.Race) { r.Places, r.Participants = 1, []horseracing.RaceParticipant{{Number: 2}} })
	change(2, func(r *horseracing.Race) {
		r.RegistrationDeadline = horseracing.NewTimestamp(fake.Now().Add(-time.Minute))
	})
	change(3, func(r *horseracing.Race) { r.MinLevel, r.MaxLevel = 500, 501 })
	change(4, func(r *horseracing.Race) { r.Tier, r.EntryFee = "Delta", *tokens(t, "2") })
	s := inMemory(t, fake, settings{})
	for name, test := range map[string]struct {
		args map[string]any
		want []horseracing.RaceID
	}{
		"all, the full one last": {nil, []horseracing.RaceID{3, 4, 5, 1}},
		"closed ones too":        {map[string]any{"closed": true}, []horseracing.RaceID{3, 4, 5, 2, 1}},
		"for a horse":            {map[string]any{"horse": 1}, []horseracing.RaceID{4, 5}},
		"of a level":             {map[string]any{"level": 500, "tier": "omega"}, []horseracing.RaceID{3}},
		"by name":                {map[string]any{"tier": "delta"}, []horseracing.RaceID{4}},
		"with a limit":           {map[string]any{"limit": 2.0}, []horseracing.RaceID{3, 4}},
		"below a fee":            {map[string]any{"max_fee": "2"}, []horseracing.RaceID{4}},
	} {
		var open list[raceView]
		s.must("list_open_races", test.args, &open)
		if diff := cmp.Diff(test.want, ids(open)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if name == "with a limit" && open.LeftOut != 2 {
			t.Errorf("%d left out", open.LeftOut)
		}
	}
	if problem := s.call("list_open_races", map[string]any{"tier": "Silver"}, nil); !strings.Contains(problem, `of a tier "Silver"; found: Delta, Omega`) {
		t.Error(problem)
	}
}

func TestWhatCannotBeReadIsANote(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	body := `[{"main_race_id":"x"},{"main_race_id":2,"registration_deadline":` + fmt.Sprint(fake.Now().Add(time.Hour).UnixMilli()) + `}]`
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusOK, Body: body})
	var open list[raceView]
	if inMemory(t, fake, settings{}).must("list_open_races", nil, &open); len(open.Entries) != 1 || !strings.HasPrefix(open.Note, "some entries could not be read: ") {
		t.Errorf("%+v", open)
	}
}

func TestEachReadingToolReturnsWhatTheServiceHas(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	s := inMemory(t, fake, settings{})
	var open, results list[raceView]
	s.must("list_open_races", nil, &open)
	if r := open.Entries[0]; r.Fee != (amount{"2.5", "2500000000000000000"}) || r.Prizes[0] != (amount{"6", "6000000000000000000"}) || r.Name != instruction || !r.Enterable || r.Finished {
		t.Errorf("open races: %+v", open)
	}
	seen := map[horseracing.RaceID]bool{}
	args := map[string]any{"limit": 60, "tier": 5}
	for range 5 {
		results = list[raceView]{}
		s.must("list_results", args, &results)
		for _, r := range results.Entries {
			if seen[r.Race] || !r.Finished || len(r.Horses) == 0 {
				t.Errorf("a result is %+v", r)
			}
			seen[r.Race] = true
		}
		if results.Cursor == "" {
			break
		}
		args = map[string]any{"limit": 60, "cursor": results.Cursor}
	}
	if len(seen) != 150 || results.Cursor != "" {
		t.Errorf("%d races, cursor %q", len(seen), results.Cursor)
	}
	s.must("list_results", map[string]any{"since": fake.Now().Format(time.DateOnly)}, nil)
	var one wholeRace
	s.must("get_race", map[string]any{"race": results.Entries[0].Race}, &one)
	if len(one.Runners) != len(one.Horses) || one.Runners[0].Horse != one.Horses[0] || one.Runners[0].Total == 0 {
		t.Errorf("a finished race: %+v", one)
	}
	var horse, withTraits horseracing.Horse
	s.must("get_horse", map[string]any{"horse": 1}, &horse)
	s.must("get_horse", map[string]any{"horse": 1, "traits": true}, &withTraits)
	var owned list[horseracing.Horse]
	s.must("list_owned_horses", nil, &owned)
	if horse.Number != 1 || horse.Name == "" || horse.Appearance != nil || withTraits.Appearance == nil || len(owned.Entries) != len(fake.Horses(0)) || owned.Entries[0].Appearance != nil {
		t.Errorf("horse %+v, %d owned", horse, len(owned.Entries))
	}
	var missions list[missionView]
	s.must("list_missions", map[string]any{"horse": 1}, &missions)
	var breeding list[breedingView]
	s.must("list_breeding", map[string]any{"limit": 1}, &breeding)
	var cups, finished, rest list[tournamentView]
	s.must("list_tournaments", map[string]any{"tier": 5}, &cups)
	s.must("list_tournaments", map[string]any{"finished": true, "limit": 1}, &finished)
	s.must("list_tournaments", map[string]any{"finished": true, "cursor": finished.Cursor}, &rest)
	if len(missions.Entries) == 0 || missions.Entries[0].Name == "" || len(breeding.Entries) != 1 || breeding.LeftOut == 0 || breeding.Entries[0].Price == "" {
		t.Errorf("missions %+v, breeding %+v", missions, breeding)
	}
	if len(finished.Entries) != 1 || finished.Entries[0].Fee.Tokens == "" || len(rest.Entries) == 0 || rest.Entries[0].Tournament == finished.Entries[0].Tournament {
		t.Errorf("%d tournaments, finished %+v, then %+v", len(cups.Entries), finished, rest)
	}
	if problem := inMemoryAs(t, fake, "", settings{}, nil, "").call("list_owned_horses", nil, nil); !strings.Contains(problem, "HORSERACING_USER_KEY") {
		t.Errorf("without an owner: %q", problem)
	}
}

// A token is at least two bytes of JSON, mostly three or four.
const tenThousandTokens = 25_000

func TestAResultIsSmallIsSentOnceAndHasTheTimeOfTheService(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	for _, test := range []struct {
		set     settings
		version string
		isText  bool
	}{{settings{}, "", false}, {settings{}, "2025-06-18", false}, {settings{}, "2025-03-26", true}, {settings{text: true}, "", true}} {
		s := inMemoryAs(t, fake, fake.UserKey(0), test.set, nil, test.version)
		for tool, args := range map[string]map[string]any{
			"list_open_races": nil, "list_results": nil, "list_owned_horses": nil, "list_breeding": nil, "list_tournaments": {"finished": true},
			"get_race": {"race": 1}, "get_horse": {"horse": 1}, "list_missions": {"horse": 1},
		} {
			result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(result.StructuredContent)
			text := result.Content[0].(*mcp.TextContent).Text
			if len(body) > tenThousandTokens || err != nil || len(result.Content) != 1 || json.Valid([]byte(text)) != test.isText || !test.isText && (len(text) > 200 || strings.Contains(text, "\n")) {
				t.Errorf("%s of version %q: %d bytes, and %q", tool, test.version, len(body), text)
			}
			now, err := time.Parse(time.RFC3339, result.StructuredContent.(map[string]any)["now"].(string))
			if distance := fake.Now().Sub(now).Abs(); err != nil || distance > 5*time.Second {
				t.Errorf("%s: now is %v, %v", tool, now, err)
			}
		}
	}
}

func TestAMistakeInAnArgumentIsNamedWithWhatIsExpected(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/horses/missions/7", Status: 403, Body: "<!DOCTYPE html><html>blocked</html>", Times: -1})
	s := inMemory(t, fake, allowed(t))
	for _, test := range []struct {
		tool string
		args map[string]any
		want string // at the beginning, and after it
	}{
		{"get_race", nil, `invalid_argument: missing properties: ["race"]`},
		{"get_race", map[string]any{"race": "7"}, `invalid_argument: /properties/race: type: 7 has type "string", want "integer"`},
		{"get_race", map[string]any{"race": -1}, "invalid_argument: /properties/race: minimum: "},
		{"get_race", map[string]any{"race": 1.5}, "invalid_argument: /properties/race: type: "},
		{"get_race", map[string]any{"race": 1 << 53}, "invalid_argument: /properties/race: maximum: "},
		{"get_race", map[string]any{"race": 99999}, "not_found: "},
		{"get_race", map[string]any{"race": 1, "key": "x"}, `invalid_argument: unexpected additional properties ["key"]`},
		{"get_horse", map[string]any{"horse": 1, "traits": "perhaps"}, `invalid_argument: want "boolean"`},
		{"list_results", map[string]any{"cursor": "x"}, "invalid_argument: cursor must be"},
		{"list_results", map[string]any{"since": "yesterday"}, "invalid_argument: since must be a date or a time"},
		{"list_results", map[string]any{"tier": "Omega"}, `invalid_argument: /properties/tier: type: Omega has type "string", want "integer"`},
		{"list_results", map[string]any{"tier": 99}, "failed: there is no tier 99"},
		{"list_results", map[string]any{"limit": 101}, "invalid_argument: /properties/limit: maximum: "},
		{"list_breeding", map[string]any{"limit": 0}, "invalid_argument: /properties/limit: minimum: "},
		{"list_open_races", map[string]any{"max_fee": "a lot"}, "invalid_argument: max_fee must be a number of tokens"},
		{"list_open_races", map[string]any{"tier": "Silver"}, `invalid_argument: of a tier "Silver"; found: Omega`},
		{"list_open_races", map[string]any{"horse": 99999}, "not_found: "},
		{"list_missions", map[string]any{"horse": 7}, "unavailable: an HTML page; it is from a proxy or firewall"},
		{"plan_registration", map[string]any{"horse": 1, "race": 99999}, "not_found: "},
		{"settle", map[string]any{"all": true}, "invalid_argument: unexpected additional properties"},
	} {
		problem := s.call(test.tool, test.args, nil)
		code, words, _ := strings.Cut(test.want, ": ")
		if !strings.HasPrefix(problem, code+": ") || !strings.Contains(problem, words) {
			t.Errorf("%s %v: %q, want %q", test.tool, test.args, problem, test.want)
		}
	}
	if posts(fake) != 0 {
		t.Errorf("%d sent", posts(fake))
	}
}

func TestAServiceThatIsDownIsASentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(t, horseracingtest.WithInMemory())
		l := allowed(t)
		s := inMemory(t, fake, l)
		p := s.plan(1).Plan
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
		if entries, err := ledger.Read(l.path); posts(fake) != 0 || err != nil || len(entries) != 0 {
			t.Errorf("%d sent, recorded are %v, %v", posts(fake), entries, err)
		}
		s.Close()
	})
}

func TestNoKeyAndNoInstructionLeavesItsField(t *testing.T) {
	fake := newFake(t, horseracingtest.WithInMemory())
	l := allowed(t)
	s := inMemory(t, fake, l)
	echo := fmt.Sprintf(`{"error":"%s. %s %s"}`, instruction, fake.APIKey, string(fake.UserKey(0)))
	p := s.plan(1).Plan
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400, Body: echo})
	refused := s.register(p)
	if refused.Entry == nil || refused.Entry.Paid != "no" || !strings.Contains(refused.Note, `recorded: "`) || strings.Contains(strings.Split(refused.Note, `"`)[0], instruction) {
		t.Errorf("%+v", refused)
	}
	for _, tool := range []string{"list_open_races", "list_owned_horses", "list_breeding"} {
		echo := strings.ReplaceAll(echo, " "+string(fake.UserKey(0)), "")
		if tool == "list_owned_horses" { // whose request has the owner's key
			echo = fmt.Sprintf(`{"error":"%s %s"}`, fake.APIKey, string(fake.UserKey(0)))
		}
		fake.Inject(horseracingtest.Fault{Path: "/", Status: 403, Body: fmt.Sprintf(`{"error":"%s"}`, instruction)})
		if problem := s.call(tool, nil, nil); !strings.HasPrefix(problem, "unauthorized: ") || !strings.Contains(problem, `the service's words: "`+instruction+`"`) {
			t.Errorf("%s: %s", tool, problem)
		}
		fake.Inject(horseracingtest.Fault{Path: "/", Status: 400, Body: echo})
		s.call(tool, nil, nil)
	}
	s.must("list_ledger", nil, nil)
	for _, key := range []string{fake.APIKey, string(fake.UserKey(0))} {
		if strings.Contains(s.said.String(), key) {
			t.Errorf("a key is in\n%s", s.said)
		}
	}
	var one raceView
	if s.must("get_race", map[string]any{"race": 1}, &one); one.Name != instruction || strings.Contains(s.InitializeResult().Instructions, instruction) {
		t.Errorf("%+v", one)
	}
}
