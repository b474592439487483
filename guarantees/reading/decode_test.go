package reading_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// listCalls are the operations that return a list, each with a readable entry,
// the id of another and a member that cannot be read.
var listCalls = []struct {
	name string
	call func(context.Context, *horseracing.Client) ([]string, error) // the ids
	good string
	odd  string // entry 4711
	bad  string // the member of odd
}{
	{"open races", idsOf(func(ctx context.Context, c *horseracing.Client) ([]horseracing.Race, error) { return c.Races.Open(ctx) }),
		`{"main_race_id":%d}`, `{"main_race_id":4711,"length":"long"}`, "/length"},
	{"a user's horses", idsOf(func(ctx context.Context, c *horseracing.Client) ([]horseracing.Horse, error) {
		return c.Horses.Owned(ctx, double.UserKey)
	}),
		`{"number":%d}`, `{"number":4711,"appearance":[{"trait_type":7}]}`, "/appearance/0/trait_type"},
	{"horses open for breeding", idsOf(func(ctx context.Context, c *horseracing.Client) ([]horseracing.BreedingListing, error) {
		return c.Horses.OpenForBreeding(ctx)
	}),
		`{"number":%d}`, `{"number":4711,"price":1e400}`, "/price"},
	{"open tournaments", idsOf(func(ctx context.Context, c *horseracing.Client) ([]horseracing.Tournament, error) {
		return c.Tournaments.Open(ctx)
	}),
		`{"_id":"%d"}`, `{"_id":"4711","stages":[{},{"start_time":"soon"}]}`, "/stages/1/start_time"},
}

func idsOf[T any](call func(context.Context, *horseracing.Client) ([]T, error)) func(context.Context, *horseracing.Client) ([]string, error) {
	return func(ctx context.Context, c *horseracing.Client) ([]string, error) {
		values, err := call(ctx, c)
		var ids []string
		for i := range values {
			ids = append(ids, idOf(&values[i]))
		}
		return ids, err
	}
}

// idOf returns the id of an entry, as text.
func idOf(entry any) string {
	switch entry := entry.(type) {
	case *horseracing.Race:
		return fmt.Sprint(int64(entry.MainRaceID))
	case *horseracing.Horse:
		return fmt.Sprint(int(entry.Number))
	case *horseracing.BreedingListing:
		return fmt.Sprint(int(entry.Number))
	case *horseracing.Tournament:
		return string(entry.ID)
	}
	return ""
}

func TestAnUnreadableEntryOfAListAffectsNoOther(t *testing.T) {
	for _, l := range listCalls {
		one, two := fmt.Sprintf(l.good, 1), fmt.Sprintf(l.good, 2)
		for _, test := range []struct {
			name, entry, id, field string
		}{
			{"a member that does not fit", l.odd, "4711", "/1" + l.bad},
			{"null", "null", "", "/1"},
			{"no documented member", `{"weather":"fine"}`, "", "/1"},
			{"no object", `["x"]`, "", "/1"},
		} {
			t.Run(l.name+": "+test.name, func(t *testing.T) {
				body := "[" + one + ", " + test.entry + " ," + two + "]"
				ids, err := l.call(t.Context(), responding(t, body))
				if diff := cmp.Diff([]string{"1", "2"}, ids); diff != "" {
					t.Errorf("the others (-want +got):\n%s", diff)
				}
				d, ok := errors.AsType[*horseracing.DecodeError](err)
				if !ok {
					t.Fatalf("error %v", err)
				}
				if d.ID != test.id || d.Field != test.field || string(d.Raw) != test.entry {
					t.Errorf("ID %q, Field %q, Raw %s", d.ID, d.Field, d.Raw)
				}
				if at := int64(strings.Index(body, test.entry)); d.Offset < at || d.Offset > at+int64(len(test.entry)) {
					t.Errorf("Offset %d; the entry begins at %d", d.Offset, at)
				}
				if text := err.Error(); !containsAll(text, test.id, test.field) {
					t.Errorf("the text %q does not name it", text)
				}
			})
		}
	}
}

func TestOfAListAtMostAHundredErrorsAreJoinedInAShortText(t *testing.T) {
	for _, l := range listCalls {
		body := "[" + strings.Repeat(l.odd+",", 250) + fmt.Sprintf(l.good, 1) + "]"
		ids, err := l.call(t.Context(), responding(t, body))
		if len(ids) != 1 || ids[0] != "1" {
			t.Errorf("%s: got %v", l.name, ids)
		}
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) != 100 {
			t.Fatalf("%s: %T", l.name, err)
		}
		if text := err.Error(); len(text) > 500 || !containsAll(text, "250 of 251", "4711", "/0"+l.bad) || strings.Contains(text, "\n") {
			t.Errorf("%s: %s", l.name, text)
		}
	}
}

