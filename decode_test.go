package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

// Each member of the documented responses in turn is of another type. Programs decide by
// some, and the others cost nothing but themselves.
func TestDecodeReadsAnEntryWithoutAMemberOfAnotherType(t *testing.T) {
	decisive := regexp.MustCompile(`^/\d*/?(start_time|registration_deadline|entry_fee|price|level|min_level|max_level|places|final_order|winners|participants)$` +
		`|/(main_race_id|number)$|^(/0)?/_id$|/participants/0$`)
	index, members := regexp.MustCompile(`/\d+`), 0
	for _, test := range []struct{ name, file string }{
		{"Races.Results", "races_results_v2.json"}, {"Races.Open", "races_open.json"}, {"Races.Open", fakes + "race.json"}, {"Tournaments.Results", "tournaments_results.json"},
		{"Horses.Get", "horse.json"}, {"Horses.OpenForBreeding", "breeding_open.json"}, {"Horses.Missions", "horse_missions.json"}, {"Missions.Catalogue", "missions.json"},
	} {
		name := test.name
		withOtherTypes(payload(t, test.file), func(pointer, odd, without string) {
			if name == "Races.Open" && pointer == "/0/_id" {
				return // no method takes it
			}
			var drift []string
			value, err := valueOf(t, name, odd, collecting(&drift))
			members++
			if decisive.MatchString(pointer) {
				if d, ok := errors.AsType[*horseracing.DecodeError](err); !ok || d.Field != pointer {
					t.Errorf("%s: %s: %v", name, pointer, err)
				}
				return
			}
			want, _ := valueOf(t, name, without)
			double.Error(t, name+": "+pointer, nil, "", err)
			double.Equal(t, name+": "+pointer, want, value)
			path := strings.ReplaceAll(strings.TrimPrefix(index.ReplaceAllString(pointer, "[]"), "/"), "/", ".")
			double.Equal(t, name+": drift", []string{"wrong_type " + path}, drift)
		})
	}
	if members < 100 {
		t.Errorf("%d members", members)
	}
}

// valueOf returns what an operation makes of a body; a listing, of its first entry.
func valueOf(t *testing.T, operation, body string, opts ...horseracing.Option) (any, error) {
	return operations()[operation].read(t.Context(), responding(t, body, opts...), 1)
}

