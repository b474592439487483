package main

import (
	"bytes"
	"database/sql"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// newFake starts a fake with a history, and no races that follow it.
func newFake(t *testing.T, history int, opts ...horseracingtest.Option) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(append(opts, horseracingtest.WithHistory(history), horseracingtest.WithSchedule(0))...)
	t.Cleanup(fake.Close)
	return fake
}

// runHere runs the program in this process against the fake, to its end.
func runHere(t *testing.T, fake *horseracingtest.Server, args ...string) {
	t.Helper()
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", fake.APIKey)
	var stderr strings.Builder
	if err := run(t.Context(), args, &stderr); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, &stderr)
	}
}

func open(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", name+".sqlite?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func count(t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// history is everything that the fake lists of a tier, read in the simplest way.
func history(t *testing.T, fake *horseracingtest.Server, tier horseracing.TierID) map[int64]horseracing.Race {
	t.Helper()
	races := map[int64]horseracing.Race{}
	for r, err := range fake.Client().Races.Results(horseracing.ResultsQuery{Tier: tier}).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		races[int64(r.MainRaceID)] = *r
	}
	return races
}

// finished is a race that starts the given time before the fake's present.
func finished(fake *horseracingtest.Server, id horseracing.RaceID, ago time.Duration) horseracing.Race {
	return horseracing.Race{
		MainRaceID: id, StartTime: horseracing.NewTimestamp(fake.Now().Add(-ago)), Type: horseracing.RaceTypeBestTime, Length: 5,
		Tier: horseracing.TierNameOmega, Info: horseracing.RaceInfo{HippodromeName: "Late Meadow"}, Places: 2,
		Participants: []horseracing.RaceParticipant{{Number: 7, Total: 40.25, Lane: 2}, {Number: 8, Total: 39.5, Lane: 1}},
		FinalOrder:   []int{1, 0}, Winners: []int{1},
	}
}

// unreadable is a race whose fee is beyond what is read.
func unreadable(race horseracing.Race) horseracing.Race {
	race.EntryFee = horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil))
	return race
}

func TestStartedAgainAfterItsEndItFetchesOnlyWhatIsNew(t *testing.T) {
	fake := newFake(t, 500)
	name := filepath.Join(t.TempDir(), "races")
	runHere(t, fake, "-out", name)
	fake.AddRaces(finished(fake, 900_001, time.Minute))
	fake.ResetLog()
	runHere(t, fake, "-out", name)
	db := open(t, name)
	if n := count(t, db, `SELECT count(*) FROM races`); n != 501 {
		t.Errorf("%d races stored, want 501", n)
	}
	if n := count(t, db, `SELECT place FROM participants WHERE race_id = 900001 AND horse = 8`); n != 1 {
		t.Errorf("the winner has place %d", n)
	}
	if n := fake.RequestCount(); n > 20 {
		t.Errorf("it took %d requests to fetch one race", n)
	}
}

