package reading_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// driftLog collects drift from any goroutine.
type driftLog struct {
	mu  sync.Mutex
	all []horseracing.Drift
}

func (l *driftLog) handle(_ context.Context, d horseracing.Drift) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

func (l *driftLog) sorted() []horseracing.Drift {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.all, func(a, b horseracing.Drift) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Path, b.Path))
	})
	return l.all
}

// The documented responses, with every member.
const (
	info         = `"info":{"name":"Dawn","hippodrome_type":"Oval","hippodrome_name":"North","turf":"Grass"}`
	raceBase     = `"main_race_id":7,"start_time":1,"registration_deadline":1,"length":8,"v2":true,"no_equipment":false,"entry_fee":5,"prizes":[3,2],"tier":"Omega","places":12,"status":"",` + info
	versionOne   = `{` + raceBase + `,"participants":[{"number":1,"total":9.5,"lane":1}],"final_order":[0],"winners":[0]}`
	versionTwo   = `{"type":"best_time","min_level":1,"max_level":9,` + raceBase + `,"participants":[{"number":1,"total":9.5,"lane":1}],"final_order":[0],"winners":[0]}`
	openRace     = `{"_id":"a","type":"best_time","min_level":1,"max_level":9,` + raceBase + `,"participants":[{"number":1}]}`
	horse        = `{"name":"A","image":"","external_url":"","number":1,"gender":"Mare","height":1.6,"weight":400,"level":3,"appearance":[{"trait_type":"ear_type","value":"x"}],"breeding_cooldown":null,"breed":"b","generation":1,"tier":"Beta"}`
	listedHorse  = `{"name":"A","number":1,"gender":"Mare","wins_first_count":0,"wins_second_count":0,"wins_third_count":0,"total_race_count":0,"price":1.5,"generation":1,"tier":"Omega"}`
	horseMission = `{"type":"daily","mission":"run_x_races","name":"Run","count":1,"reward_xp":1,"reward_sugar":1,"progress":[{"any":{"shape":1}}],"processed":false,"completed":false}`
	missionRow   = `{"type":"run_x_races","min":1,"max":2,"description":"run","xp_base":-1,"xp_modifier":1,"sugar_base":1,"sugar_modifier":1}`
	catalogue    = `{"daily":[` + missionRow + `],"weekly":[],"monthly":[]}`
	tournament   = `{"_id":"t","name":"Cup","description":"","hippodrome_id":"h","hippodrome_name":"North","turf":1,"registration_open":1,"registration_deadline":1,"start_time":1,"length":8,"places":12,"min_places":2,"entry_fee":5,"prizes":[1],"no_equipment":false,"min_level":1,"max_level":9,"max_participants_per_wallet":1,"min_race_count":0,"max_race_count":null,"type":"best_time","status":2,"tier":5,` +
		`"stages":[{"race_count":1,"start_time":1,"minutes_between_races":1.5,"name":"Final","results":[{"number":1,"total":1.5,"main_race_id":7}],"status":2,"current_round":1}],` +
		`"participants":[{"number":1,"dropped_at_index":-1,"total":1.5}],` +
		`"additional_prizes":[{"additional_gold":1,"additional_treasury_gold":2,"additional_sugar":3,"additional_items":[{"_id":"i","type":"hat"}]}]}`
)

// without removes a piece that must be there.
func without(text string, pieces ...string) string {
	for _, piece := range pieces {
		if !strings.Contains(text, piece) {
			panic("no " + piece)
		}
		text = strings.Replace(text, piece, "", 1)
	}
	return text
}

// with adds members to the first object that begins with a piece.
func with(text, begin, members string) string {
	if !strings.Contains(text, begin) {
		panic("no " + begin)
	}
	return strings.Replace(text, begin, begin+members+",", 1)
}

// The operations, each as a function that makes one request.
var (
	callOpen            = calling("Races.Open")
	callRace            = calling("Races.Get")
	callV2              = calling("Races.Results")
	callV1              = calling("Races.ResultsV1")
	callRegister        = calling("Races.Register")
	callHorse           = calling("Horses.Get")
	callOwned           = calling("Horses.Owned")
	callBreeding        = calling("Horses.OpenForBreeding")
	callMissions        = calling("Horses.Missions")
	callCatalogue       = calling("Missions.Catalogue")
	callTournaments     = calling("Tournaments.Results")
	callOpenTournaments = calling("Tournaments.Open")
	callTournament      = calling("Tournaments.Get")
)

