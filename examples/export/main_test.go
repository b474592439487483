package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expectError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v, want %q", err, part)
	}
}

// newExport returns an export of the last two months of a fake, with its database open.
func newExport(t *testing.T, fake *horseracingtest.Server, path string) *export {
	t.Helper()
	x := &export{service: "a fake", tier: horseracing.TierOmega, since: fake.Now().AddDate(0, -2, 0)}
	x.client = fake.Client(horseracing.WithSkipHandler(x.skip))
	must(t, x.open(t.Context(), path))
	t.Cleanup(func() { x.db.Close() })
	_, err := os.Stat(path) // whatever its name contains
	must(t, err)
	return x
}

func newFake(t *testing.T, history int) (fake *horseracingtest.Server, path string) {
	t.Helper()
	fake = horseracingtest.NewServer(horseracingtest.WithHistory(history), horseracingtest.WithSchedule(0))
	t.Cleanup(fake.Close)
	return fake, filepath.Join(t.TempDir(), "what?#%.sqlite")
}

func change(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	_, err := db.Exec(text)
	must(t, err)
}

// query returns the rows of a query, a line each.
func query(t *testing.T, db *sql.DB, text string) (lines []string) {
	t.Helper()
	rows, err := db.Query(text)
	must(t, err)
	defer rows.Close()
	columns, _ := rows.Columns()
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		must(t, rows.Scan(pointers...))
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(values...)))
	}
	return lines
}

