package horseracing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// oddValues are values that some member somewhere does not document.
var oddValues = []string{
	`12.0`, `12.5`, `1e400`, `99999999999999999999`, `-1`, `-0`, `1e3`, `""`, `"x"`, `"12"`, `true`, `null`,
	`{}`, `[]`, `[null]`, `[[]]`, `{"a":{"a":1,"a":2}}`, `[{"number":1,"number":2}]`, `"` + strings.Repeat("x", 10_000) + `"`,
}

func TestNoOddValueCostsMoreThanItsEntry(t *testing.T) {
	odd := map[string]int{}
	for _, l := range listCalls {
		one, two := fmt.Sprintf(l.good, 1), fmt.Sprintf(l.good, 2)
		for _, member := range append(membersOf(l.name), "weather") {
			for _, value := range oddValues {
				for variant, entry := range []string{
					`{"` + member + `":` + value + `}`,
					fmt.Sprintf(l.good, 9)[:len(fmt.Sprintf(l.good, 9))-1] + `,"` + member + `":` + value + `}`,
					fmt.Sprintf(l.good, 9)[:len(fmt.Sprintf(l.good, 9))-1] + `,"` + member + `":1,"` + member + `":` + value + `}`,
				} {
					ids, err := l.call(t.Context(), answering(t, "["+one+","+entry+","+two+"]"))
					d, _ := errors.AsType[*DecodeError](err)
					readable := len(ids) == 3 && err == nil
					unreadable := len(ids) == 2 && d != nil && strings.HasPrefix(d.Field, "/1") && string(d.Raw) == entry
					if !readable && !unreadable || ids[0] != "1" || ids[len(ids)-1] != "2" {
						t.Errorf("%s: %.200s: %v, %v", l.name, entry, ids, err)
					}
					if member == "weather" && variant > 0 && !readable {
						t.Errorf("%s: an undocumented member costs %.200s: %v", l.name, entry, err)
					}
					odd[fmt.Sprint(readable)]++
				}
			}
		}
	}
	t.Logf("%d odd entries were read, and %d cost themselves", odd["true"], odd["false"])
}