// withOtherTypes calls check for each value in a body: with its JSON pointer, the body in which
// it has another type, and the body without it.
func withOtherTypes(body []byte, check func(pointer, odd, without string)) {
	var root any
	double.Must(0, json.Unmarshal(body, &root))
	text := func() string { encoded, _ := json.Marshal(root); return string(encoded) }
	var walk func(at any, pointer string)
	walk = func(at any, pointer string) {
		switch at := at.(type) {
		case []any:
			if len(at) > 0 {
				walk(at[0], pointer+"/0")
			}
		case map[string]any:
			for name, value := range maps.Clone(at) {
				at[name] = struct{}{}
				if _, isObject := value.(map[string]any); isObject {
					at[name] = "text"
				}
				odd := text()
				delete(at, name)
				check(pointer+"/"+name, odd, text())
				at[name] = value
				if name != "additional_prizes" && name != "progress" { // their elements are read as a whole, whatever they are
					walk(value, pointer+"/"+name)
				}
			}
		}
	}
	walk(root, "")
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
		"a name that is not UTF-8": {"Races.Open", "[{\"main_race_id\":1,\"info\":{\"name\":\"Pr\xffx\"}}]", []horseracing.Race{{MainRaceID: 1, Info: horseracing.RaceInfo{Name: "Pr\ufffdx"}}}},
		// encoding/json takes ENTRY_FEE for entry_fee
		"only a member's exact name": {"Races.Open", `[{"main_race_id":1,"entry_fee":5,"ENTRY_FEE":7,"Tier":"x"}]`, []horseracing.Race{{MainRaceID: 1, EntryFee: bigInt("5")}}},
		"JSON in a string, and 0 and 1 as booleans": {
			"Races.Open", `[{"main_race_id":"11","start_time":"1767225600250","v2":1,"no_equipment":"true","entry_fee":"5","prizes":["5","6"],"participants":[{"number":"7","lane":"2"}],"length":"null"}]`,
			[]horseracing.Race{{MainRaceID: 11, StartTime: horseracing.NewTimestamp(at), V2: true, NoEquipment: true, EntryFee: bigInt("5"), Prizes: []horseracing.Number{number("5"), number("6")}, Participants: []horseracing.RaceParticipant{{Number: 7, Lane: 2}}}},
		},
		"a cooldown that is empty":          {"Horses.Get", `{"number":1042,"breeding_cooldown":""}`, &horseracing.Horse{Number: 1042}},
		"a cooldown that is over":           {"Horses.Get", `{"number":1042,"breeding_cooldown":"2026-01-01T00:00:00.250Z"}`, &horseracing.Horse{Number: 1042, BreedingCooldown: &at}},
		"a cooldown that is null":           {"Horses.Get", `{"number":1042,"breeding_cooldown":null}`, &horseracing.Horse{Number: 1042}},
		"a cooldown without a zone: UTC":    {"Horses.Get", `{"number":1042,"breeding_cooldown":"2026-01-01T00:00:00.250"}`, &horseracing.Horse{Number: 1042, BreedingCooldown: &at}},
		"a cooldown with a space":           {"Horses.Get", `{"number":1042,"breeding_cooldown":"2026-01-01 00:00:00.250"}`, &horseracing.Horse{Number: 1042, BreedingCooldown: &at}},
		"a cooldown in milliseconds":        {"Horses.Get", `{"number":1042,"breeding_cooldown":1767225600250}`, &horseracing.Horse{Number: 1042, BreedingCooldown: &at}},
		"a cooldown that cannot be read":    {"Horses.Get", `{"number":1042,"breeding_cooldown":"soon"}`, &horseracing.Horse{Number: 1042}},
		"a cooldown that may be in seconds": {"Horses.Get", `{"number":1042,"breeding_cooldown":1767225600}`, &horseracing.Horse{Number: 1042}},
	} {
		got, err := valueOf(t, test.operation, test.body)
		double.Error(t, name, nil, "", err)
		double.Equal(t, name, test.want, got)
	}
	var drift []string
	double.Must(valueOf(t, "Races.Open", `[{"main_race_id":"11","v2":1,"length":12.0}]`, collecting(&drift)))
	double.Must(valueOf(t, "Horses.Get", `{"number":1042,"breeding_cooldown":"2026-01-01 00:00:00Z"}`, collecting(&drift)))
	double.Equal(t, "drift", []string{"wrong_type [].main_race_id", "wrong_type [].v2", "wrong_type breeding_cooldown"}, drift)
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
		f.Add(double.Must(os.ReadFile(file)))
	}
	read := func(t *testing.T, body []byte) {
		c, mock := double.Mocked(t, httpmock.NewBytesResponder(http.StatusOK, body), double.NoRetries(), horseracing.WithMaxResponseBytes(1<<20), horseracing.WithDriftHandler(func(context.Context, horseracing.Drift) {}))
		for name, op := range operations() {
			before := mock.GetTotalCallCount()
			value, err := op.read(t.Context(), c, 20) // beyond a page
			double.FailIf(t, mock.GetTotalCallCount()-before > 30, "%s: %d requests", name, mock.GetTotalCallCount()-before)
			if err != nil {
				double.CheckError(t, name, err)
				if reflect.ValueOf(value).Kind() != reflect.Slice { // of a list, what could be read is beside
					continue
				}
			}
			written, _ := json.Marshal(value)
			again := reflect.New(reflect.TypeOf(value))
			double.Error(t, name+": read again", nil, "", json.Unmarshal(written, again.Interface()))
			double.Equal(t, name+": written again", string(written), string(double.Must(json.Marshal(again.Interface()))))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		synctest.Test(t, func(t *testing.T) { read(t, body) }) // an empty page is requested again after a pause
	})
}