func expectRows(t *testing.T, x *export, want map[string][]string) {
	t.Helper()
	for text, lines := range want {
		if diff := cmp.Diff(lines, query(t, x.db, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestKilledAgainAndAgainItStoresEachRaceOnce(t *testing.T) {
	fake, path := newFake(t, 400)
	x := newExport(t, fake, path)
	for _, race := range []int{1, 30, 31, 150, 400} { // killed between this race and the position after it
		change(t, x.db, fmt.Sprintf(`
			CREATE TRIGGER IF NOT EXISTS once BEFORE INSERT ON races BEGIN
				SELECT RAISE(ABORT, 'a race is stored twice') FROM races WHERE race_id = NEW.race_id; END;
			CREATE TRIGGER kill BEFORE UPDATE ON listings WHEN (SELECT count(*) FROM races) = %d BEGIN
				SELECT RAISE(ABORT, 'killed'); END`, race))
		expectError(t, x.run(t.Context(), false, false, ""), "killed")
		expectRows(t, x, map[string][]string{`SELECT count(*) FROM races`: {strconv.Itoa(race - 1)}})
		change(t, x.db, `DROP TRIGGER kill`)
		x.db.Close()
		x = newExport(t, fake, path)
	}
	must(t, x.run(t.Context(), false, false, ""))
	var want []string
	for r, err := range fake.Client().Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
		must(t, err)
		winner, _ := r.Winner()
		want = append(want, fmt.Sprint(r.MainRaceID, r.StartTime.UnixMilli(), " ", r.EntryFee, len(r.Participants), winner.Number))
	}
	expectRows(t, x, map[string][]string{
		`SELECT race_id, start_time, trim(entry_fee), count(*), sum(iif(place = 1, horse, 0))
			FROM races JOIN participants USING (race_id, start_time) GROUP BY race_id, start_time ORDER BY start_time DESC, race_id DESC`: want,
	})
}

func TestEveryFieldIsStoredAndARaceThatCannotBeReadIsKeptAsJSON(t *testing.T) {
	fake, path := newFake(t, 0)
	start := horseracing.NewTimestamp(fake.Now().Add(-time.Hour))
	fee, _ := new(big.Int).SetString("2500000000000000000001", 10)
	fake.AddRaces(horseracing.Race{
		MainRaceID: 7, StartTime: start, RegistrationDeadline: horseracing.NewTimestamp(start.Add(-time.Minute)), Type: horseracing.RaceTypeBestTime,
		Length: 5, V2: true, NoEquipment: true, EntryFee: horseracing.BigIntFrom(fee), Prizes: []horseracing.Number{horseracing.NewNumber(9)},
		Tier: horseracing.TierNameOmega, Places: 2, MinLevel: 3, MaxLevel: 4, Participants: []horseracing.RaceParticipant{{Number: 1, Total: 40.25, Lane: 2}, {Number: 2}},
		FinalOrder: []int{1, 0}, Winners: []int{1}, Info: horseracing.RaceInfo{Name: "Dawn", HippodromeType: "Oval", HippodromeName: "Downs", Turf: "Grass"},
	})
	beyond := horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil)) // a fee that the client refuses
	fake.AddRaces(horseracing.Race{MainRaceID: 8, StartTime: start, EntryFee: beyond})
	fake.AddTournaments(horseracing.Tournament{
		ID: "6a", Name: "Cup", HippodromeName: "Downs", StartTime: start, Length: 6, Places: 16, EntryFee: horseracing.NewBigInt(8), Type: horseracing.RaceTypeWorstTime,
		Tier: horseracing.TierOmega, Status: 2, Participants: []horseracing.TournamentParticipant{{Number: 1, Total: 80.5}},
	})
	x := newExport(t, fake, path)
	expectError(t, x.run(t.Context(), true, false, ""), "1 entries could not be read")
	horse, err := x.client.Horses.Get(t.Context(), 1)
	must(t, err)
	begin := start.UnixMilli()
	expectRows(t, x, map[string][]string{
		`SELECT * FROM races`:        {fmt.Sprint("7 ", begin, " 5 ", begin-60_000, ` Dawn Downs Oval Grass best_time 5 2 3 4 1 1 `+amount(horseracing.BigIntFrom(fee))+` ["9"] [1,0] [1]`)},
		`SELECT * FROM participants`: {fmt.Sprint("7 ", begin, " 0 1 2 40.25 2"), fmt.Sprint("7 ", begin, " 1 2 0 0 1")},
		`SELECT * FROM tournaments`:  {fmt.Sprint("6a 5 ", begin, ` Cup Downs worst_time 6 16 `, amount(horseracing.NewBigInt(8)), ` [] [] [{"number":1,"dropped_at_index":0,"total":80.5}]`)},
		`SELECT * FROM horses WHERE number = 1`: {fmt.Sprint("1 ", horse.Name, " ", horse.Gender, " ", horse.Breed, " ", horse.Tier, " ", horse.Generation, " ",
			horse.Level, " ", horse.Height, " ", horse.Weight, " ", list(horse.Appearance))},
		`SELECT json_extract(json, '$.main_race_id') FROM unreadable`:  {"8"},
		`SELECT length(entry_fee), substr(entry_fee, 1, 1) FROM races`: {"40"}, // texts of one length, padded on the left, compare as numbers
	})
}

// With REQUIRE_SERVERS the shell has to be there.
func TestTheQueriesOfTheREADMEAreExactInTheShellOfSQLite(t *testing.T) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil && os.Getenv("REQUIRE_SERVERS") == "" {
		t.Skip(err)
	}
	must(t, err)
	fake, path := newFake(t, 0)
	x := newExport(t, fake, path)
	for i, fee := range []string{"9000000000000000001", "9000000000000000001", "36893488147419103233", "3"} {
		race := horseracing.Race{MainRaceID: horseracing.RaceID(i), StartTime: horseracing.NewTimestamp(fake.Now())}
		must(t, race.EntryFee.UnmarshalText([]byte(fee)))
		must(t, x.transact(t.Context(), func(tx *sql.Tx) error { return x.insertRace(tx, &race) }))
		change(t, x.db, fmt.Sprintf(`INSERT INTO registrations VALUES (%d, 7, 0, 'entered', '%40s')`, i, fee))
	}
	readme, err := os.ReadFile("README.md")
	must(t, err)
	var got string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(readme, -1) {
		printed, err := exec.Command(shell, path, string(block[1])).CombinedOutput()
		must(t, err)
		got += string(printed)
	}
	if diff := cmp.Diff("3|36893488147419103233\n7|54893488147419103238|\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestTheViewsShowFormFeesAndSpeed(t *testing.T) {
	fake, path := newFake(t, 0)
	x := newExport(t, fake, path)
	start := fake.Now().AddDate(0, 0, -20)
	for i := range 12 { // horse 1 wins the odd ones, and each race is a second slower than the one before
		race := horseracing.Race{
			MainRaceID: horseracing.RaceID(i), StartTime: horseracing.NewTimestamp(start.AddDate(0, 0, i)), Length: 8,
			Prizes:       []horseracing.Number{horseracing.NewNumber(700)},
			Participants: []horseracing.RaceParticipant{{Number: 1, Total: float64(50 + i)}, {Number: 2, Total: float64(50 + i)}, {Number: 3}},
			FinalOrder:   []int{1 - i%2, i % 2, 2}, Info: horseracing.RaceInfo{HippodromeName: "Downs", Turf: "grass"},
		}
		if i == 0 {
			race.MainRaceID = 11 // which has two heats
		}
		must(t, x.transact(t.Context(), func(tx *sql.Tx) error { return x.insertRace(tx, &race) }))
	}
	paid := filepath.Join(t.TempDir(), "l")
	db, err := sql.Open("sqlite", paid)
	must(t, err)
	defer db.Close()
	must(t, ledger.Create(t.Context(), db, x.client))
	for race, state := range map[int]ledger.State{11: ledger.Entered, 2: ledger.Unknown, 3: ledger.Refused, 4: ledger.Absent} {
		change(t, db, fmt.Sprintf(`INSERT INTO horseracing_entries VALUES (1, %d, 0, '%d', '%s', '')`, race, 10-race%10, state))
	}
	must(t, x.run(t.Context(), false, false, paid))
	expectRows(t, x, map[string][]string{
		`SELECT horse, starts, places, average_place, average_runners FROM form`: {
			"1 12 1 2 1 2 1 2 1 2 1 2 1.5 3", "2 12 2 1 2 1 2 1 2 1 2 1 1.5 3", "3 12 3 3 3 3 3 3 3 3 3 3 3 3"},
		`SELECT race_id, state, trim(fee), place, trim(prize), length(prize) FROM fees ORDER BY fee`: {
			"2 unknown 8 2 <nil> <nil>", "11 entered 9 1 700 40"},
		`SELECT total, median, percent, runs FROM speed WHERE horse = 2 AND race_id = 11 ORDER BY total`: {
			"50 55.5 -9.91 24", "61 55.5 9.91 24"},
	})
}

func TestFollowingContinuesByItselfAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now),
			horseracingtest.WithHistory(30), horseracingtest.WithSchedule(0))
		defer fake.Close()
		x := newExport(t, fake, filepath.Join(t.TempDir(), "races.sqlite"))
		defer x.db.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.run(ctx, false, true, "") }()
		time.Sleep(time.Minute)
		fake.Inject(horseracingtest.Fault{ResetBefore: true, Times: -1})
		time.Sleep(10 * time.Minute)
		fake.ClearFaults()
		fake.AddRaces(horseracing.Race{MainRaceID: 900_001, StartTime: horseracing.NewTimestamp(time.Now().Add(-2 * time.Minute)),
			Participants: []horseracing.RaceParticipant{{Number: 7}}, FinalOrder: []int{0}})
		time.Sleep(3 * time.Minute)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		expectRows(t, x, map[string][]string{`SELECT count(*) FROM races`: {"31"}})
	})
}

func TestADatabaseOfAnotherProgramServiceOrTimeIsRefused(t *testing.T) {
	fake, path := newFake(t, 10)
	x := newExport(t, fake, path)
	must(t, x.run(t.Context(), false, false, ""))
	x.since = x.since.AddDate(0, 0, -1)
	expectError(t, x.run(t.Context(), false, false, ""), "earlier -since")
	other := &export{service: "another"}
	expectError(t, other.open(t.Context(), path), "it holds races of a fake, not of another")
	other.db.Close()
	change(t, x.db, `PRAGMA application_id = 7`)
	expectError(t, other.open(t.Context(), path), "another program")
	other.db.Close()
	expectRows(t, x, map[string][]string{`SELECT application_id FROM pragma_application_id`: {"7"}}) // it was not changed
}
