package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// scan calls f with the values of each row, and returns how many there were.
func scan(rows *sql.Rows, columns int, f func(values []any) error) (n int, err error) {
	values, targets := make([]any, columns), make([]any, columns)
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return n, err
		}
		if err := f(values); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// query returns the rows of a query as lines.
func query(t *testing.T, s *store, text string) (lines []string) {
	t.Helper()
	rows, err := s.db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	if _, err := scan(rows, len(columns), func(values []any) error {
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(values...)))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestTheViewsShowFormFeesAndSpeed(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "races.sqlite"))
	w, err := s.walk(t.Context(), "races", 5, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 12 { // horse 1 wins the odd ones, each race is a second slower than the one before
		race := horseracing.Race{
			MainRaceID: horseracing.RaceID(i), StartTime: horseracing.NewTimestamp(start.AddDate(0, 0, i)), Length: 8,
			Prizes:       []horseracing.Number{horseracing.NewNumber(700)},
			Participants: []horseracing.RaceParticipant{{Number: 1, Total: float64(50 + i)}, {Number: 2, Total: float64(50 + i)}, {Number: 3}},
			FinalOrder:   []int{1 - i%2, i % 2, 2}, Info: horseracing.RaceInfo{HippodromeName: "Downs", Turf: "grass"},
		}
		rows = append(rows, raceRow(&race, 5))
	}
	for i, state := range []ledger.State{ledger.Entered, ledger.Unknown, ledger.Refused, ledger.Absent} {
		fee, _ := horseracing.ParseUnits("2500000000000000000001", 0)
		rows = append(rows, registrationRow(ledger.Entry{Time: start, Horse: 1, Race: horseracing.RaceID(i), Fee: fee, State: state}))
	}
	if err := s.save(t.Context(), w, rows, horseracing.Cursor{}, true); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		`SELECT horse, starts, places, average_place, average_runners FROM form`: {
			"1 12 1 2 1 2 1 2 1 2 1 2 1.5 3", "2 12 2 1 2 1 2 1 2 1 2 1 1.5 3", "3 12 3 3 3 3 3 3 3 3 3 3 3 3"},
		`SELECT race_id, state, fee, place, prize FROM fees ORDER BY race_id`: {
			"0 entered 2500000000000000000001 2 <nil>", "1 unknown 2500000000000000000001 1 700"},
		`SELECT race_id, total, median, percent, runs FROM speed WHERE horse = 2 AND race_id IN (0, 11) ORDER BY race_id`: {
			"0 50 55.5 -9.91 24", "11 61 55.5 9.91 24"},
	} {
		got := query(t, s, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestSeveralTiersAndAnAgeAreReadOnce(t *testing.T) {
	fake := newFake(t, 300)
	name := filepath.Join(t.TempDir(), "races")
	for _, limit := range []int{200, 30} {
		fake.ResetLog()
		runHere(t, fake, "-out", name, "-tier", "3,4", "-since", "3000d")
		if n := fake.RequestCount(); n > limit {
			t.Errorf("it sent %d requests, want at most %d", n, limit)
		}
	}
	db := open(t, name)
	for _, tier := range []horseracing.TierID{3, 4} {
		want := len(history(t, fake, tier))
		if n := count(t, db, `SELECT count(*) FROM races WHERE tier_id = ?`, tier); n != want || n == 0 {
			t.Errorf("tier %d: %d races stored, want %d", tier, n, want)
		}
	}
	if n := count(t, db, `SELECT count(*) FROM walks`); n != 2 {
		t.Errorf("%d walks, want one for each tier", n)
	}
}
