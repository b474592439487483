package horseracing_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestDriftIsReportedAlsoWhereAnEntryIsUnreadable(t *testing.T) {
	var paths []string
	handler := horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) {
		if d.Kind == horseracing.DriftUnknownField {
			paths = append(paths, d.Path)
		}
	})
	body := `[{"main_race_id":1,"weather":"fine"},{"main_race_id":2,"places":{},"odd":1},{"main_race_id":3,"a":1,"a":2}]`
	races, err := responding(t, body, handler, ignoreSkipped).Races.Open(t.Context())
	if len(races) != 1 || err != nil {
		t.Errorf("%d races, %v", len(races), err)
	}
	slices.Sort(paths)
	double.Equal(t, "paths", []string{"[].a", "[].odd", "[].weather"}, paths)
}

var ignoreSkipped = horseracing.WithSkipHandler(func(context.Context, error) {})

// Each member in turn is of another type: programs decide by some, the others cost
// nothing but themselves.
func TestDecodeReadsAnEntryWithoutAMemberOfAnotherType(t *testing.T) {
	decisive := regexp.MustCompile(`^/\d*/?(start_time|registration_deadline|entry_fee|price|level|min_level|max_level|places|breeding_cooldown|final_order|winners|participants)$` +
		`|/(main_race_id|number)$|^/0/_id$|/participants/0$`)
	index, members := regexp.MustCompile(`/\d+`), 0
	for name, body := range map[string]string{
		"Races.Open": double.List(openRace), "Races.Results": double.List(versionTwo), "Tournaments.Open": double.List(tournament),
		"Horses.Get": horse, "Horses.OpenForBreeding": double.List(listedHorse), "Horses.Missions": `{"number":1042,"missions":[` + horseMission + `]}`, "Missions.Catalogue": catalogue,
	} {
		for pointer, odd := range withOtherTypes(body) {
			if name == "Races.Open" && pointer == "/0/_id" {
				continue // no method takes it
			}
			var log driftLog
			value, err := valueOf(t, name, odd.body, horseracing.WithDriftHandler(log.handle))
			members++
			if decisive.MatchString(pointer) {
				if d, ok := errors.AsType[*horseracing.DecodeError](err); !ok || d.Field != pointer {
					t.Errorf("%s: %s: %v", name, pointer, err)
				}
				continue
			}
			want, _ := valueOf(t, name, odd.without)
			if diff := gocmp.Diff(want, value); diff != "" || err != nil {
				t.Errorf("%s: %s: %v, %s", name, pointer, err, diff)
			}
			path := strings.ReplaceAll(strings.TrimPrefix(index.ReplaceAllString(pointer, "[]"), "/"), "/", ".")
			if !slices.Contains(log.all, horseracing.Drift{Route: log.all[0].Route, Path: path, Kind: horseracing.DriftWrongType}) {
				t.Errorf("%s: drift of %s: %v", name, path, log.all)
			}
		}
	}
	if members < 100 {
		t.Errorf("%d members", members)
	}
}

// valueOf returns what an operation makes of a body; a listing, of its first entry.
func valueOf(t *testing.T, operation, body string, opts ...horseracing.Option) (any, error) {
	return operationOf(operation).once(t.Context(), responding(t, body, opts...))
}

// otherType is a body in which one value has another type, and the body without it.
type otherType struct{ body, without string }

// withOtherTypes returns a body for each value in a body, by its JSON pointer.
func withOtherTypes(body string) map[string]otherType {
	all := map[string]otherType{}
	var root any
	if err := json.Unmarshal([]byte(body), &root); err != nil {
		panic(err)
	}
	text := func() string { encoded, _ := json.Marshal(root); return string(encoded) }
	var walk func(at any, pointer string)
	walk = func(at any, pointer string) {
		switch at := at.(type) {
		case []any:
			if len(at) > 0 {
				walk(at[0], pointer+"/0")
			}
		case map[string]any:
			for name, value := range at {
				var other any = struct{}{}
				if _, isObject := value.(map[string]any); isObject {
					other = "text"
				}
				at[name] = other
				odd := otherType{body: text()}
				delete(at, name)
				odd.without = text()
				at[name], all[pointer+"/"+name] = value, odd
				if name != "additional_prizes" && name != "progress" { // their elements are read as a whole, whatever they are
					walk(value, pointer+"/"+name)
				}
			}
		}
	}
	walk(root, "")
	return all
}

