package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// newStore is a new store, in which a trigger notes every attempt to store a
// race. The note of an attempt is gone with its transaction, as the race is.
func newStore(t *testing.T, path string) *store {
	t.Helper()
	s, err := openStore(t.Context(), path, "a service")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	if _, err := s.db.Exec(`CREATE TABLE offered (race_id INTEGER);
		CREATE TRIGGER watch BEFORE INSERT ON races BEGIN INSERT INTO offered VALUES (NEW.race_id); END`); err != nil {
		t.Fatal(err)
	}
	return s
}

type storedRace struct {
	ID, Start       int64
	Hippodrome, Fee string
	Runners, Winner int64
}

func TestKilledAtAnyMomentItLosesAndRepeatsNothing(t *testing.T) {
	const size, kills = 3000, 8
	fake := newFake(t, size, horseracingtest.WithLatency(10*time.Millisecond))
	name := filepath.Join(t.TempDir(), "races")
	newStore(t, name+".sqlite").close()
	arguments := []string{"-out", name, "-concurrency", "2", "-source", "a service"}
	db := open(t, name)
	midway := 0
	for range kills {
		child := programtest.Start(t, programtest.Environment(fake), arguments...)
		for pages := fake.RequestCount() + 20 + rand.IntN(150); fake.RequestCount() < pages && count(t, db, `SELECT count(*) FROM races`) < size; {
			time.Sleep(time.Millisecond) // a process cannot be waited for otherwise
		}
		child.Kill()
		n := count(t, db, `SELECT count(*) FROM races`)
		t.Logf("killed with %d races stored", n)
		if n > 0 && n < size {
			midway++
		}
	}
	if midway < 2 {
		t.Errorf("only %d of %d kills came while the walk was under way: the test shows too little", midway, kills)
	}
	if r := programtest.Run(t, programtest.Environment(fake), arguments...); r.Status != 0 {
		t.Fatalf("the last run: exit status %d: %s", r.Status, r.Stderr)
	}
	if n := count(t, db, `SELECT count(*) FROM (SELECT race_id FROM offered GROUP BY race_id HAVING count(*) > 1)`); n > 0 {
		t.Errorf("%d races were read twice", n)
	}

	want := map[int64]storedRace{}
	for id, r := range history(t, fake, horseracing.TierOmega) {
		finishers, err := r.Finishers()
		if err != nil {
			t.Fatal(err)
		}
		want[id] = storedRace{id, r.StartTime.UnixMilli(), r.Info.HippodromeName, r.EntryFee.String(), int64(len(r.Participants)), int64(finishers[0].Number)}
	}
	got := map[int64]storedRace{}
	found, err := db.Query(`SELECT race_id, start_time, hippodrome, entry_fee, count(*), sum(iif(place = 1, horse, 0))
		FROM races JOIN participants USING (race_id, start_time) GROUP BY race_id`)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var r storedRace
		if err := found.Scan(&r.ID, &r.Start, &r.Hippodrome, &r.Fee, &r.Runners, &r.Winner); err != nil {
			t.Fatal(err)
		}
		got[r.ID] = r
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the database differs from the service (-service +database):\n%s", diff)
	}
}

func TestRacesAndCursorAreStoredTogetherOrNotAtAll(t *testing.T) {
	for _, refuse := range []string{
		`CREATE TRIGGER refuse BEFORE UPDATE OF cursor ON walks BEGIN SELECT RAISE(ABORT, 'refused'); END`,
		`CREATE TRIGGER refuse BEFORE INSERT ON participants WHEN NEW.race_id = 2 BEGIN SELECT RAISE(ABORT, 'refused'); END`,
	} {
		fake := newFake(t, 0)
		s := newStore(t, filepath.Join(t.TempDir(), "races.sqlite"))
		w, err := s.walk(t.Context(), "races", horseracing.TierOmega, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		fake.AddRaces(finished(fake, 1, time.Hour), finished(fake, 2, 2*time.Hour))
		pager := fake.Client().Races.Results(horseracing.ResultsQuery{})
		races, err := pager.Take(t.Context(), 2)
		if err != nil || len(races) != 2 {
			t.Fatal(races, err)
		}
		if _, err := s.db.Exec(refuse); err != nil {
			t.Fatal(err)
		}
		rows := []row{raceRow(&races[0], 5), raceRow(&races[1], 5)}
		if err := s.save(t.Context(), w, rows, pager.Cursor(), true); err == nil {
			t.Fatal("the save went through: the test shows nothing")
		}
		if n := count(t, s.db, `SELECT (SELECT count(*) FROM races) + (SELECT count(*) FROM participants) + (SELECT count(*) FROM walks WHERE cursor <> '' OR done)`); n != 0 {
			t.Errorf("after a refused save %d rows stayed (%s)", n, refuse)
		}
	}
}

func TestHorsesAndTournamentsJoinTheRaces(t *testing.T) {
	fake := newFake(t, 30)
	name := filepath.Join(t.TempDir(), "races")
	runHere(t, fake, "-out", name, "-horses", "-tournaments")
	db := open(t, name)
	for what, query := range map[string]string{
		"runners without their horse": `SELECT count(*) FROM participants WHERE horse NOT IN (SELECT number FROM horses)`,
		"horses without their traits": `SELECT count(*) FROM horses WHERE number NOT IN (SELECT horse FROM traits WHERE type = 'mane_color')`,
		"tournaments without stages":  `SELECT count(*) FROM tournaments WHERE tournament_id NOT IN (SELECT tournament_id FROM stages)`,
		"stages without results":      `SELECT count(*) FROM stages WHERE (tournament_id, stage) NOT IN (SELECT tournament_id, stage FROM stage_results)`,
		"tables without a row":        `SELECT (SELECT count(*) = 0 FROM horses) + (SELECT count(*) = 0 FROM tournaments)`,
	} {
		if n := count(t, db, query); n > 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

func TestAnUnreadableRaceIsKeptAsJSON(t *testing.T) {
	fake := newFake(t, 40)
	all := history(t, fake, horseracing.TierOmega)
	broken := slices.Min(slices.Collect(maps.Keys(all)))
	fake.AddRaces(unreadable(all[broken]))
	name := filepath.Join(t.TempDir(), "races")
	r := programtest.Run(t, programtest.Environment(fake), "-out", name)
	if r.Status != 0 || !strings.Contains(r.Stderr, "1 races could not be read; their JSON is in the table unreadable") {
		t.Errorf("exit status %d: %s", r.Status, r.Stderr)
	}
	db := open(t, name)
	if n := count(t, db, `SELECT count(*) FROM races`); n != 39 {
		t.Errorf("%d races are stored, want 39", n)
	}
	if n := count(t, db, `SELECT count(*) FROM unreadable WHERE json LIKE ?`, fmt.Sprintf(`%%"main_race_id":%d,%%`, broken)); n != 1 {
		t.Errorf("the JSON of the unreadable race is kept %d times", n)
	}
}