// With more unreadable entries than are kept, a page is no page.
func TestAPageOfMoreThanAHundredUnreadableEntriesIsOneError(t *testing.T) {
	for n, whole := range map[int]bool{100: false, 101: true} {
		c := responding(t, "["+strings.Repeat("null,", n)+`{"main_race_id":1,"start_time":1767225600250}]`)
		races, err := c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1)
		if whole != (err != nil) || whole == (len(races) == 1) {
			t.Errorf("%d: %d entries, %v", n, len(races), err)
		}
	}
}

func TestAResponseThatIsNoListIsOneError(t *testing.T) {
	for _, l := range listCalls {
		good := fmt.Sprintf(l.good, 1)
		for _, body := range []string{"null", "7", "[" + l.odd + "," + good, "[" + good + "," + l.odd[:len(l.odd)-1], "[" + l.odd + "] x", "[" + good + "," + l.odd + ",]"} {
			ids, err := l.call(t.Context(), responding(t, body))
			d, ok := errors.AsType[*horseracing.DecodeError](err)
			if ids != nil || !ok || d.Raw != nil || d.ID != "" {
				t.Errorf("%s: %s: %v, %v", l.name, body, ids, err)
			}
		}
	}
}

func TestARawEntryIsRedactedBoundedAndNeverPrinted(t *testing.T) {
	entry := func(note string) string { return `{"main_race_id":4711,"note":"` + note + `","length":"long"}` }
	for _, test := range []struct {
		name, entry, want string
	}{
		{"a key in a string", entry("x" + double.AppKey + "x"), entry("x[redacted]x")},
		{"64 KiB", entry(strings.Repeat("x", 64<<10-len(entry("")))), entry(strings.Repeat("x", 64<<10-len(entry(""))))},
		{"more than 64 KiB", entry(strings.Repeat("x", 64<<10-len(entry(""))+1)), ""},
	} {
		_, err := responding(t, "["+test.entry+"]").Races.Open(t.Context())
		d, ok := errors.AsType[*horseracing.DecodeError](err)
		if !ok || string(d.Raw) != test.want {
			t.Errorf("%s: %.200s, %v", test.name, d.Raw, err)
			continue
		}
		var out bytes.Buffer
		for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))} {
			log.Error("failed", "err", err, "decode", d, "value", *d)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+verb+verb, err, d, *d)
		}
		if printed := out.String(); strings.Contains(printed, "note") || strings.Contains(printed, double.AppKey) || strings.Count(printed, "4711") < 10 {
			t.Errorf("%s: printed %.3000s", test.name, printed)
		}
	}
}

func TestGetPicksWhatWasRequested(t *testing.T) {
	for _, test := range []struct {
		name, races, cups string // of race 5 and tournament "5"
		want              string
	}{
		{"another one", `[{"main_race_id":4,"v2":1},{"main_race_id":5}]`, `[{"_id":"4","turf":""},{"_id":"5"}]`, "found"},
		{"one without an id", `[{"main_race_id":5},null]`, `[{"_id":"5"},null]`, "found"},
		{"a second time", `[{"main_race_id":5,"v2":1},{"main_race_id":5}]`, `[{"_id":"5","turf":""},{"_id":"5"}]`, "found"},
		{"itself", `[{"main_race_id":4},{"main_race_id":5,"v2":1}]`, `[{"_id":"4"},{"_id":"5","turf":""}]`, "damaged"},
		{"itself, alone", `[{"main_race_id":5,"v2":1}]`, `{"_id":"5","turf":""}`, "damaged"},
		{"perhaps itself", `[{"main_race_id":4},{"main_race_id":"5"}]`, `[{"_id":"4"},{"_id":5}]`, "damaged"},
		{"a single one, whatever its id", `[{"main_race_id":6}]`, `{"_id":"6"}`, "another"},
		{"one of several", `[{"main_race_id":4},{"main_race_id":5},{"main_race_id":6}]`, `[{"_id":"4"},{"_id":"5"}]`, "found"},
		{"none of several", `[{"main_race_id":4},{"main_race_id":6}]`, `[{"_id":"4"},{"_id":"6"}]`, "not found"},
		{"an empty array", `[]`, `[]`, "not found"},
		{"null", `null`, `null`, "not found"},
		{"another one, itself being away", `[{"main_race_id":3},{"main_race_id":4,"v2":1}]`, `[{"_id":"3"},{"_id":"4","turf":""}]`, "not found"},
	} {
		race, raceErr := responding(t, test.races).Races.Get(t.Context(), 5)
		cup, cupErr := responding(t, test.cups).Tournaments.Get(t.Context(), "5")
		for name, got := range map[string]struct {
			found bool
			err   error
		}{"race": {race != nil && race.MainRaceID == 5, raceErr}, "tournament": {cup != nil && cup.ID == "5", cupErr}} {
			d, damaged := errors.AsType[*horseracing.DecodeError](got.err)
			is := map[string]bool{"found": got.found && got.err == nil, "another": !got.found && got.err == nil, "damaged": damaged && d.ID == "5" && !got.found, "not found": errors.Is(got.err, horseracing.ErrNotFound)}
			if !is[test.want] {
				t.Errorf("%s, %s: found %t, %v; want %s", test.name, name, got.found, got.err, test.want)
			}
		}
	}
}