func TestDecodeAcceptsWhatHasOneObviousMeaning(t *testing.T) {
	at := time.UnixMilli(1767225600250).UTC()
	for name, test := range map[string]struct {
		operation, body string
		want            any
	}{
		"12.0 where an integer stands, and the rest exactly as it came": {
			"Races.Open", `[{"main_race_id":11.0,"length":12.0,"places":1e1,"prizes":[5.0],"entry_fee":5.0,"participants":[{"number":7.0,"lane":2.0,"total":9.5}],"final_order":[0.0]}]`,
			[]horseracing.Race{{MainRaceID: 11, Length: 12, Places: 10, Prizes: []horseracing.Number{number("5.0")}, EntryFee: bigInt("5"), Participants: []horseracing.RaceParticipant{{Number: 7, Lane: 2, Total: 9.5}}, FinalOrder: []int{0}}},
		},
		"a name that is not UTF-8": {
			"Races.Open", "[{\"info\":{\"name\":\"Pr\xffx\"}}]", []horseracing.Race{{Info: horseracing.RaceInfo{Name: "Pr\ufffdx"}}},
		},
		"only a member's exact name": { // encoding/json takes ENTRY_FEE for entry_fee
			"Races.Open", `[{"entry_fee":5,"ENTRY_FEE":7,"Tier":"x"}]`, []horseracing.Race{{EntryFee: bigInt("5")}},
		},
		"likewise in a tournament": {
			"Tournaments.Open", `{"_id":"x","tier":5.0,"max_race_count":7.0}`, []horseracing.Tournament{{ID: "x", Tier: horseracing.TierOmega, MaxRaceCount: new(7)}},
		},
		"a cooldown that is empty": {"Horses.Get", `{"number":1042,"breeding_cooldown":""}`, &horseracing.Horse{Number: 1042}},
		"a cooldown that is over": {
			"Horses.Owned", `[{"number":8,"breeding_cooldown":"2026-01-01T00:00:00.250Z"},{"number":9,"breeding_cooldown":null}]`,
			[]horseracing.Horse{{Number: 8, BreedingCooldown: &at}, {Number: 9}},
		},
	} {
		got, err := valueOf(t, test.operation, test.body)
		if diff := gocmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestDecodeRefusesADuplicateMember(t *testing.T) {
	for body, field := range map[string]string{
		`[{"tier":"a","tier":"a"}]`:                                 "/0/tier",
		`[{"main_race_id":1},{"info":{"name":"a","name":"b"}}]`:     "/1/info/name",
		`[{"participants":[{"number":1},{"number":1,"number":2}]}]`: "/0/participants/1/number",
		`[{"main_race_id":1},{"a":1,"a":2}]`:                        "/1/a",
		`[{"length":12.0,"length":12.0}]`:                           "/0/length",
	} {
		_, err := responding(t, body).Races.Open(t.Context())
		if d, ok := errors.AsType[*horseracing.DecodeError](err); !ok || d.Field != field {
			t.Errorf("%s: %v", body, err)
		}
	}
	_, err := responding(t, `[{"_id":"x","additional_prizes":[{"additional_sugar":1,"additional_sugar":2}]}]`).Tournaments.Open(t.Context())
	if _, ok := errors.AsType[*horseracing.DecodeError](err); !ok {
		t.Errorf("in a prize: %v", err)
	}
	_, err = responding(t, `{"number":7,"level":1,"level":2}`).Horses.Get(t.Context(), 7)
	if d, ok := errors.AsType[*horseracing.DecodeError](err); !ok || d.Field != "/level" {
		t.Errorf("in one horse: %v", err)
	}
}

// An int has 32 bits on some machines: a member that does not fit stays zero, as one of
// another type does.
func TestDecodeReadsAnIntegerWholeOrNotAtAll(t *testing.T) {
	want := int64(4294967297)
	if strconv.IntSize == 32 {
		want = 0
	}
	races, err := double.Play(double.Respond(200, `[{"main_race_id":1,"length":4294967297}]`)).Client(t).Races.Open(t.Context())
	if err != nil || int64(races[0].Length) != want {
		t.Errorf("%v, %v, want a length of %d", races, err, want)
	}
}

// reads returns every operation that reads, by name: what it decoded, or an
// error. A paged listing is read beyond a page.
func reads() map[string]func(context.Context, *horseracing.Client) (any, error) {
	all := map[string]func(context.Context, *horseracing.Client) (any, error){}
	for _, op := range operations() {
		switch {
		case op.Method != http.MethodGet:
		case op.Further != nil:
			all[op.Name] = func(ctx context.Context, c *horseracing.Client) (any, error) { return op.Further(ctx, c, 20) }
		default:
			all[op.Name] = func(ctx context.Context, c *horseracing.Client) (any, error) {
				return op.Call(ctx, c, testdataIDs)
			}
		}
	}
	return all
}

// FuzzResponses gives the same bytes to every operation: each reads them or returns
// why not, with few requests; what was read can be written and read again.
func FuzzResponses(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", "[null]", `{"error":"x"}`, `{"errors":[{"detail":"x"}]}`, "<html>", `[{"main_race_id":1,"start_time":1700000000000,"entry_fee":1e+21}]`,
		`[{"_id":"a","start_time":1700000000000,"additional_prizes":[{"additional_gold":1,"additional_treasury_gold":2.5}]}]`,
		`{"number":7,"missions":[{"type":"daily","progress":[1,{}]}]}`, `{"daily":[{"xp_base":-1.5,"place_min":1}]}`, "[{\"name\":\"\xff\"}]",
		strings.Repeat("[", 10_001), `[{"entry_fee":1e100}]`, `[{"a":1,"a":2}]`,
	} {
		f.Add([]byte(seed))
	}
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		requests := 0
		c := responding(t, string(body), counting(&requests), double.NoRetries(), horseracing.WithMaxResponseBytes(1<<20),
			horseracing.WithDriftHandler(func(context.Context, horseracing.Drift) {}))
		for name, read := range reads() {
			requests = 0
			value, err := read(t.Context(), c)
			if requests > 30 {
				t.Errorf("%s: %d requests", name, requests)
			}
			if err != nil {
				double.CheckError(t, name, err)
				if reflect.ValueOf(value).Kind() != reflect.Slice { // of a list, what could be read is beside
					continue
				}
			}
			written, err := json.Marshal(value)
			again := reflect.New(reflect.TypeOf(value))
			if err == nil {
				err = json.Unmarshal(written, again.Interface())
			}
			if err != nil {
				t.Errorf("%s: cannot be written and read again: %v", name, err)
			}
			if rewritten, _ := json.Marshal(again.Interface()); string(rewritten) != string(written) {
				t.Errorf("%s: written as %s, read again and written as %s", name, written, rewritten)
			}
		}
		if _, err := c.Races.Register(t.Context(), horseracing.Registration{Horse: 1, Race: 2, UserKey: "user key"}); err != nil {
			double.CheckError(t, "register", err)
		}
	})
}

