package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// runHere runs the program in this process against the fake.
func runHere(t *testing.T, ctx context.Context, fake *horseracingtest.Server, args ...string) (status int, stderr string) {
	t.Helper()
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", fake.APIKey)
	var b strings.Builder
	status = run(ctx, args, &b)
	return status, b.String()
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

// rows reads a table through the rows of the Parquet files.
func rows[T any, R row[T]](t *testing.T, db *sql.DB, query string) (all []T) {
	t.Helper()
	found, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var r T
		if err := found.Scan(R(&r).fields()...); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// history is everything that the fake lists, read in the simplest way.
func history(t *testing.T, fake *horseracingtest.Server) map[int64]horseracing.Race {
	t.Helper()
	races := map[int64]horseracing.Race{}
	for r, err := range fake.Client().Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		races[int64(r.MainRaceID)] = *r
	}
	return races
}

func TestKilledAtAnyMomentItLosesAndRepeatsNothing(t *testing.T) {
	const size, kills = 3000, 8
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(size), horseracingtest.WithSchedule(0), horseracingtest.WithLatency(10*time.Millisecond))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "races")

	// Watch every attempt to store a race. What an attempt leaves here is gone
	// with its transaction, as the race is.
	s, err := openStore(t.Context(), name+".sqlite", fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	db := open(t, name)
	if _, err := db.Exec(`CREATE TABLE offered (race_id INTEGER);
		CREATE TRIGGER watch BEFORE INSERT ON races BEGIN INSERT INTO offered VALUES (NEW.race_id); END`); err != nil {
		t.Fatal(err)
	}

	midway := 0
	for range kills {
		child := programtest.Start(t, programtest.Environment(fake), "-out", name, "-concurrency", "2")
		time.Sleep(time.Duration(150+rand.IntN(350)) * time.Millisecond) // the moment of the kill, not a wait for anything
		child.Kill()
		n := count(t, db, `SELECT count(*) FROM races`)
		t.Logf("killed with %d races stored", n)
		if n > 0 && n < size {
			midway++
		}
	}
	if midway < 3 {
		t.Errorf("only %d of %d kills came while the walk was under way: the test shows too little", midway, kills)
	}
	if r := programtest.Run(t, programtest.Environment(fake), "-out", name, "-format", "csv,parquet"); r.Status != 0 {
		t.Fatalf("the last run: exit status %d: %s", r.Status, r.Stderr)
	}

	if n := count(t, db, `SELECT count(*) FROM (SELECT race_id FROM offered GROUP BY race_id HAVING count(*) > 1)`); n > 0 {
		t.Errorf("%d races were read twice", n)
	}
	want := history(t, fake)
	if len(want) != size {
		t.Fatalf("the fake lists %d races, want %d", len(want), size)
	}
	participants := map[int64][]participantRow{}
	for _, p := range rows[participantRow](t, db, selectParticipants) {
		participants[p.RaceID] = append(participants[p.RaceID], p)
	}
	stored := rows[raceRow](t, db, selectRaces)
	for _, got := range stored {
		w := want[got.RaceID]
		if got.EntryFee != w.EntryFee.String() || got.StartTime != w.StartTime.UnixMilli() || got.Length != int32(w.Length) || got.Hippodrome != w.Info.HippodromeName {
			t.Errorf("race %d is stored as %+v, the service has %+v", got.RaceID, got, w)
		}
		if len(participants[got.RaceID]) != len(w.Participants) {
			t.Errorf("race %d has %d participants, want %d", got.RaceID, len(participants[got.RaceID]), len(w.Participants))
			continue
		}
		finishers, err := w.Finishers()
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range participants[got.RaceID] {
			from := w.Participants[i]
			if p.Horse != int64(from.Number) || p.Total != from.Total || *p.Lane != int32(from.Lane) || finishers[*p.Place-1].Number != from.Number {
				t.Errorf("race %d, participant %d is stored as %+v, the service has %+v", got.RaceID, i, p, from)
			}
		}
		delete(want, got.RaceID)
	}
	if len(want) > 0 || len(stored) != size {
		t.Errorf("%d races stored, %d missing", len(stored), len(want))
	}
	checkFiles(t, name, stored)
}

func entries(races []horseracing.Race) (all []horseracing.Entry[horseracing.Race]) {
	for i := range races {
		all = append(all, horseracing.Entry[horseracing.Race]{Value: &races[i]})
	}
	return all
}