func TestFollowStoresEachNewResultUntilCtrlCAndContinues(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	fake := newFake(t, 50)
	name := filepath.Join(t.TempDir(), "races")
	arguments := []string{"-out", name, "-follow", "-interval", "20ms"}
	child := programtest.Start(t, programtest.Environment(fake), arguments...)
	waitFor(t, "the database", func() bool { _, err := os.Stat(name + ".sqlite"); return err == nil })
	db := open(t, name)
	waitFor(t, "the crawl's end", func() bool {
		return fake.RequestCount() > 20 && count(t, db, `SELECT count(*) FROM walks WHERE done`) == 1
	})
	fake.AddRaces(finished(fake, 900_001, 2*time.Minute))
	waitFor(t, "the new race", func() bool { return count(t, db, `SELECT count(*) FROM races WHERE race_id = 900001`) == 1 })
	fake.AddRaces(finished(fake, 900_002, 5*time.Minute)) // began before the other, finished after it
	waitFor(t, "the late race", func() bool { return count(t, db, `SELECT count(*) FROM races WHERE race_id = 900002`) == 1 })

	child.Interrupt()
	r := child.Wait()
	if r.Status != 130 {
		t.Errorf("after Ctrl-C: exit status %d, want 130", r.Status)
	}
	if s := r.Stderr; !strings.HasSuffix(s, "export: stopped\n") || strings.Contains(s, "goroutine") {
		t.Errorf("after Ctrl-C it printed:\n%s", s)
	}
	if _, err := db.Exec(`CREATE TRIGGER once BEFORE INSERT ON races BEGIN SELECT RAISE(ABORT, 'stored before') WHERE NEW.race_id < 900003; END`); err != nil {
		t.Fatal(err)
	}
	fake.AddRaces(finished(fake, 900_003, 3*time.Minute)) // nobody follows
	fake.ResetLog()
	child = programtest.Start(t, programtest.Environment(fake), arguments...)
	waitFor(t, "a race that finished meanwhile", func() bool { return count(t, db, `SELECT count(*) FROM races WHERE race_id = 900003`) == 1 })
	child.Kill()
	if n := fake.RequestCount(); n > 100 {
		t.Errorf("%d requests for one race", n)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestOneServiceUnderTwoAddresses(t *testing.T) {
	fake := newFake(t, 10)
	name := filepath.Join(t.TempDir(), "races")
	run := func(url string, args ...string) programtest.Result {
		return programtest.Run(t, []string{"HORSERACING_BASE_URL=" + url, "HORSERACING_API_KEY=" + fake.APIKey}, append(args, "-out", name)...)
	}
	other := strings.Replace(fake.URL, "127.0.0.1", "localhost", 1)
	if r := run(fake.URL); r.Status != 0 {
		t.Fatal(r.Stderr)
	}
	run(other).ExpectSentence(t, 1, fake.URL, other, "choose another -out", "-source "+fake.URL)
	if r := run(other, "-source", fake.URL); r.Status != 0 {
		t.Errorf("-source: exit status %d: %s", r.Status, r.Stderr)
	}
}

func TestAForeignFileIsRefusedAndNotChanged(t *testing.T) {
	fake := newFake(t, 10)
	dir := t.TempDir()
	name := filepath.Join(dir, "races")
	if _, err := open(t, name).Exec(`CREATE TABLE races (id INTEGER, name TEXT)`); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(name + ".sqlite")
	if err != nil {
		t.Fatal(err)
	}
	programtest.Run(t, programtest.Environment(fake), "-out", name).ExpectSentence(t, 1, name+".sqlite is not a database of export")
	if after, err := os.ReadFile(name + ".sqlite"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was changed (%v)", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

func TestItStartsAndEndsAsEveryExampleAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	programtest.ExpectUsage(t)
	programtest.ExpectErrors(t, "-out", filepath.Join(dir, "new", "races"))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
	for _, args := range [][]string{{"-since", "yesterday"}, {"-tier", "3,0"}, {"-interval", "0s"}, {"-out", "races/"}} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, args[0])
	}
}

func TestASecondExportOnAFileIsRefused(t *testing.T) {
	fake := newFake(t, 2000, horseracingtest.WithLatency(20*time.Millisecond))
	name := filepath.Join(t.TempDir(), "races")
	first := programtest.Start(t, programtest.Environment(fake), "-out", name, "-concurrency", "1")
	waitFor(t, "the first one's start", func() bool { return fake.RequestCount() > 30 })
	programtest.Run(t, programtest.Environment(fake), "-out", name).ExpectSentence(t, 1, "another export is writing to "+name+".sqlite")
	first.Kill()
}

func TestANameIsTakenAsItStands(t *testing.T) {
	fake := newFake(t, 10)
	t.Chdir(t.TempDir())
	for _, name := range []string{"a#b", "a%41b", "a&b=c d"} {
		runHere(t, fake, "-out", name)
		if err := os.Remove(name + ".sqlite"); err != nil {
			t.Error(err)
		}
	}
}