// counting counts the requests that pass.
func counting(requests *int) horseracing.Option {
	return double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		*requests++
		return next.RoundTrip(req)
	})
}

func TestDecodeReadsAtMostAHundredThousandEntries(t *testing.T) {
	body := func(n int) string { return "[" + strings.Repeat(`{"level":1},`, n-1) + `{"level":1}]` }
	if horses, err := responding(t, body(100_000)).Horses.Owned(t.Context(), "u"); err != nil || len(horses) != 100_000 {
		t.Errorf("%d horses, %v", len(horses), err)
	}
	horses, err := responding(t, body(100_001)).Horses.Owned(t.Context(), "u")
	if _, ok := errors.AsType[*horseracing.DecodeError](err); !ok || horses != nil || !strings.Contains(err.Error(), "a list of more than 100000 entries") {
		t.Errorf("%d horses, %v", len(horses), err)
	}
}

// What a hostile response may cost. Everything is refused, or read, in a moment.
func TestDecodeReadsHostileResponsesInBoundedMemory(t *testing.T) {
	double.UnlessShort(t)
	nested := strings.Repeat("[", 2<<20)
	for name, body := range map[string]string{
		"nested arrays":        nested,
		"nested objects":       strings.Repeat(`{"a":`, 400_000),
		"nested in an unknown": `[{"unknown":` + nested + `}]`,
		"nested errors":        strings.Repeat(`{"error":`, 200_000) + "1" + strings.Repeat("}", 200_000),
		"a list of errors":     `{"error":[` + strings.Repeat("0,", 1<<20) + `0]}`,
		"a long number":        `[{"entry_fee":` + strings.Repeat("9", 2<<20) + `}]`,
		"a huge exponent":      `[{"entry_fee":1e1000000000}]`,
		"a long string":        `[{"tier":"` + strings.Repeat("x", 2<<20) + `"}]`,
		"many members":         `[{` + manyMembers(200_000) + `}]`,
		"spaces":               strings.Repeat(" ", 7<<20) + "[]",
		"empty entries":        "[" + strings.Repeat("{},", 2<<20) + "{}]",
		"other types":          `[{"_id":"x","main_race_id":1,"participants":[` + strings.Repeat(`{"total":"unknown"},`, 100_000) + `{}]}]`,
		"other entries":        `[` + strings.Repeat(`{"number":7,"_id":"x","main_race_id":1,"tier":{},"length":"8","turf":{},"name":1},`, 25_000) + `{"number":7,"main_race_id":1}]`,
		"null entries":         "[" + strings.Repeat("null,", 1<<20) + "null]",
	} {
		for status := range map[int]bool{200: true, 400: true} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				calls := []func(context.Context, *horseracing.Client) error{double.OpenRaces, double.Register, double.OneCup}
				if status == 400 { // which all of them read alike
					calls = calls[:2]
				}
				for i, call := range calls {
					c := double.Play(double.Respond(status, body)).Client(t)
					var err error
					memory := grown(func() { err = call(t.Context(), c) })
					var decode *horseracing.DecodeError
					var api *horseracing.APIError
					if status == 400 && !errors.As(err, &api) {
						t.Errorf("a refusal became %v", err)
					}
					switch harmless := strings.HasPrefix(name, "other") || name == "spaces" || name == "a long string" || name == "many members"; {
					case status != 200 || i > 0:
					case harmless && err != nil:
						t.Errorf("long, but without harm: %.200v", err)
					case !harmless && !errors.As(err, &decode) && !errors.As(err, &api):
						t.Errorf("taken for a response: %.200v", err)
					}
					if memory > 40*uint64(len(body))+(256<<20) {
						t.Errorf("%d KiB took %d MiB", len(body)>>10, memory>>20)
					}
				}
			})
		}
	}
}