func TestRacesAndCursorAreStoredTogetherOrNotAtAll(t *testing.T) {
	for _, refuse := range []string{
		`CREATE TRIGGER refuse BEFORE UPDATE OF cursor ON walks BEGIN SELECT RAISE(ABORT, 'refused'); END`,
		`CREATE TRIGGER refuse BEFORE UPDATE OF following ON walks BEGIN SELECT RAISE(ABORT, 'refused'); END`,
		`CREATE TRIGGER refuse BEFORE INSERT ON participants WHEN NEW.race_id = 2 BEGIN SELECT RAISE(ABORT, 'refused'); END`,
	} {
		fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		defer fake.Close()
		s, err := openStore(t.Context(), filepath.Join(t.TempDir(), "races.sqlite"), fake.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		w, err := s.walk(t.Context(), horseracing.TierOmega, time.Time{}, time.Time{}, false)
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
		if strings.Contains(refuse, "following") {
			_, err = s.saveFollowed(t.Context(), w, &races[0], pager.Cursor())
		} else {
			_, err = s.save(t.Context(), w, entries(races), pager.Cursor(), false)
		}
		if err == nil {
			t.Fatal("the save went through: the test shows nothing")
		}
		if n := count(t, s.db, `SELECT (SELECT count(*) FROM races) + (SELECT count(*) FROM participants) + (SELECT count(*) FROM walks WHERE cursor <> '' OR following <> '')`); n != 0 {
			t.Errorf("after a refused save %d rows stayed (%s)", n, refuse)
		}
	}
}

// checkFiles compares the CSV and Parquet files with the database.
func checkFiles(t *testing.T, name string, stored []raceRow) {
	t.Helper()
	inParquet, err := parquet.ReadFile[raceRow](name + ".parquet")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, inParquet); diff != "" {
		t.Errorf("races.parquet differs from the database:\n%s", diff)
	}
	file, err := os.Open(name + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(stored)+1 {
		t.Fatalf("races.csv has %d lines, want %d", len(records), len(stored)+1)
	}
	column := map[string]int{}
	for i, name := range records[0] {
		column[name] = i
	}
	long := 0
	for i, record := range records[1:] {
		want := stored[i]
		got := []string{record[column["race_id"]], record[column["entry_fee"]], record[column["prizes"]], record[column["start_time"]]}
		start := time.UnixMilli(want.StartTime).UTC().Format("2006-01-02T15:04:05.000Z")
		if diff := cmp.Diff([]string{strconv.FormatInt(want.RaceID, 10), want.EntryFee, want.Prizes, start}, got); diff != "" {
			t.Fatalf("line %d of races.csv:\n%s", i+2, diff)
		}
		if strings.ContainsAny(want.EntryFee+want.Prizes, "e+.") {
			t.Fatalf("race %d: amounts are not written in full: %s, %s", want.RaceID, want.EntryFee, want.Prizes)
		}
		if len(want.EntryFee) > 19 { // no 64-bit integer holds it
			long++
		}
	}
	if long == 0 {
		t.Error("no fee is beyond 64 bits: the test shows too little")
	}
	if left, _ := filepath.Glob(name + "*.tmp"); len(left) > 0 {
		t.Errorf("temporary files were left: %v", left)
	}
}

// finished is a race that lies the given time before the fake's present.
func finished(fake *horseracingtest.Server, id horseracing.RaceID, ago time.Duration) horseracing.Race {
	return horseracing.Race{
		MainRaceID: id, StartTime: horseracing.NewTimestamp(fake.Now().Add(-ago)), Type: horseracing.RaceTypeBestTime, Length: 5,
		Tier: horseracing.TierNameOmega, Info: horseracing.RaceInfo{HippodromeName: "Late Meadow"}, Places: 2,
		Participants: []horseracing.RaceParticipant{{Number: 7, Total: 40.25, Lane: 2}, {Number: 8, Total: 39.5, Lane: 1}},
		FinalOrder:   []int{1, 0}, Winners: []int{1},
	}
}

func TestStartedAgainAfterItsEndItFetchesOnlyWhatIsNew(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(500), horseracingtest.WithSchedule(0))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "races")
	if status, stderr := runHere(t, t.Context(), fake, "-out", name); status != 0 {
		t.Fatal(stderr)
	}
	fake.AddRaces(finished(fake, 900_001, time.Minute))
	fake.ResetLog()
	if status, stderr := runHere(t, t.Context(), fake, "-out", name); status != 0 {
		t.Fatal(stderr)
	}
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