func TestDriftIsReportedAlsoWhereAnEntryIsUnreadable(t *testing.T) {
	var paths []string
	handler := horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) {
		if d.Kind == horseracing.DriftUnknownField {
			paths = append(paths, d.Path)
		}
	})
	body := `[{"main_race_id":1,"weather":"fine"},{"main_race_id":2,"v2":1,"odd":1},{"main_race_id":3,"a":1,"a":2}]`
	races, err := responding(t, body, handler).Races.Open(t.Context())
	if len(races) != 1 || err == nil {
		t.Errorf("%d races, %v", len(races), err)
	}
	if diff := cmp.Diff([]string{"[].a", "[].odd", "[].weather"}, paths); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatHasOneObviousMeaningIsRead(t *testing.T) {
	at := time.UnixMilli(1767225600250).UTC()
	c := func(body string) *horseracing.Client { return responding(t, body) }
	for name, test := range map[string]struct {
		got  func(context.Context) (any, error)
		want any
	}{
		"12.0 where an integer stands, and the rest exactly as it came": {
			func(ctx context.Context) (any, error) {
				return c(`[{"main_race_id":11.0,"length":12.0,"places":1e1,"prizes":[5.0],"entry_fee":5.0,"participants":[{"number":7.0,"lane":2.0,"total":9.5}],"final_order":[0.0]}]`).Races.Open(ctx)
			},
			[]horseracing.Race{{MainRaceID: 11, Length: 12, Places: 10, Prizes: []horseracing.Number{number("5.0")}, EntryFee: bigInt("5"), Participants: []horseracing.RaceParticipant{{Number: 7, Lane: 2, Total: 9.5}}, FinalOrder: []int{0}}},
		},
		"likewise in a tournament": {
			func(ctx context.Context) (any, error) {
				return c(`{"_id":"x","tier":5.0,"max_race_count":7.0}`).Tournaments.Open(ctx)
			},
			[]horseracing.Tournament{{ID: "x", Tier: horseracing.TierOmega, MaxRaceCount: new(7)}},
		},
		"a cooldown that is empty": {
			func(ctx context.Context) (any, error) {
				return c(`{"number":7,"breeding_cooldown":""}`).Horses.Get(ctx, 7)
			},
			&horseracing.Horse{Number: 7},
		},
		"a cooldown in milliseconds": {
			func(ctx context.Context) (any, error) {
				return c(`[{"number":7,"breeding_cooldown":1767225600250},{"number":8,"breeding_cooldown":"2026-01-01T00:00:00.250Z"},{"number":9,"breeding_cooldown":null}]`).Horses.Owned(ctx, double.UserKey)
			},
			[]horseracing.Horse{{Number: 7, BreedingCooldown: &at}, {Number: 8, BreedingCooldown: &at}, {Number: 9}},
		},
	} {
		got, err := test.got(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAMemberThatComesTwiceMakesItsEntryUnreadable(t *testing.T) {
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

// A null costs memory only where an object may stand.
func TestManyNullsAreReadWhereNoObjectStands(t *testing.T) {
	horse := `{"number":1,"dropped_at_index":null,"total":null},`
	cup := `{"_id":"x","participants":[` + strings.TrimSuffix(strings.Repeat(horse, 500), ",") + `]},`
	cups, err := responding(t, "["+strings.TrimSuffix(strings.Repeat(cup, 20), ",")+"]").Tournaments.Open(t.Context())
	if err != nil || len(cups) != 20 || len(cups[19].Participants) != 500 {
		t.Errorf("%d tournaments, %v", len(cups), err)
	}
	for _, body := range []string{
		"[" + strings.Repeat("null,", 20_000) + "null]", "[" + strings.Repeat(" null ,\n", 40_000) + "null]",
		`[{"_id":"x","participants":[` + strings.Repeat("null,", 20_000) + "null]}]", "[" + strings.Repeat("{},", 20_000) + "{}]",
	} {
		_, err := responding(t, body).Tournaments.Open(t.Context())
		if d, ok := errors.AsType[*horseracing.DecodeError](err); !ok || !strings.Contains(err.Error(), "too many values") || d.Raw != nil {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

// An int has 32 bits on some machines.
func TestAnIntegerIsReadWholeOrNotAtAll(t *testing.T) {
	races, err := double.Play(double.Respond(200, `[{"main_race_id":1,"length":4294967297}]`)).Client(t).Races.Open(t.Context())
	if err == nil && int64(races[0].Length) != 4294967297 {
		t.Errorf("it is read as %d", races[0].Length)
	}
}