// grown returns how much memory f took on its way.
func grown(f func()) (bytes uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDecodeCapsAGzipBombAfterDecompression(t *testing.T) {
	double.UnlessShort(t)
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	z.Write([]byte("["))
	for range 256 {
		z.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	z.Close()
	for _, status := range []int{200, 500} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			w.Write(bomb.Bytes())
		})
		var err error
		memory := grown(func() { _, err = c.Races.Open(t.Context()) })
		if want := map[int]error{200: horseracing.ErrResponseTooLarge, 500: horseracing.ErrServer}[status]; !errors.Is(err, want) {
			t.Errorf("%d: %v", status, err)
		}
		if memory > 300<<20 { // under the race detector a buffer takes twice as much to grow
			t.Errorf("%d: %d bytes became %d MiB", status, bomb.Len(), memory>>20)
		}
	}
}

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
	raceBase     = `"main_race_id":880200,"start_time":1,"registration_deadline":1,"length":8,"v2":true,"no_equipment":false,"entry_fee":5,"prizes":[3,2],"tier":"Omega","places":12,"status":"",` + info
	versionOne   = `{` + raceBase + `,"participants":[{"number":1,"total":9.5,"lane":1}],"final_order":[0],"winners":[0]}`
	versionTwo   = `{"type":"best_time","min_level":1,"max_level":9,` + raceBase + `,"participants":[{"number":1,"total":9.5,"lane":1}],"final_order":[0],"winners":[0]}`
	openRace     = `{"_id":"a","type":"best_time","min_level":1,"max_level":9,` + raceBase + `,"participants":[{"number":1}]}`
	horse        = `{"name":"A","image":"","external_url":"","number":1042,"gender":"Mare","height":1.6,"weight":400,"level":3,"appearance":[{"trait_type":"ear_type","value":"x"}],"breeding_cooldown":null,"breed":"b","generation":1,"tier":"Beta"}`
	listedHorse  = `{"name":"A","number":1,"gender":"Mare","wins_first_count":0,"wins_second_count":0,"wins_third_count":0,"total_race_count":0,"price":1.5,"generation":1,"tier":"Omega"}`
	horseMission = `{"type":"daily","mission":"run_x_races","name":"Run","count":1,"reward_xp":1,"reward_sugar":1,"progress":[{"any":{"shape":1}}],"processed":false,"completed":false}`
	missionRow   = `{"type":"run_x_races","min":1,"max":2,"description":"run","xp_base":-1,"xp_modifier":1,"sugar_base":1,"sugar_modifier":1}`
	catalogue    = `{"daily":[` + missionRow + `],"weekly":[],"monthly":[]}`
	tournament   = `{"_id":"64aa10f2c3d4e5f601234999","name":"Cup","description":"","hippodrome_id":"h","hippodrome_name":"North","turf":1,"registration_open":1,"registration_deadline":1,"start_time":1,"length":8,"places":12,"min_places":2,"entry_fee":5,"prizes":[1],"no_equipment":false,"min_level":1,"max_level":9,"max_participants_per_wallet":1,"min_race_count":0,"max_race_count":null,"type":"best_time","status":2,"tier":5,` +
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