func TestFollowStoresNewResultsUntilCtrlC(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(50), horseracingtest.WithSchedule(0))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "races")
	child := programtest.Start(t, programtest.Environment(fake), "-out", name, "-follow", "-interval", "20ms", "-format", "csv")
	waitFor(t, "the crawl's end", func() bool { _, err := os.Stat(name + ".csv"); return err == nil })
	db := open(t, name)
	fake.AddRaces(finished(fake, 900_001, 2*time.Minute))
	waitFor(t, "the new race", func() bool { return count(t, db, `SELECT count(*) FROM races WHERE race_id = 900001`) == 1 })
	fake.AddRaces(finished(fake, 900_002, 5*time.Minute)) // began before the other, finished after it
	waitFor(t, "the late race", func() bool { return count(t, db, `SELECT count(*) FROM races WHERE race_id = 900002`) == 1 })

	child.Interrupt()
	r := child.Wait()
	if r.Status != 130 {
		t.Errorf("after Ctrl-C: exit status %d, want 130", r.Status)
	}
	if s := r.Stderr; !strings.HasSuffix(s, "export: stopped; the same command goes on from here\n") || strings.Contains(s, "goroutine") {
		t.Errorf("after Ctrl-C it printed:\n%s", s)
	}
	written, err := os.ReadFile(name + ".csv")
	if err != nil || !strings.Contains(string(written), "900002,") {
		t.Errorf("races.csv lacks what was followed (%v)", err)
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

func TestCtrlCDuringTheCrawlKeepsWhatWasStored(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(2000), horseracingtest.WithLatency(20*time.Millisecond))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "races")
	child := programtest.Start(t, programtest.Environment(fake), "-out", name, "-concurrency", "1")
	waitFor(t, "the crawl's start", func() bool { return fake.RequestCount() > 30 })
	child.Interrupt()
	if r := child.Wait(); r.Status != 130 {
		t.Errorf("exit status %d, want 130: %s", r.Status, r.Stderr)
	}
	if n := count(t, open(t, name), `SELECT count(*) FROM races`); n == 0 {
		t.Error("nothing is stored")
	}
}

func TestAnotherServicesRacesAreNotMixedIn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "races")
	for i := range 2 {
		fake := horseracingtest.NewServer(horseracingtest.WithHistory(10))
		defer fake.Close()
		status, stderr := runHere(t, t.Context(), fake, "-out", name)
		if status != i || i == 1 && !strings.Contains(stderr, "choose another -out") {
			t.Errorf("service %d: exit status %d: %s", i, status, stderr)
		}
	}
}

func TestAFailedRunIsOneSentenceAndLeavesNothing(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	for _, test := range []struct {
		name, url, key string
		args           []string
		message        string
	}{
		{"a wrong key", fake.URL, "not-this-one", nil, "HORSERACING_API_KEY"},
		{"a host that is down", "http://127.0.0.1:1", "key", nil, "HORSERACING_BASE_URL"}, // nothing listens there
		{"a wrong address", fake.URL + "/wrong", fake.APIKey, nil, "404"},
		{"a tier that the service refuses", fake.URL, fake.APIKey, []string{"-tier", "77"}, "400"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			environment := []string{"HORSERACING_BASE_URL=" + test.url, "HORSERACING_API_KEY=" + test.key}
			r := programtest.Run(t, environment, append(test.args, "-out", filepath.Join(dir, "new", "races"))...)
			r.ExpectSentence(t, 1, test.message)
			if strings.Contains(r.Stderr, "not-this-one") {
				t.Errorf("the key is printed: %s", r.Stderr)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it left %v (%v)", left, err)
			}
		})
	}
}

func TestItExplainsItself(t *testing.T) {
	programtest.ExpectUsage(t, "-out", "-source", "-format", "-follow", "HORSERACING_API_KEY")
}

