package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/ledger"
)

// members returns the JSON members of a type, with those of its structs: info.turf.
func members(t reflect.Type, above string) (paths []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		_, isOpaque := reflect.New(inner).Interface().(json.Unmarshaler)
		switch {
		case name == "":
		case inner.Kind() == reflect.Struct && !isOpaque:
			paths = append(paths, members(inner, above+name+".")...)
		default:
			paths = append(paths, above+name)
		}
	}
	return paths
}

// without returns a JSON object without a member, and whether the object has it.
func without(t *testing.T, object, path string) (string, bool) {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &all); err != nil {
		t.Fatal(err)
	}
	name, rest, isNested := strings.Cut(path, ".")
	value, found := all[name]
	delete(all, name)
	if isNested {
		inner, isList := strings.CutPrefix(string(value), "[")
		inner, found = without(t, strings.TrimSuffix(inner, "]"), rest)
		if all[name] = json.RawMessage(inner); isList {
			all[name] = json.RawMessage("[" + inner + "]")
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), found
}

// expectShown requires that a view shows each member of T, or that it is listed as left
// out. The sample has every member.
func expectShown[T, V any](t *testing.T, sample string, view func(*T) V, leftOut string) {
	t.Helper()
	show := func(object string) string {
		value := new(T)
		if err := json.Unmarshal([]byte(object), value); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(view(value))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	all := members(reflect.TypeFor[T](), "")
	for _, path := range all {
		rest, found := without(t, sample, path)
		isLeftOut := slices.ContainsFunc(strings.Fields(leftOut), func(name string) bool { return path == name || strings.HasPrefix(path, name+".") })
		if isShown := show(sample) != show(rest); !found {
			t.Errorf("%v: add %s to the sample of this test", reflect.TypeFor[T](), path)
		} else if isShown == isLeftOut {
			t.Errorf("%v: the view shows %s: %t; show it, or list it here as left out", reflect.TypeFor[T](), path, isShown)
		}
	}
}

func TestEachDocumentedMemberIsInItsViewOrLeftOutOnPurpose(t *testing.T) {
	s := new(server)
	expectShown(t, `{"_id":"a","main_race_id":7,"start_time":1748786400000,"registration_deadline":1748786000000,"type":"best_time","length":8,"v2":true,
		"no_equipment":true,"entry_fee":3,"prizes":[6],"tier":"Omega","info":{"name":"Cup","hippodrome_type":"Oval","hippodrome_name":"Ascot","turf":"Sand"},
		"places":6,"min_level":1,"max_level":9,"participants":[{"number":1,"total":2.5,"lane":3}],"status":"over","final_order":[0],"winners":[0]}`,
		s.wholeRaceOf, "_id v2 no_equipment info.hippodrome_type info.turf status winners")
	expectShown(t, `{"name":"Comet","image":"i","external_url":"u","number":7,"gender":"Mare","height":1.5,"weight":2.5,"level":3,"appearance":[{"trait_type":"Color","value":"Bay"}],
		"breeding_cooldown":"2026-01-31T00:00:00Z","breed":"Arab","generation":4,"tier":"Omega"}`, horseOf(true), "")
	expectShown(t, `{"type":"daily","mission":"run_x_races","name":"Run","count":3,"reward_xp":4,"reward_sugar":5,"progress":[{}],"processed":true,"completed":true,
		"place":1,"hippodrome":2,"furlongs":3}`, missionOf, "processed")
	expectShown(t, `{"name":"Comet","number":7,"gender":"Mare","wins_first_count":1,"wins_second_count":2,"wins_third_count":3,"total_race_count":9,"price":2.5,"generation":4,
		"tier":"Omega"}`, breedingOf, "wins_second_count wins_third_count")
	expectShown(t, `{"_id":"cup","name":"Cup","description":"d","hippodrome_id":"h","hippodrome_name":"Ascot","turf":1,"registration_open":1748780000000,"registration_deadline":1748786000000,
		"start_time":1748786400000,"length":8,"places":6,"min_places":2,"entry_fee":3,"prizes":[6],"no_equipment":true,"min_level":1,"max_level":9,"max_participants_per_wallet":1,
		"min_race_count":1,"max_race_count":2,"type":"best_time","status":2,"tier":5,"stages":[{"race_count":1,"start_time":1748786400000,"minutes_between_races":1,"name":"n",
		"results":[{"number":1,"total":2,"main_race_id":3}],"status":1,"current_round":1}],"participants":[{"number":1,"dropped_at_index":2,"total":3}],
		"additional_prizes":[{"additional_token":1}]}`, tournamentOf, `description hippodrome_id turf length min_places prizes no_equipment max_participants_per_wallet
		min_race_count max_race_count type stages participants additional_prizes`)
	expectShown(t, `{"time":"2026-01-31T00:00:00Z","horse":1,"race":2,"fee":3,"state":"entered","note":"n"}`, func(e *ledger.Entry) entryView { return entryOf(e) }, "")
}