// with adds members to the first object that starts with a piece.
func with(text, begin, members string) string {
	if !strings.Contains(text, begin) {
		panic("no " + begin)
	}
	return strings.Replace(text, begin, begin+members+",", 1)
}

func TestDriftIsEveryDifferenceOfTypesAndResponse(t *testing.T) {
	const unknown = horseracing.DriftUnknownField
	tests := map[string]struct {
		operation, body string
		want            []horseracing.Drift
	}{
		"an open race":            {"Races.Open", double.List(openRace), nil},
		"an open race for itself": {"Races.Get", double.List(openRace), nil},
		"a result of version 2":   {"Races.Results", double.List(versionTwo), nil},
		"a result of version 1":   {"Races.ResultsV1", double.List(versionOne), nil},
		"a horse":                 {"Horses.Get", horse, nil},
		"a user's horses":         {"Horses.Owned", double.List(horse), nil},
		"a breeding listing":      {"Horses.OpenForBreeding", double.List(listedHorse), nil},
		"a horse's missions":      {"Horses.Missions", `{"number":1042,"missions":` + double.List(horseMission) + `}`, nil},
		"the catalogue":           {"Missions.Catalogue", catalogue, nil},
		"a finished tournament":   {"Tournaments.Results", double.List(tournament), nil},
		"the optional members": {"Horses.Missions", `{"number":1042,"missions":` +
			double.List(with(horseMission, "{", `"place":1,"hippodrome":null,"furlongs":3`)) + `}`, nil},
		"the optional bounds":          {"Missions.Catalogue", with(catalogue, `[{`, `"furlong_min":1,"furlong_max":2,"place_min":null`), nil},
		"members of another listing":   {"Races.ResultsV1", double.List(with(versionTwo, "{", `"_id":"a"`)), nil},
		"null for an object":           {"Races.Open", double.List(strings.Replace(openRace, info, `"info":null`, 1)), nil},
		"a registration":               {"Races.Register", `{"anything":true}`, nil},
		"white space":                  {"Horses.Get", strings.NewReplacer(":", " :\n", ",", "\t,\r ", "{", "{ ", "]", "\n]").Replace(horse), nil},
		"escapes in a documented name": {"Horses.Get", strings.Replace(horse, `"tier"`, `"t\u0069er"`, 1), nil},

		"a new member of a race": {"Races.Open", double.List(with(openRace, "{", `"weather":{"wind":[1,{"x":"}]\""}]}`)),
			[]horseracing.Drift{{Route: "/api/v1/races/open", Path: "[].weather", Kind: unknown}}},
		"a new member within": {"Races.Open", double.List(with(openRace, `"info":{`, `"weather":"rain"`)),
			[]horseracing.Drift{{Route: "/api/v1/races/open", Path: "[].info.weather", Kind: unknown}}},
		"a new member of an entry": {"Races.Open", double.List(openRace, with(openRace, `"participants":[{`, `"jockey":null`)),
			[]horseracing.Drift{{Route: "/api/v1/races/open", Path: "[].participants[].jockey", Kind: unknown}}},
		"a new member of a single object": {"Horses.Get", with(horse, "{", `"age":3`),
			[]horseracing.Drift{{Route: "/api/v1/horses/{horse_number}", Path: "age", Kind: unknown}}},
		"a member in another case": {"Horses.Get", strings.Replace(horse, `"tier"`, `"Tier"`, 1), []horseracing.Drift{
			{Route: "/api/v1/horses/{horse_number}", Path: "Tier", Kind: unknown}}},
		"a key as a name": {"Horses.Owned", double.List(with(horse, "{", `"for user \"k\u0065y\" <1>":1`)),
			[]horseracing.Drift{{Route: "/api/v1/horses/user", Path: "[].for [redacted]", Kind: unknown}}},

		"missing members": {"Races.Get", double.List(without(openRace, `"_id":"a",`, `,"turf":"Grass"`)), nil},

		"a tournament, whose members are undocumented": {"Tournaments.Get", `{"_id":"64aa10f2c3d4e5f601234999","sponsor":"x"}`,
			[]horseracing.Drift{{Route: "/api/v1/tournaments/{tournamentId}", Path: "sponsor", Kind: unknown}}},
		"open tournaments, whose members are undocumented": {"Tournaments.Open", `[{"_id":"64aa10f2c3d4e5f601234999","sponsor":"x"}]`,
			[]horseracing.Drift{{Route: "/api/v1/tournaments/open", Path: "[].sponsor", Kind: unknown}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var log driftLog
			c := responding(t, test.body, horseracing.WithDriftHandler(log.handle))
			for range 2 { // reported once
				if err := errorOf(operationOf(test.operation).once(t.Context(), c)); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortFunc(test.want, func(a, b horseracing.Drift) int { return cmp.Compare(a.Path, b.Path) })
			double.Equal(t, "drift", test.want, log.sorted())
		})
	}
}

func TestDriftIsReportedForEachRouteAndToEachClient(t *testing.T) {
	body := double.List(with(openRace, "{", `"weather":1`))
	for range 2 {
		var log driftLog
		c := responding(t, body, horseracing.WithDriftHandler(log.handle))
		for range 3 {
			if err := cmp.Or(errorOf(operationOf("Races.Open").once(t.Context(), c)), errorOf(operationOf("Races.Get").once(t.Context(), c)),
				c.Do(t.Context(), http.MethodGet, "/api/v1/horses/breeding/open", nil, new([]horseracing.Race))); err != nil { // which reports none
				t.Fatal(err)
			}
		}
		want := []horseracing.Drift{
			{Route: "/api/v1/races/open", Path: "[].weather", Kind: horseracing.DriftUnknownField},
			{Route: "/api/v1/races/{raceId}", Path: "[].weather", Kind: horseracing.DriftUnknownField},
		}
		double.Equal(t, "drift", want, log.sorted())
	}
}

func TestDriftIsBoundedWhereNamesAreData(t *testing.T) {
	var members strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `"%d-%s":1,`, i, strings.Repeat("n", 300))
	}
	var log driftLog
	c := responding(t, "{"+members.String()+horse[1:], horseracing.WithDriftHandler(log.handle))
	if err := errorOf(operationOf("Horses.Get").once(t.Context(), c)); err != nil {
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
		if err := errorOf(operationOf("Races.Open").once(ctx, c)); err != nil {
			t.Error(err)
		}
	}))
	if err := errorOf(operationOf("Races.Open").once(t.Context(), c)); err != nil || calls != 1 {
		t.Errorf("error %v, %d calls", err, calls)
	}
}