func TestItNamesTheServiceTheFilesAndTheTotal(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(30), horseracingtest.WithSchedule(0))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "a", "new", "folder", "races")
	participants := 0
	for _, race := range history(t, fake) {
		participants += len(race.Participants)
	}
	for run, want := range []string{
		"Service: URL\nexport: 30 races in T, 30 of them new; NAME.sqlite holds 30\n" +
			"export: wrote NAME.csv, 30 races\nexport: wrote NAME-participants.csv, N participants\n" +
			"export: wrote NAME.parquet, 30 races\nexport: wrote NAME-participants.parquet, N participants\n",
		"Service: URL\nexport: 1 races in T, 0 of them new; NAME.sqlite holds 30\n",
	} {
		args := []string{"-out", name, "-format", "csv,parquet"}
		_, stderr := runHere(t, t.Context(), fake, args[:2+2*(1-run)]...)
		got := regexp.MustCompile(`races in \S+,`).ReplaceAllString(stderr, "races in T,")
		got = strings.NewReplacer(fake.URL, "URL", name, "NAME", fmt.Sprintf("%d participants", participants), "N participants").Replace(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", run, diff)
		}
	}
}

func TestRawKeepsWhatNoColumnHas(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(40), horseracingtest.WithSchedule(0))
	defer fake.Close()
	races := history(t, fake)
	broken := horseracing.RaceID(slices.Min(slices.Collect(maps.Keys(races))))
	g := &garbler{race: broken}
	edit := func(body []byte) []byte {
		return bytes.ReplaceAll(g.edit(body), []byte(`"main_race_id":`), []byte(`"weather":"rain","main_race_id":`))
	}
	client, err := horseracing.NewClient(fake.URL, fake.APIKey, horseracing.WithHTTPClient(&http.Client{Transport: rewriter{http.DefaultTransport, edit}}))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "races")
	s, err := openStore(t.Context(), name+".sqlite", fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, raw := range []bool{false, true} { // the second run fills in what the first left out, and forgets where that began
		if _, err := s.db.Exec(`UPDATE walks SET newest = 0`); err != nil {
			t.Fatal(err)
		}
		o := options{out: name, formats: []string{"csv", "parquet"}, tier: horseracing.TierOmega, concurrency: 2, raw: raw}
		w, err := s.walk(t.Context(), o.tier, o.since, o.before, false)
		if err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		if err := errors.Join(crawl(t.Context(), client, s, w, o, &stderr), s.writeFiles(t.Context(), o, io.Discard)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stderr.String(), "1 races could not be read; their JSON is in the table unreadable") {
			t.Errorf("it printed %s", stderr.String())
		}
		stored := rows[raceRow](t, s.db, selectRaces)
		if len(stored) != len(races)-1 {
			t.Errorf("%d races are stored, want %d", len(stored), len(races)-1)
		}
		for _, r := range stored {
			if (r.JSON != nil) != raw {
				t.Fatalf("raw %v: the JSON of race %d is %v", raw, r.RaceID, r.JSON)
			}
			var race struct {
				Weather string               `json:"weather"`
				ID      int64                `json:"main_race_id"`
				Names   horseracing.RaceInfo `json:"info"`
			}
			if !raw {
				continue
			}
			if err := json.Unmarshal([]byte(*r.JSON), &race); err != nil || race.Weather != "rain" || race.ID != r.RaceID || race.Names.Name != r.Name {
				t.Errorf("race %d: %v in %s", r.RaceID, err, *r.JSON)
			}
		}
		checkFiles(t, name, stored)
	}
	var kept string
	if err := s.db.QueryRow(`SELECT json FROM unreadable`).Scan(&kept); err != nil || !strings.Contains(kept, fmt.Sprintf(`"weather":"rain","main_race_id":%d,`, broken)) {
		t.Errorf("of the unreadable race it kept %q (%v)", kept, err)
	}
}

func TestTheFilesBeginAtOnce(t *testing.T) {
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), "races.sqlite"), "here")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, query := range []string{selectRaces, selectParticipants} {
		plan, err := s.db.Query(`EXPLAIN QUERY PLAN ` + query)
		if err != nil {
			t.Fatal(err)
		}
		for plan.Next() {
			var id, parent, unused int
			var step string
			if err := plan.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s\nsorts every row before the first comes: %s", query, step)
			}
		}
		plan.Close()
	}
}