// What a hostile response may cost. Everything is refused, or read, in a moment.
func TestDecodeReadsHostileResponsesInBoundedMemory(t *testing.T) {
	double.UnlessShort(t)
	nested := strings.Repeat("[", 2<<20)
	for name, test := range map[string]struct {
		body     string
		harmless bool
		most     uint64 // MiB that are allocated
	}{
		"nested arrays":        {nested, false, 30},
		"nested in an unknown": {`[{"unknown":` + nested + `}]`, false, 30},
		"a list of errors":     {`{"error":[` + strings.Repeat("0,", 1<<20) + `0]}`, false, 300},
		"four million ones":    {`[` + strings.Repeat("1,", 4<<20-2) + `1]`, false, 80}, // 480 MiB, if they were counted afterwards
		"100,001 entries":      {`[` + strings.Repeat(`{"v2":true},`, 100_000) + `{"v2":true}]`, false, 30},
		"100,000 entries":      {`[` + strings.Repeat(`{"main_race_id":1},`, 99_999) + `{"main_race_id":1}]`, true, 200},
		"a long number":        {`[{"entry_fee":` + strings.Repeat("9", 2<<20) + `}]`, false, 30},
		"a huge exponent":      {`[{"entry_fee":1e1000000000}]`, false, 1},
		"a long string":        {`[{"main_race_id":1,"tier":"` + strings.Repeat("x", 2<<20) + `"}]`, true, 30},
		"other types":          {`[{"main_race_id":1,"participants":[` + strings.Repeat(`{"total":"unknown"},`, 100_000) + `{}]}]`, true, 200},
		"other entries":        {`[` + strings.Repeat(`{"main_race_id":1,"tier":{},"length":"8","type":1},`, 25_000) + `{"main_race_id":1}]`, true, 200},
	} {
		c := responding(t, test.body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Races.Open(t.Context())
		runtime.ReadMemStats(&after)
		double.Equal(t, name+": it is read", test.harmless, err == nil)
		if err != nil {
			double.CheckError(t, name, err)
		}
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > test.most {
			t.Errorf("%s: %d KiB took %d MiB", name, len(test.body)>>10, grown)
		}
	}
}

// collecting appends the kind and path of all drift.
func collecting(all *[]string) horseracing.Option {
	return horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) { *all = append(*all, string(d.Kind)+" "+d.Path) })
}

func TestDriftIsWhatTheTypesLack(t *testing.T) {
	for name, op := range operations() { // the documented responses have none
		for _, file := range op.files() {
			var drift []string
			_, _ = op.read(t.Context(), responding(t, string(payload(t, file)), collecting(&drift)), 1) // perhaps not what it requested
			double.Equal(t, name+": "+file, []string(nil), drift)
		}
	}
	for _, test := range []struct {
		operation, old, new string // in the documented response
		paths               string // of the drift
	}{
		{"Races.Open", `"tier"`, `"weather":{"wind":[1,{"x":"}]\""}]},"tier"`, "[].weather"},
		{"Races.Open", `"turf"`, `"grip":1,"turf"`, "[].info.grip"},
		{"Races.Open", `"turf"`, `"a/b~1":1,"turf"`, "[].info.a/b~1"},
		{"Races.Results", `"lane"`, `"jockey":null,"lane"`, "[].participants[].jockey"},
		{"Races.Open", `"entry_fee": `, `"odd":1,"entry_fee":{},"x":`, "[].odd [].x"}, // of an unreadable entry, too
		{"Races.Open", `"tier"`, `"a":1,"a":2,"tier"`, "[].a"},
		{"Horses.Get", `"level"`, `"lvl"`, "lvl"}, // a member that is missing is none
		{"Horses.Get", `"tier"`, `"Tier"`, "Tier"},
		{"Horses.Get", `"tier"`, `"t\u0069er"`, ""},
		{"Horses.Owned", `"tier"`, `"for user \"k\u0065y\" <1>":1,"tier"`, "[].for [redacted]"},
		{"Tournaments.Get", `"tier"`, `"sponsor":"x","tier"`, "sponsor"},
	} {
		body := string(payload(t, operations()[test.operation].Response))
		if !strings.Contains(body, test.old) {
			t.Fatalf("%s: no %s", test.operation, test.old)
		}
		var drift []string
		c := responding(t, strings.Replace(body, test.old, test.new, 1), collecting(&drift), horseracing.WithSkipHandler(func(context.Context, error) {}))
		for range 2 { // reported once
			_, _ = operations()[test.operation].read(t.Context(), c, 1)
		}
		slices.Sort(drift)
		double.Equal(t, test.operation+": "+test.new, test.paths, strings.ReplaceAll(strings.Join(drift, " "), "unknown_field ", ""))
	}
}

func TestDriftIsReportedForEachRouteAndMayCallTheClient(t *testing.T) {
	var c *horseracing.Client
	var routes []string
	c = responding(t, `[{"main_race_id":880200,"weather":1}]`, horseracing.WithDriftHandler(func(ctx context.Context, d horseracing.Drift) {
		routes = append(routes, d.Route)
		_, _ = c.Races.Open(ctx)
	}))
	for range 2 {
		_, _ = c.Races.Open(t.Context())
		_, _ = c.Races.Get(t.Context(), 880200)
		_ = c.Do(t.Context(), http.MethodGet, "/api/v1/horses/breeding/open", nil, new([]horseracing.Race)) // which reports none
	}
	double.Equal(t, "routes", []string{"/api/v1/races/open", "/api/v1/races/{raceId}"}, routes)
}

