package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// members sets each member of a race, and names the columns that change with it.
var members = map[string]struct{ json, columns string }{
	"_id":                   {`{"_id":"x"}`, ""}, // finished races have none
	"main_race_id":          {`{"main_race_id":9}`, "participants.race_id races.race_id"},
	"start_time":            {`{"start_time":1700000000000}`, "participants.start_time races.start_time"},
	"registration_deadline": {`{"registration_deadline":1700000000000}`, "races.registration_deadline"},
	"type":                  {`{"type":"x"}`, "races.type"},
	"length":                {`{"length":9}`, "races.length"},
	"v2":                    {`{"v2":true}`, "races.v2"},
	"no_equipment":          {`{"no_equipment":true}`, "races.no_equipment"},
	"entry_fee":             {`{"entry_fee":9}`, "races.entry_fee"},
	"prizes":                {`{"prizes":[9]}`, "races.prizes"},
	"tier":                  {`{"tier":"x"}`, ""}, // tier_id is that of the listing
	"info.name":             {`{"info":{"name":"x"}}`, "races.name"},
	"info.hippodrome_type":  {`{"info":{"hippodrome_type":"x"}}`, "races.hippodrome_type"},
	"info.hippodrome_name":  {`{"info":{"hippodrome_name":"x"}}`, "races.hippodrome"},
	"info.turf":             {`{"info":{"turf":"x"}}`, "races.turf"},
	"places":                {`{"places":9}`, "races.places"},
	"min_level":             {`{"min_level":9}`, "races.min_level"},
	"max_level":             {`{"max_level":9}`, "races.max_level"},
	"participants.number":   {`{"participants":[{"number":9}]}`, "participants.horse"},
	"participants.total":    {`{"participants":[{"number":1,"total":9}]}`, "participants.total"},
	"participants.lane":     {`{"participants":[{"number":1,"lane":9}]}`, "participants.lane"},
	"status":                {`{"status":"x"}`, ""}, // finished races have an empty one
	"final_order":           {`{"final_order":[0]}`, "participants.place races.final_order"},
	"winners":               {`{"winners":[0]}`, "races.winners"},
}

func TestEveryMemberOfARaceHasItsColumn(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "races.sqlite"))
	plain := storedRow(t, s, `{}`)
	for _, name := range memberNames(reflect.TypeFor[horseracing.Race](), "") {
		member, ok := members[name]
		if !ok {
			t.Errorf("%s is in no row of members: store it, or say there why not", name)
			continue
		}
		var changed []string
		for column, value := range storedRow(t, s, member.json) {
			if value != plain[column] {
				changed = append(changed, column)
			}
		}
		slices.Sort(changed)
		if got := strings.Join(changed, " "); got != member.columns {
			t.Errorf("%s is stored in %q, want %q", name, got, member.columns)
		}
	}
}

func TestEveryMemberOfAHorseHasItsColumn(t *testing.T) {
	elsewhere := map[string]string{
		"appearance.trait_type": "in traits", "appearance.value": "in traits",
		"image": "a picture", "external_url": "a page", "breeding_cooldown": "of the moment",
	}
	rows, err := newStore(t, filepath.Join(t.TempDir(), "races.sqlite")).db.Query(`SELECT * FROM horses`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	for _, name := range memberNames(reflect.TypeFor[horseracing.Horse](), "") {
		if elsewhere[name] == "" && !slices.Contains(columns, name) {
			t.Errorf("%s has no column: store it, or say here why not", name)
		}
	}
}

// memberNames are the members of a type in the service's JSON, nested ones with a dot.
func memberNames(of reflect.Type, prefix string) (names []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.Field(0).Tag.Get("json") != "" {
			names = append(names, memberNames(inner, prefix+name+".")...)
		} else {
			names = append(names, prefix+name)
		}
	}
	return names
}

// storedRow is what the database holds, by table and column, of a race with one
// participant and these members.
func storedRow(t *testing.T, s *store, members string) map[string]string {
	t.Helper()
	race := horseracing.Race{MainRaceID: 1, Participants: []horseracing.RaceParticipant{{Number: 1}}}
	if err := json.Unmarshal([]byte(members), &race); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(`DELETE FROM races; DELETE FROM participants`); err != nil {
		t.Fatal(err)
	}
	insertRows(t, s, raceRow(&race, 5))
	columns := map[string]string{}
	for _, table := range []string{"races", "participants"} {
		rows, err := s.db.Query(`SELECT * FROM ` + table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, _ := rows.Columns()
		if n, err := scan(rows, len(names), func(values []any) error {
			for i, name := range names {
				columns[table+"."+name] = fmt.Sprint(values[i])
			}
			return nil
		}); n != 1 || err != nil {
			t.Fatalf("%d rows in %s (%v)", n, table, err)
		}
	}
	return columns
}

func insertRows(t *testing.T, s *store, rows ...row) {
	t.Helper()
	if err := s.transact(t.Context(), func(tx *sql.Tx) error {
		return s.insert(tx, rows)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestHeatsAreRacesOfTheirOwn(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "races.sqlite"))
	heat := horseracing.Race{
		MainRaceID: 7, Participants: []horseracing.RaceParticipant{{Number: 1, Total: 50}, {Number: 2, Total: 51}}, FinalOrder: []int{0, 1},
	}
	registration := ledger.Entry{Time: time.UnixMilli(500), Horse: 1, Race: 7, State: ledger.Entered}
	insertRows(t, s, registrationRow(registration))
	for i, start := range []int64{1000, 2000, 2000} {
		heat.StartTime = horseracing.NewTimestamp(time.UnixMilli(start))
		heat.FinalOrder = []int{i % 2, 1 - i%2}
		insertRows(t, s, raceRow(&heat, 5))
	}
	for text, want := range map[string][]string{
		`SELECT race_id, start_time FROM races`:                   {"7 1000", "7 2000"},
		`SELECT horse, starts, places, average_runners FROM form`: {"1 2 2 1 2", "2 2 1 2 2"},
		`SELECT race_id, horse, start_time, place FROM fees`:      {"7 1 2000 2"},
		`SELECT count(*) FROM speed`:                              {"4"},
	} {
		if diff := cmp.Diff(want, query(t, s, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