func TestOneServiceUnderTwoAddresses(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(10), horseracingtest.WithSchedule(0))
	defer fake.Close()
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
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(10), horseracingtest.WithSchedule(0))
	defer fake.Close()
	for what, write := range map[string]func(path string) error{
		"text": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("race,horse\n", 1000)), 0o644)
		},
		"another program's database": func(path string) error {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				return err
			}
			_, err = db.Exec(`CREATE TABLE races (id INTEGER, name TEXT)`)
			return errors.Join(err, db.Close())
		},
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, "races")
		if err := write(name + ".sqlite"); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(name + ".sqlite")
		if err != nil {
			t.Fatal(err)
		}
		programtest.Run(t, programtest.Environment(fake), "-out", name).ExpectSentence(t, 1, name+".sqlite is not a database of export")
		if after, err := os.ReadFile(name + ".sqlite"); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed (%v)", what, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("%s: it left %v", what, left)
		}
	}
}

func TestASecondExportOnAFileIsRefused(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(2000), horseracingtest.WithSchedule(0), horseracingtest.WithLatency(20*time.Millisecond))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "races")
	first := programtest.Start(t, programtest.Environment(fake), "-out", name, "-concurrency", "1")
	waitFor(t, "the first one's start", func() bool { return fake.RequestCount() > 30 })
	programtest.Run(t, programtest.Environment(fake), "-out", name).ExpectSentence(t, 1, "another export is writing to "+name+".sqlite")
	first.Kill()
	second := programtest.Start(t, programtest.Environment(fake), "-out", name, "-concurrency", "1")
	stored := count(t, open(t, name), `SELECT count(*) FROM races`)
	waitFor(t, "the next one's races", func() bool { return count(t, open(t, name), `SELECT count(*) FROM races`) > stored })
	second.Interrupt()
	if r := second.Wait(); r.Status != 130 {
		t.Errorf("after the first was killed: exit status %d: %s", r.Status, r.Stderr)
	}
	if _, err := os.Stat(name + ".sqlite-lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock is left behind (%v)", err)
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		args    string
		status  int
		message string
	}{
		{"-h", 0, "Usage: export"},
		{"-format xml", 2, "unknown format"},
		{"-since yesterday", 2, "yesterday"},
		{"-follow -before 2026-01-01", 2, "does not go with"},
		{"races.sqlite", 2, "unexpected argument"},
		{"-tier 0", 2, "-tier must be at least 1"},
		{"-tier -5", 2, "-tier must be at least 1"},
		{"-out=", 2, "-out"},
		{"-out=races/", 2, "-out"},
	} {
		var stderr strings.Builder
		if status := run(t.Context(), strings.Fields(test.args), &stderr); status != test.status || !strings.Contains(stderr.String(), test.message) {
			t.Errorf("export %s: exit status %d, want %d; it printed:\n%s", test.args, status, test.status, stderr.String())
		}
	}
}

func TestABeforeThatHasNotPassedEndsNothingForGood(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(50), horseracingtest.WithSchedule(0), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	present := fake.Now()
	for _, test := range []struct {
		name   string
		before time.Time
		added  int // of the races that finish between two runs
	}{
		{"in the future", present.Add(24 * time.Hour), 2},
		{"so close that results may come late", present.Add(-30 * time.Minute), 1},
		{"long past", present.Add(-2 * time.Hour), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "races")
			before := test.before.UTC().Format(time.RFC3339)
			if status, stderr := runHere(t, t.Context(), fake, "-out", name, "-before", before); status != 0 {
				t.Fatal(stderr)
			}
			db := open(t, name)
			had := count(t, db, `SELECT count(*) FROM races`)
			fake.AddRaces(finished(fake, 900_001, 10*time.Minute), finished(fake, 900_002, 40*time.Minute))
			defer fake.RemoveRaces(900_001, 900_002)
			fake.ResetLog()
			status, stderr := runHere(t, t.Context(), fake, "-out", name, "-before", before)
			if got := count(t, db, `SELECT count(*) FROM races`) - had; status != 0 || got != test.added {
				t.Errorf("exit status %d, %d races came in, want %d: %s", status, got, test.added, stderr)
			}
			if complete := strings.Contains(stderr, "complete already"); complete != (test.added == 0) || complete && fake.RequestCount() > 0 {
				t.Errorf("after %d requests it printed: %s", fake.RequestCount(), stderr)
			}
		})
	}
}