func membersOf(list string) (names []string) {
	typ := map[string]reflect.Type{
		"open races": reflect.TypeFor[Race](), "a user's horses": reflect.TypeFor[Horse](),
		"horses open for breeding": reflect.TypeFor[BreedingListing](), "open tournaments": reflect.TypeFor[Tournament](),
	}[list]
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestWhatHasOneObviousMeaningIsRead(t *testing.T) {
	at := time.UnixMilli(1767225600250).UTC()
	c := func(body string) *Client { return answering(t, body) }
	for name, test := range map[string]struct {
		got  func(context.Context) (any, error)
		want any
	}{
		"12.0 where an integer stands, and the rest exactly as it came": {
			func(ctx context.Context) (any, error) {
				return c(`[{"main_race_id":11.0,"length":12.0,"places":1e1,"prizes":[5.0],"entry_fee":5.0,"participants":[{"number":7.0,"lane":2.0,"total":9.5}],"final_order":[0.0]}]`).Races.Open(ctx)
			},
			[]Race{{MainRaceID: 11, Length: 12, Places: 10, Prizes: []Number{number("5.0")}, EntryFee: bigInt("5"), Participants: []RaceParticipant{{Number: 7, Lane: 2, Total: 9.5}}, FinalOrder: []int{0}}},
		},
		"likewise of one horse": {
			func(ctx context.Context) (any, error) { return c(`{"number":7.0,"level":30.0}`).Horses.Get(ctx, 7) },
			&Horse{Number: 7, Level: 30},
		},
		"likewise in an optional member": {
			func(ctx context.Context) (any, error) {
				return c(`{"number":7,"missions":[{"place":2.0}]}`).Horses.Missions(ctx, 7)
			},
			&HorseMissions{Number: 7, Missions: []HorseMission{{Place: new(2)}}},
		},
		"likewise in a tournament": {
			func(ctx context.Context) (any, error) {
				return c(`{"_id":"x","tier":5.0,"max_race_count":7.0}`).Tournaments.Open(ctx)
			},
			[]Tournament{{ID: "x", Tier: TierOmega, MaxRaceCount: new(7)}},
		},
		"a cooldown that is empty": {
			func(ctx context.Context) (any, error) {
				return c(`{"number":7,"breeding_cooldown":""}`).Horses.Get(ctx, 7)
			},
			&Horse{Number: 7},
		},
		"a cooldown in milliseconds": {
			func(ctx context.Context) (any, error) {
				return c(`[{"number":7,"breeding_cooldown":1767225600250},{"number":8,"breeding_cooldown":"2026-01-01T00:00:00.250Z"},{"number":9,"breeding_cooldown":null}]`).Horses.Owned(ctx, testUserKey)
			},
			[]Horse{{Number: 7, BreedingCooldown: &at}, {Number: 8, BreedingCooldown: &at}, {Number: 9}},
		},
		"an undocumented member twice": {
			func(ctx context.Context) (any, error) {
				return c(`{"number":7,"a":1,"a":{"b":1,"b":2},"level":3}`).Horses.Get(ctx, 7)
			},
			&Horse{Number: 7, Level: 3},
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

func TestADocumentedMemberThatComesTwiceIsAnErrorWhereverItIs(t *testing.T) {
	for body, field := range map[string]string{
		`[{"tier":"a","tier":"a"}]`:                                             "/0/tier",
		`[{"main_race_id":1},{"info":{"name":"a","name":"b"}}]`:                 "/1/info/name",
		`[{"a":1,"a":2,"participants":[{"number":1},{"number":1,"number":2}]}]`: "/0/participants/1/number",
		`[{"length":12.0,"length":12.0}]`:                                       "/0/length",
	} {
		_, err := answering(t, body).Races.Open(t.Context())
		if d, ok := errors.AsType[*DecodeError](err); !ok || d.Field != field {
			t.Errorf("%s: %v", body, err)
		}
	}
	_, err := answering(t, `[{"_id":"x","additional_prizes":[{"additional_sugar":1,"additional_sugar":2}]}]`).Tournaments.Open(t.Context())
	if _, ok := errors.AsType[*DecodeError](err); !ok {
		t.Errorf("in a prize: %v", err)
	}
	_, err = answering(t, `{"number":7,"level":1,"level":2}`).Horses.Get(t.Context(), 7)
	if d, ok := errors.AsType[*DecodeError](err); !ok || d.Field != "/level" {
		t.Errorf("in one horse: %v", err)
	}
}

// A null costs memory only where an object may stand.
func TestManyNullsAreReadWhereNoObjectStands(t *testing.T) {
	horse := `{"number":1,"dropped_at_index":null,"total":null},`
	cup := `{"_id":"x","participants":[` + strings.TrimSuffix(strings.Repeat(horse, 500), ",") + `]},`
	cups, err := answering(t, "["+strings.TrimSuffix(strings.Repeat(cup, 20), ",")+"]").Tournaments.Open(t.Context())
	if err != nil || len(cups) != 20 || len(cups[19].Participants) != 500 {
		t.Errorf("%d tournaments, %v", len(cups), err)
	}
	for _, body := range []string{
		"[" + strings.Repeat("null,", 20_000) + "null]", "[" + strings.Repeat(" null ,\n", 40_000) + "null]",
		`[{"_id":"x","participants":[` + strings.Repeat("null,", 20_000) + "null]}]", "[" + strings.Repeat("{},", 20_000) + "{}]",
	} {
		_, err := answering(t, body).Tournaments.Open(t.Context())
		if d, ok := errors.AsType[*DecodeError](err); !ok || !strings.Contains(err.Error(), "not what is documented") || d.Raw != nil {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

func TestACooldownReadFromMillisecondsIsWrittenAsAnInstant(t *testing.T) {
	horse, err := answering(t, `{"number":7,"breeding_cooldown":1767225600250}`).Horses.Get(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(horse)
	if err != nil || !strings.Contains(string(text), `"breeding_cooldown":"2026-01-01T00:00:00.25Z"`) {
		t.Errorf("%s, %v", text, err)
	}
}