// calling returns a call of an operation; of a listing, for a single entry.
func calling(name string) func(context.Context, *horseracing.Client) error {
	all := operations()
	op := all[slices.IndexFunc(all, func(op operationTest) bool { return op.Name == name })]
	return func(ctx context.Context, c *horseracing.Client) (err error) {
		if op.Further != nil {
			_, err = op.Further(ctx, c, 1)
		} else {
			_, err = op.Call(ctx, c, testdataIDs)
		}
		return err
	}
}

func TestDriftIsEveryDifferenceOfTypesAndResponse(t *testing.T) {
	const unknown, missing = horseracing.DriftUnknownField, horseracing.DriftMissingField
	tests := map[string]struct {
		call func(context.Context, *horseracing.Client) error
		body string
		want []horseracing.Drift
	}{
		"an open race":            {callOpen, double.List(openRace), nil},
		"an open race for itself": {callRace, double.List(openRace), nil},
		"a result of version 2":   {callV2, double.List(versionTwo), nil},
		"a result of version 1":   {callV1, double.List(versionOne), nil},
		"a horse":                 {callHorse, horse, nil},
		"a user's horses":         {callOwned, double.List(horse), nil},
		"a breeding listing":      {callBreeding, double.List(listedHorse), nil},
		"a horse's missions":      {callMissions, `{"number":1,"missions":` + double.List(horseMission) + `}`, nil},
		"the catalogue":           {callCatalogue, catalogue, nil},
		"a finished tournament":   {callTournaments, double.List(tournament), nil},
		"the optional members": {callMissions, `{"number":1,"missions":` +
			double.List(with(horseMission, "{", `"place":1,"hippodrome":null,"furlongs":3`)) + `}`, nil},
		"the optional bounds":          {callCatalogue, with(catalogue, `[{`, `"furlong_min":1,"furlong_max":2,"place_min":null`), nil},
		"members of another listing":   {callV1, double.List(with(versionTwo, "{", `"_id":"a"`)), nil},
		"null for an object":           {callOpen, double.List(strings.Replace(openRace, info, `"info":null`, 1)), nil},
		"a registration":               {callRegister, `{"anything":true}`, nil},
		"white space":                  {callHorse, strings.NewReplacer(":", " :\n", ",", "\t,\r ", "{", "{ ", "]", "\n]").Replace(horse), nil},
		"escapes in a documented name": {callHorse, strings.Replace(horse, `"tier"`, `"t\u0069er"`, 1), nil},

		"a new member of a race": {callOpen, double.List(with(openRace, "{", `"weather":{"wind":[1,{"x":"}]\""}]}`)),
			[]horseracing.Drift{{Route: "/api/v1/races/open", Path: "[].weather", Kind: unknown}}},
		"a new member within": {callOpen, double.List(with(openRace, `"info":{`, `"weather":"rain"`)),
			[]horseracing.Drift{{Route: "/api/v1/races/open", Path: "[].info.weather", Kind: unknown}}},
		"a new member of an entry": {callOpen, double.List(openRace, with(openRace, `"participants":[{`, `"jockey":null`)),
			[]horseracing.Drift{{Route: "/api/v1/races/open", Path: "[].participants[].jockey", Kind: unknown}}},
		"a new member of a single object": {callHorse, with(horse, "{", `"age":3`),
			[]horseracing.Drift{{Route: "/api/v1/horses/{horse_number}", Path: "age", Kind: unknown}}},
		"a new prize": {callTournaments, double.List(with(tournament, `"additional_prizes":[{`, `"bonus":1`)),
			[]horseracing.Drift{{Route: "/api/v1/tournaments/results", Path: "[].additional_prizes[].bonus", Kind: unknown}}},
		"a member in another case": {callHorse, strings.Replace(horse, `"tier"`, `"Tier"`, 1), []horseracing.Drift{
			{Route: "/api/v1/horses/{horse_number}", Path: "Tier", Kind: unknown},
			{Route: "/api/v1/horses/{horse_number}", Path: "tier", Kind: missing}}},
		"a key as a name": {callOwned, double.List(with(horse, "{", `"for user \"k\u0065y\" <1>":1`)),
			[]horseracing.Drift{{Route: "/api/v1/horses/user", Path: "[].for [redacted]", Kind: unknown}}},

		"a missing member": {callRace, double.List(without(openRace, `"_id":"a",`, `,"turf":"Grass"`)), []horseracing.Drift{
			{Route: "/api/v1/races/{raceId}", Path: "[]._id", Kind: missing},
			{Route: "/api/v1/races/{raceId}", Path: "[].info.turf", Kind: missing}}},
		"version 2 without what sets it apart": {callV2, double.List(without(versionOne, `,"winners":[0]`, `,"lane":1`)), []horseracing.Drift{
			{Route: "/api/v2/races/results", Path: "[].max_level", Kind: missing},
			{Route: "/api/v2/races/results", Path: "[].min_level", Kind: missing},
			{Route: "/api/v2/races/results", Path: "[].participants[].lane", Kind: missing},
			{Route: "/api/v2/races/results", Path: "[].type", Kind: missing},
			{Route: "/api/v2/races/results", Path: "[].winners", Kind: missing}}},
		"a prize of two names": {callTournaments, double.List(strings.Replace(tournament, `"additional_gold":1,`, `"additional_gold":1,"additional_bonus":2,`, 1)),
			[]horseracing.Drift{{Route: "/api/v1/tournaments/results", Path: "[].additional_prizes[].additional_bonus", Kind: unknown}}},
		"a missing prize": {callTournaments, double.List(without(tournament, `"additional_gold":1,`)),
			[]horseracing.Drift{{Route: "/api/v1/tournaments/results", Path: "[].additional_prizes[].additional_token", Kind: missing}}},

		"a tournament, whose members are undocumented": {callTournament, `{"_id":"t","sponsor":"x"}`,
			[]horseracing.Drift{{Route: "/api/v1/tournaments/{tournamentId}", Path: "sponsor", Kind: unknown}}},
		"open tournaments, whose members are undocumented": {callOpenTournaments, `[{"_id":"t","sponsor":"x"}]`,
			[]horseracing.Drift{{Route: "/api/v1/tournaments/open", Path: "[].sponsor", Kind: unknown}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var log driftLog
			c := responding(t, test.body, horseracing.WithDriftHandler(log.handle))
			for range 2 { // reported once
				if err := test.call(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortFunc(test.want, func(a, b horseracing.Drift) int { return cmp.Compare(a.Path, b.Path) })
			if diff := gocmp.Diff(test.want, log.sorted()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDriftIsReportedForEachRouteAndToEachClient(t *testing.T) {
	body := double.List(with(openRace, "{", `"weather":1`))
	for range 2 {
		var log driftLog
		c := responding(t, body, horseracing.WithDriftHandler(log.handle))
		for range 3 {
			if err := cmp.Or(callOpen(t.Context(), c), callRace(t.Context(), c)); err != nil {
				t.Fatal(err)
			}
		}
		want := []horseracing.Drift{
			{Route: "/api/v1/races/open", Path: "[].weather", Kind: horseracing.DriftUnknownField},
			{Route: "/api/v1/races/{raceId}", Path: "[].weather", Kind: horseracing.DriftUnknownField},
		}
		if diff := gocmp.Diff(want, log.sorted()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDriftIsBoundedWhereNamesAreData(t *testing.T) {
	var members strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `"%d-%s":1,`, i, strings.Repeat("n", 300))
	}
	var log driftLog
	c := responding(t, "{"+members.String()+horse[1:], horseracing.WithDriftHandler(log.handle))
	if err := callHorse(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := len(log.all); n != 100 {
		t.Errorf("%d reports, want 100", n)
	}
	for _, d := range log.all {
		if len(d.Path) > 210 {
			t.Fatalf("a path of %d bytes", len(d.Path))
		}
	}
}

func TestDriftHandlerMayCallTheClient(t *testing.T) {
	var c *horseracing.Client
	calls := 0
	c = responding(t, double.List(with(openRace, "{", `"weather":1`)), horseracing.WithDriftHandler(func(ctx context.Context, _ horseracing.Drift) {
		calls++
		if err := callOpen(ctx, c); err != nil {
			t.Error(err)
		}
	}))
	if err := callOpen(t.Context(), c); err != nil || calls != 1 {
		t.Errorf("error %v, %d calls", err, calls)
	}
}

func TestDoIsNotComparedWithTheTypes(t *testing.T) {
	var log driftLog
	c := responding(t, `[{"main_race_id":1,"weather":1}]`, horseracing.WithDriftHandler(log.handle))
	var races []horseracing.Race
	if err := c.Do(t.Context(), http.MethodGet, "/api/v1/races/open", nil, &races); err != nil || len(races) != 1 {
		t.Fatal(races, err)
	}
	if log.all != nil {
		t.Error(log.all)
	}
}