func TestDriftIsBoundedIfNamesAreData(t *testing.T) {
	var members strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `"%d-%s":1,`, i, strings.Repeat("n", 300))
	}
	var drift []string
	double.Must(responding(t, "{"+members.String()+`"number":7}`, collecting(&drift)).Horses.Get(t.Context(), 7))
	if n := len(drift); n != 100 || len(drift[0]) > len("unknown_field ")+210 {
		t.Errorf("%d reports, want 100; %q", n, drift[0])
	}
}

// lists are the operations that return a list, each with the member of odd that it cannot read.
var lists = map[string]string{"Races.Open": "/entry_fee", "Horses.Owned": "/level", "Horses.OpenForBreeding": "/price", "Tournaments.Open": "/entry_fee"}

// good is an entry of any list, and odd one that cannot be read.
const (
	good = `{"_id":"1","number":1,"main_race_id":1}`
	odd  = `{"_id":"4711","number":4711,"main_race_id":4711,"price":{},"level":{},"entry_fee":{}}`
)

func TestListLeavesOutAnUnreadableEntryOnlyWithAHandler(t *testing.T) {
	for list, member := range lists {
		call := operations()[list].Call
		others, _ := call(t.Context(), responding(t, double.List(good, good)))
		for _, test := range []struct{ entry, id, field string }{
			{odd, "4711", "/1" + member}, {"null", "", "/1"}, {`{"weather":"fine"}`, "", "/1"}, {`["x"]`, "", "/1"},
		} {
			body := "[" + good + ", " + test.entry + " ," + good + "]"
			var skipped []error
			handler := horseracing.WithSkipHandler(func(_ context.Context, err error) { skipped = append(skipped, err) })
			got, err := call(t.Context(), responding(t, body, handler))
			double.Equal(t, list+": the other entries", others, got)
			if err != nil || len(skipped) != 1 {
				t.Fatalf("%s: error %v, skipped %v", list, err, skipped)
			}
			d, _ := errors.AsType[*horseracing.DecodeError](skipped[0])
			double.Equal(t, list+": skipped", []string{test.id, test.field, test.entry}, []string{d.ID, d.Field, string(d.Raw)})
			got, err = call(t.Context(), responding(t, body))
			double.Equal(t, list+": error without a handler", skipped[0].Error(), fmt.Sprint(err))
			double.FailIf(t, !reflect.ValueOf(got).IsNil(), "%s: %v without a handler", list, got)
		}
	}
}

func TestListIsEmptyIfTheResponseIsNullOrHasNoContent(t *testing.T) {
	for list := range lists {
		for _, empty := range []httpmock.Responder{httpmock.NewStringResponder(200, " null\n"), httpmock.NewStringResponder(204, ""), httpmock.NewStringResponder(200, "[]")} {
			got := double.Must(operations()[list].Call(t.Context(), double.Client(t, empty)))
			double.Equal(t, list, 0, reflect.ValueOf(got).Len())
		}
		_, err := operations()[list].Call(t.Context(), double.Client(t, httpmock.NewStringResponder(404, "[]")))
		double.Error(t, list, horseracing.ErrNotFound, "", err)
	}
}

func TestListThatIsNotAnArrayIsOneError(t *testing.T) {
	for list := range lists {
		for _, body := range []string{"7", `"null"`, "{}", `{"status":503}`, "[" + odd + "," + good, "[" + good + "," + odd[:len(odd)-1], "[" + odd + "] x", "[" + good + "," + odd + ",]"} {
			got, err := operations()[list].Call(t.Context(), responding(t, body, double.NoRetries()))
			d, ok := errors.AsType[*horseracing.DecodeError](err)
			if !reflect.ValueOf(got).IsNil() || !ok || d.Raw != nil || d.ID != "" {
				t.Errorf("%s: %s: %v, %v", list, body, got, err)
			}
		}
	}
}

// guarantees/keys has keys in it.
func TestDecodeErrorRawIsKeptUpTo64KiB(t *testing.T) {
	const begin, end = `{"note":"`, `","entry_fee":{}}`
	for size, isKept := range map[int]bool{64 << 10: true, 64<<10 + 1: false} {
		entry := begin + strings.Repeat("x", size-len(begin+end)) + end
		_, err := responding(t, "["+entry+"]").Races.Open(t.Context())
		d, ok := errors.AsType[*horseracing.DecodeError](err)
		if !ok || isKept && string(d.Raw) != entry || !isKept && d.Raw != nil {
			t.Errorf("%d bytes: %d are kept, %v", size, len(d.Raw), err)
		}
	}
}
