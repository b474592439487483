package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	m.Run()
}

// newExport returns an export of the last year of a fake, with its database open.
func newExport(t *testing.T, fake *horseracingtest.Server, path string, opts ...horseracing.Option) *export {
	t.Helper()
	x := &export{service: "a fake", tier: horseracing.TierOmega, since: fake.Now().AddDate(-1, 0, 0)}
	x.client = fake.Client(append(opts, horseracing.WithSkipHandler(x.skip))...)
	if err := x.open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.db.Close() })
	return x
}

func newFake(t *testing.T, history int) (fake *horseracingtest.Server, path string) {
	t.Helper()
	fake = horseracingtest.NewServer(horseracingtest.WithHistory(history), horseracingtest.WithSchedule(0))
	t.Cleanup(fake.Close)
	return fake, filepath.Join(t.TempDir(), "races.sqlite")
}

// query returns the rows of a query, a line each.
func query(t *testing.T, db *sql.DB, text string) (lines []string) {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
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

// interrupting cancels a context when so many requests were sent, as Ctrl-C does.
type interrupting struct {
	http.RoundTripper
	left   *atomic.Int64
	cancel context.CancelFunc
}

func (i *interrupting) RoundTrip(r *http.Request) (*http.Response, error) {
	if i.left.Add(-1) == 0 {
		i.cancel()
	}
	return i.RoundTripper.RoundTrip(r)
}

func TestInterruptedAgainAndAgainItStoresEachRaceOnce(t *testing.T) {
	fake, path := newFake(t, 400)
	interrupted := 0
	for requests := int64(25); ; requests += 10 {
		ctx, cancel := context.WithCancel(t.Context())
		left := new(atomic.Int64)
		left.Store(requests)
		x := newExport(t, fake, path, horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
			return &interrupting{next, left, cancel}
		}))
		if _, err := x.db.Exec(`CREATE TRIGGER IF NOT EXISTS once BEFORE INSERT ON races BEGIN
			SELECT RAISE(ABORT, 'a race is stored twice') FROM races WHERE race_id = NEW.race_id; END`); err != nil {
			t.Fatal(err)
		}
		err := x.run(ctx, false, false, "")
		cancel()
		x.db.Close()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		interrupted++
	}
	if interrupted < 2 {
		t.Errorf("it was interrupted %d times: the test shows too little", interrupted)
	}
	var want []string
	for r, err := range fake.Client().Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		winner, _ := r.Winner()
		want = append(want, fmt.Sprint(r.MainRaceID, r.StartTime.UnixMilli(), " ", r.EntryFee, len(r.Participants), winner.Number))
	}
	expectRows(t, newExport(t, fake, path), map[string][]string{
		`SELECT race_id, start_time, entry_fee, count(*), sum(iif(place = 1, horse, 0))
			FROM races JOIN participants USING (race_id, start_time) GROUP BY race_id, start_time ORDER BY start_time DESC, race_id DESC`: want,
	})
}