func TestAWalkThatWasInterruptedIsLookedAtOnceMore(t *testing.T) {
	// It may have passed the top long ago, when results were still to come.
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(50), horseracingtest.WithSchedule(0), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "races")
	before := fake.Now().Add(-2 * time.Hour).Truncate(time.Second)
	args := []string{"-out", name, "-before", before.UTC().Format(time.RFC3339)}
	s, err := openStore(t.Context(), name+".sqlite", fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.walk(t.Context(), horseracing.TierOmega, time.Time{}, before, false)
	if err != nil {
		t.Fatal(err)
	}
	pager := fake.Client().Races.Results(horseracing.ResultsQuery{Before: before})
	races, err := pager.Take(t.Context(), 10)
	if err != nil || len(races) != 10 {
		t.Fatal(races, err)
	}
	if _, err := s.save(t.Context(), w, entries(races), pager.Cursor(), false); err != nil {
		t.Fatal(err)
	}
	s.close()
	fake.AddRaces(finished(fake, 900_001, 2*time.Hour+time.Minute)) // above the cursor
	for i, complete := range []bool{false, false, true} {
		status, stderr := runHere(t, t.Context(), fake, args...)
		if status != 0 || strings.Contains(stderr, "complete already") != complete {
			t.Errorf("run %d: exit status %d: %s", i, status, stderr)
		}
	}
	if n := count(t, open(t, name), `SELECT count(*) FROM races WHERE race_id = 900001`); n != 1 {
		t.Error("the race that finished meanwhile is not stored")
	}
}

func TestAnAttemptThatReadNothingLeavesTheNameFree(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(10), horseracingtest.WithSchedule(0))
	defer fake.Close()
	name := filepath.Join(t.TempDir(), "races")
	for _, test := range []struct {
		url    string
		status int
	}{{fake.URL + "/wrong", 1}, {fake.URL + "/", 0}, {fake.URL, 0}, {fake.URL + "/wrong", 1}} {
		var stderr strings.Builder
		t.Setenv("HORSERACING_BASE_URL", test.url)
		t.Setenv("HORSERACING_API_KEY", fake.APIKey)
		if status := run(t.Context(), []string{"-out", name}, &stderr); status != test.status {
			t.Errorf("%s: exit status %d, want %d: %s", test.url, status, test.status, stderr.String())
		}
	}
	if n := count(t, open(t, name), `SELECT count(*) FROM races`); n != 10 {
		t.Errorf("%d races stored, want 10", n)
	}
}

func TestTwoServicesThatBeginTogetherAreNotMixed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "races.sqlite")
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	var stores []*store
	var walks []*walk
	for _, source := range []string{"http://one", "http://two"} {
		s, err := openStore(t.Context(), path, source)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		w, err := s.walk(t.Context(), horseracing.TierOmega, time.Time{}, time.Time{}, false)
		if err != nil {
			t.Fatal(err)
		}
		stores, walks = append(stores, s), append(walks, w)
	}
	for i, s := range stores {
		_, err := s.save(t.Context(), walks[i], entries([]horseracing.Race{finished(fake, horseracing.RaceID(i), time.Hour)}), horseracing.Cursor{}, false)
		if refused := err != nil && strings.Contains(err.Error(), "holds races of http://one"); refused != (i == 1) {
			t.Errorf("service %d: %v", i, err)
		}
	}
}

func TestANameIsTakenAsItStands(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(10), horseracingtest.WithSchedule(0))
	defer fake.Close()
	names := []string{"a#b", "a%41b", "a&b=c d"}
	if runtime.GOOS != "windows" {
		names = append(names, "q?b", "file:x?mode=memory")
	}
	t.Chdir(t.TempDir())
	for _, name := range names {
		if status, stderr := runHere(t, t.Context(), fake, "-out", name); status != 0 {
			t.Errorf("%s: exit status %d: %s", name, status, stderr)
		}
		if err := os.Remove(name + ".sqlite"); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestWithoutARaceThereIsNoSummaryAboveAnError(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(100), horseracingtest.WithSchedule(0))
	defer fake.Close()
	for _, test := range []struct {
		name    string
		fault   horseracingtest.Fault
		summary bool
	}{
		{"at once", horseracingtest.Fault{Path: "/api/v2/races/results", Status: 404, Times: 1000}, false},
		{"midway", horseracingtest.Fault{Path: "/api/v2/races/results", Status: 404, Skip: 3, Times: 1000}, true},
	} {
		fake.Inject(test.fault)
		status, stderr := runHere(t, t.Context(), fake, "-out", filepath.Join(t.TempDir(), "races"), "-concurrency", "1")
		fake.ClearFaults()
		if status != 1 || strings.Contains(stderr, " races in ") != test.summary {
			t.Errorf("%s: exit status %d; it printed:\n%s", test.name, status, stderr)
		}
	}
}