// serve is a service of a real socket.
func serve(t *testing.T, handle http.HandlerFunc, opts ...horseracing.Option) *horseracing.Client {
	server := httptest.NewUnstartedServer(handle)
	server.Config.ErrorLog = double.Silent
	server.Start()
	t.Cleanup(server.Close)
	return double.Connect(t, server.URL, server.Client(), append([]horseracing.Option{double.NoRetries()}, opts...)...)
}

func TestDecodeReadsGzipAndRetriesADamagedOne(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, `[{"level":3},`+strings.Repeat(`{"level":4},`, 1000)+`{"level":5}]`)
	z.Close()
	whole := packed.Bytes()
	flipped := func(at int) []byte {
		body := bytes.Clone(whole)
		body[at] ^= 1
		return body
	}
	for name, body := range map[string][]byte{
		"whole": whole, "cut in its checksum": whole[:len(whole)-1], "without its checksum": whole[:len(whole)-8], "half": whole[:len(whole)/2],
		"a damaged header": flipped(0), "a damaged checksum": flipped(len(whole) - 8),
	} {
		var requests int
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(body)
		}, double.Briefly)
		horses, err := c.Horses.Owned(t.Context(), "u")
		if name == "whole" && (err != nil || len(horses) != 1002 || requests != 1) || name != "whole" && (err == nil || len(horses) > 0 || requests != 4) {
			t.Errorf("%s: %d horses after %d requests, %v", name, len(horses), requests, err)
		}
	}
}

func TestWithMaxResponseBytesTakesAnyNumber(t *testing.T) {
	for limit, ok := range map[int64]bool{1: false, 12: false, 13: true, 14: true, 1<<63 - 1: true} {
		for _, length := range []int64{13, -1} {
			s := double.Stream(200, length, func() io.Reader { return strings.NewReader(`[{"level":1}]`) })
			_, err := double.Play(s).Client(t, horseracing.WithMaxResponseBytes(limit)).Horses.Owned(t.Context(), "u")
			if ok && err != nil || !ok && !errors.Is(err, horseracing.ErrResponseTooLarge) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":0,`, i)
	}
	return b.String() + `"v2":true`
}