func TestARaceAndThePositionAfterItAreStoredTogether(t *testing.T) {
	fake, path := newFake(t, 5)
	x := newExport(t, fake, path)
	if _, err := x.db.Exec(`CREATE TRIGGER refuse BEFORE UPDATE ON listings BEGIN SELECT RAISE(ABORT, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	if err := x.run(t.Context(), false, false, ""); err == nil {
		t.Fatal("the position was stored: the test shows nothing")
	}
	expectRows(t, x, map[string][]string{`SELECT count(*) FROM races`: {"0"}, `SELECT count(*) FROM participants`: {"0"}})
}

func TestEveryMemberOfARaceATournamentAndAHorseIsStored(t *testing.T) {
	fake, path := newFake(t, 0)
	start := horseracing.NewTimestamp(fake.Now().Add(-time.Hour))
	fee, _ := new(big.Int).SetString("2500000000000000000001", 10)
	fake.AddRaces(horseracing.Race{
		MainRaceID: 7, StartTime: start, RegistrationDeadline: horseracing.NewTimestamp(start.Add(-time.Minute)), Type: horseracing.RaceTypeBestTime,
		Length: 5, V2: true, NoEquipment: true, EntryFee: horseracing.BigIntFrom(fee), Prizes: []horseracing.Number{horseracing.NewNumber(9)},
		Tier: horseracing.TierNameOmega, Places: 2, MinLevel: 3, MaxLevel: 4, Participants: []horseracing.RaceParticipant{{Number: 1, Total: 40.25, Lane: 2}, {Number: 2}},
		FinalOrder: []int{1, 0}, Winners: []int{1}, Info: horseracing.RaceInfo{Name: "Dawn", HippodromeType: "Oval", HippodromeName: "Downs", Turf: "Grass"},
	})
	fake.AddTournaments(horseracing.Tournament{
		ID: "6a", Name: "Cup", HippodromeName: "Downs", StartTime: start, Length: 6, Places: 16, EntryFee: horseracing.NewBigInt(8), Type: horseracing.RaceTypeWorstTime,
		Tier: horseracing.TierOmega, Status: 2, Participants: []horseracing.TournamentParticipant{{Number: 1, Total: 80.5}},
	})
	x := newExport(t, fake, path)
	if err := x.run(t.Context(), true, false, ""); err != nil {
		t.Fatal(err)
	}
	horse, err := x.client.Horses.Get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	begin := start.UnixMilli()
	expectRows(t, x, map[string][]string{
		`SELECT * FROM races`:        {fmt.Sprint("7 ", begin, " 5 ", begin-60_000, ` Dawn Downs Oval Grass best_time 5 2 3 4 1 1 2500000000000000000001 ["9"] [1,0] [1]`)},
		`SELECT * FROM participants`: {fmt.Sprint("7 ", begin, " 0 1 2 40.25 2"), fmt.Sprint("7 ", begin, " 1 2 0 0 1")},
		`SELECT * FROM tournaments`:  {fmt.Sprint("6a 5 ", begin, ` Cup Downs worst_time 6 16 8 [] [] [{"number":1,"dropped_at_index":0,"total":80.5}]`)},
		`SELECT * FROM horses WHERE number = 1`: {fmt.Sprint("1 ", horse.Name, " ", horse.Gender, " ", horse.Breed, " ", horse.Tier, " ", horse.Generation, " ",
			horse.Level, " ", horse.Height, " ", horse.Weight, " ", list(horse.Appearance))},
	})
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
		if err := x.transact(t.Context(), func(tx *sql.Tx) error { return x.insertRace(tx, &race) }); err != nil {
			t.Fatal(err)
		}
	}
	paid := filepath.Join(t.TempDir(), "l")
	lines := ""
	for race, state := range map[int]ledger.State{11: ledger.Entered, 2: ledger.Unknown, 3: ledger.Refused, 4: ledger.Absent} {
		lines += fmt.Sprintf(`{"v":1,"service":"s","time":"2025-01-01T00:00:00Z","horse":1,"race":%d,"fee":2500000000000000000001,"state":%q}`+"\n", race, state)
	}
	if err := os.WriteFile(paid, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := x.addRegistrations(t.Context(), paid); err != nil {
		t.Fatal(err)
	}
	expectRows(t, x, map[string][]string{
		`SELECT horse, starts, places, average_place, average_runners FROM form`: {
			"1 12 1 2 1 2 1 2 1 2 1 2 1.5 3", "2 12 2 1 2 1 2 1 2 1 2 1 1.5 3", "3 12 3 3 3 3 3 3 3 3 3 3 3 3"},
		`SELECT race_id, state, fee, place, prize FROM fees`: {
			"2 unknown 2500000000000000000001 2 <nil>", "11 entered 2500000000000000000001 1 700"},
		`SELECT total, median, percent, runs FROM speed WHERE horse = 2 AND race_id = 11 ORDER BY total`: {
			"50 55.5 -9.91 24", "61 55.5 9.91 24"},
	})
}

func TestARaceThatCannotBeReadIsKeptAsJSONAndTheOthersAreStored(t *testing.T) {
	fake, path := newFake(t, 0)
	for id := range horseracing.RaceID(3) {
		race := horseracing.Race{MainRaceID: id + 1, StartTime: horseracing.NewTimestamp(fake.Now().Add(-time.Duration(id+1) * time.Hour))}
		if id == 1 { // a fee beyond what is read
			race.EntryFee = horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil))
		}
		fake.AddRaces(race)
	}
	x := newExport(t, fake, path)
	if err := x.run(t.Context(), false, false, ""); err == nil || !strings.Contains(err.Error(), "1 entries could not be read") {
		t.Errorf("got %v", err)
	}
	expectRows(t, x, map[string][]string{
		`SELECT race_id FROM races ORDER BY race_id`: {"1", "3"}, `SELECT json_extract(json, '$.main_race_id') FROM unreadable`: {"2"}})
}

func TestFollowingSurvivesAnOutageAndStoresWhatFinishesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now),
			horseracingtest.WithHistory(30), horseracingtest.WithSchedule(0))
		defer fake.Close()
		x := newExport(t, fake, filepath.Join(t.TempDir(), "races.sqlite"))
		defer x.db.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.run(ctx, false, true, "") }()
		finish := func(id horseracing.RaceID, ago time.Duration) {
			fake.AddRaces(horseracing.Race{MainRaceID: id, StartTime: horseracing.NewTimestamp(time.Now().Add(-ago)),
				Participants: []horseracing.RaceParticipant{{Number: 7}}, FinalOrder: []int{0}})
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Minute)
		finish(900_001, 2*time.Minute)
		fake.Inject(horseracingtest.Fault{ResetBefore: true, Times: -1})
		time.Sleep(10 * time.Minute)
		fake.ClearFaults()
		time.Sleep(time.Minute)
		finish(900_002, 20*time.Minute) // it began before the outage ended
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		expectRows(t, x, map[string][]string{`SELECT count(*) FROM races`: {"32"}})
	})
}

func TestADatabaseOfAnotherProgramServiceOrTimeIsRefused(t *testing.T) {
	fake, path := newFake(t, 10)
	x := newExport(t, fake, path)
	x.since = fake.Now().AddDate(0, -1, 0)
	if err := x.run(t.Context(), false, false, ""); err != nil {
		t.Fatal(err)
	}
	x.since = x.since.AddDate(0, 0, -1)
	if err := x.run(t.Context(), false, false, ""); err == nil || !strings.Contains(err.Error(), "earlier -since") {
		t.Errorf("an earlier time: %v", err)
	}
	other := &export{service: "another"}
	if err := other.open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "it holds races of a fake, not of another") {
		t.Errorf("another service: %v", err)
	}
	defer other.db.Close()
	foreign := filepath.Join(t.TempDir(), "foreign.sqlite")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE races (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	if err := other.open(t.Context(), foreign); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("another program: %v", err)
	}
	if tables := query(t, db, `SELECT name FROM sqlite_schema`); len(tables) != 1 {
		t.Errorf("it was changed: %q", tables)
	}
}
