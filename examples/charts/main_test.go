package main

import (
	"bytes"
	"database/sql"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func environment(t *testing.T) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(400))
	t.Cleanup(fake.Close)
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", fake.APIKey)
	return fake
}

func TestEveryChartIsDrawnInEveryFormat(t *testing.T) {
	environment(t)
	out := filepath.Join(t.TempDir(), "new", "pictures")
	var stdout, stderr strings.Builder
	if status := run(t.Context(), []string{"-out", out, "-format", "png,svg"}, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	labels := map[string][]string{
		"times": {"All 400 races of tier 5, DATES (UTC)", "total (undocumented unit)", "length (furlongs)"},
		"days":  {"finished races a day (UTC)", "mean of 7 days"},
		"fees":  {"entry fee (tokens of 10^18)", "median"},
		"lanes": {"lane", "horse (starts)"},
	}
	for name, labels := range labels {
		data, err := os.ReadFile(filepath.Join(out, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		picture, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s.png: %v", name, err)
		}
		if n := colours(picture); n < 20 {
			t.Errorf("%s.png has only %d colours: it is empty", name, n)
		}
		texts, err := svgTexts(filepath.Join(out, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			texts[i] = regexp.MustCompile(`\d+ \w+ \d+ to \d+ \w+ \d+`).ReplaceAllString(text, "DATES")
		}
		for _, label := range labels {
			if !slices.Contains(texts, label) {
				t.Errorf("%s.svg does not hold %q but %q", name, label, texts)
			}
		}
	}
	if got := strings.Count(stdout.String(), "\n"); got != 2*len(labels) {
		t.Errorf("it named %d files:\n%s", got, stdout.String())
	}
}

func colours(picture image.Image) int {
	seen := map[any]bool{}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			seen[picture.At(x, y)] = true
		}
	}
	return len(seen)
}

// svgTexts returns the texts in a picture; the file must be well-formed XML.
func svgTexts(path string) (texts []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for decoder := xml.NewDecoder(file); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts, nil
		} else if err != nil {
			return nil, err
		}
		if data, ok := token.(xml.CharData); ok {
			if s := strings.TrimSpace(string(data)); s != "" {
				texts = append(texts, s)
			}
		}
	}
}

// The tables of the example export, as far as charts reads them.
const exported = `
PRAGMA application_id = 0x48527365;
CREATE TABLE source (name TEXT NOT NULL);
INSERT INTO source VALUES ('https://races.example.test');
CREATE TABLE races (race_id INTEGER PRIMARY KEY, tier_id INTEGER, start_time INTEGER, hippodrome TEXT, length INTEGER, entry_fee TEXT);
CREATE TABLE participants (race_id INTEGER, position INTEGER, horse INTEGER, lane INTEGER, total REAL, place INTEGER, PRIMARY KEY (race_id, position));
INSERT INTO races VALUES (1, 5, 1767225600000, 'Old Downs', 4, '1000000000000000000'), (2, 5, 1767312000000, 'Old Downs', 6, '1000000000000000000000'), (3, 4, 1767312000000, 'Elsewhere', 6, '1');
INSERT INTO participants VALUES (1, 0, 71, 2, 30.5, 2), (1, 1, 72, 1, 29.5, 1), (2, 0, 73, NULL, 44, NULL);`

func TestAnExportIsReadLikeTheService(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a#b%41 c.sqlite") // any name will do
	if runtime.GOOS != "windows" {
		path = filepath.Join(t.TempDir(), "q?b#c%41.sqlite")
	}
	plain := filepath.Join(t.TempDir(), "races.sqlite")
	db, err := sql.Open("sqlite", plain)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(exported); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), os.Rename(plain, path)); err != nil {
		t.Fatal(err)
	}
	day := func(d int) time.Time { return time.Date(2026, time.January, d, 0, 0, 0, 0, time.UTC) }
	first := race{day(1), "Old Downs", 4, 1, []runner{{72, 1, 29.5, 1}, {71, 2, 30.5, 2}}}
	second := race{day(2), "Old Downs", 6, 1000, []runner{{73, 0, 44, 0}}}
	for _, test := range []struct {
		name   string
		since  time.Time
		newest int
		want   []race
		all    bool
	}{
		{"everything", time.Time{}, 0, []race{second, first}, true},
		{"as many as there are", time.Time{}, 2, []race{second, first}, true},
		{"the newest", time.Time{}, 1, []race{second}, false},
		{"since a day", day(2), 1, []race{second}, true},
		{"none", day(3), 10, nil, true},
	} {
		got, all, err := fromDatabase(t.Context(), options{db: path, tier: 5, since: test.since, newest: test.newest}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if all != test.all {
			t.Errorf("%s: all is %v", test.name, all)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(race{}, runner{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	out := t.TempDir()
	for _, test := range []struct {
		args    []string
		caption string
	}{
		{nil, "All 2 races of tier 5, 1 Jan 2026 to 2 Jan 2026 (UTC)"},
		{[]string{"-newest", "1"}, "The 1 newest races of tier 5, on 2 Jan 2026 (UTC); older ones are not drawn"},
	} {
		r := programtest.Run(t, nil, append(test.args, "-db", path, "-out", out, "-format", "svg", "-only", "fees")...)
		if r.Status != 0 || r.Stderr != "Service: https://races.example.test, as stored in "+path+"\n" {
			t.Errorf("exit status %d: %s", r.Status, r.Stderr)
		}
		if texts, err := svgTexts(filepath.Join(out, "fees.svg")); err != nil || !slices.Contains(texts, test.caption) {
			t.Errorf("fees.svg does not hold %q but %q (%v)", test.caption, texts, err)
		}
	}
}

func TestOneDayHasALabel(t *testing.T) {
	start := time.Date(2026, time.January, 5, 21, 30, 0, 0, time.UTC)
	races := []race{{start, "Old Downs", 4, 1, []runner{{72, 1, 29.5, 1}}}, {start.Add(-time.Hour), "Old Downs", 4, 10, []runner{{72, 1, 29.5, 1}}}}
	for _, c := range charts {
		if c.name != "days" && c.name != "fees" {
			continue
		}
		path := filepath.Join(t.TempDir(), "chart.svg")
		if err := c.save(path, "svg", races, ""); err != nil {
			t.Fatal(err)
		}
		if texts, err := svgTexts(path); err != nil || !slices.Contains(texts, "5 Jan") {
			t.Errorf("%s has no day on its axis, only %q (%v)", c.name, texts, err)
		}
	}
}

func TestAForeignDatabaseIsOneSentence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "foreign.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE races (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	text := filepath.Join(t.TempDir(), "races.csv")
	if err := os.WriteFile(text, []byte(strings.Repeat("race,horse\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, text} {
		programtest.Run(t, nil, "-db", path).ExpectSentence(t, 1, path+" is not a database of export")
	}
}

func TestFlagsAndErrors(t *testing.T) {
	fake := environment(t)
	for _, test := range []struct {
		args    string
		status  int
		message string
	}{
		{"-format gif", 2, `unknown "gif"`},
		{"-only pies", 2, `unknown "pies"`},
		{"-newest 0", 2, "at least 1"},
		{"-tier 0", 2, "-tier must be at least 1"},
		{"-db no-such-file.sqlite", 1, "no-such-file.sqlite"},
		{"", 1, "HORSERACING_API_KEY"},
	} {
		environment := []string{"HORSERACING_BASE_URL=" + fake.URL, "HORSERACING_API_KEY=wrong"}
		programtest.Run(t, environment, strings.Fields(test.args)...).ExpectSentence(t, test.status, test.message)
	}
}

func TestARaceThatCannotBeReadIsLeftOut(t *testing.T) {
	fake := environment(t)
	fake.AddRaces(horseracing.Race{
		MainRaceID: 1, StartTime: horseracing.NewTimestamp(fake.Now().Add(-time.Hour)),
		FinalOrder: []int{1}, Participants: []horseracing.RaceParticipant{{Number: 1}},
	})
	newest, err := fake.Client().Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	garbled := newest[8].MainRaceID
	t.Setenv("HORSERACING_BASE_URL", programtest.Garble(t, fake, garbled))
	var stderr strings.Builder
	races, all, err := fromService(t.Context(), options{tier: horseracing.TierOmega}, &stderr)
	if len(races) != 399 || !all || err != nil {
		t.Errorf("%d races, all %v, error %v; want the 399 that can be read", len(races), all, err)
	}
	for _, line := range []string{fmt.Sprintf("cannot read entry %d", garbled), "charts: left out: horseracing: race 1: final_order"} {
		if strings.Count(stderr.String(), line) != 1 {
			t.Errorf("%q is not on one line of\n%s", line, stderr.String())
		}
	}
}

func TestTheProgressShowsThePaceThatTheServiceSets(t *testing.T) {
	for _, limit := range []struct {
		horseracingtest.RequestLimit
		says string
	}{
		{horseracingtest.RequestLimit{PerSecond: 1.5, Burst: 4}, ", service allows about 1."},
		{horseracingtest.RequestLimit{PerWindow: 20, Window: time.Minute, RetryAfter: "seconds"}, "the service refuses requests; the next one is sent in "},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithHistory(300),
				horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(limit.RequestLimit))
			defer fake.Close()
			var stderr strings.Builder
			races, _, err := newestRaces(t.Context(), fake.Client(), options{tier: horseracing.TierOmega}, &stderr)
			if len(races) != 300 || err != nil {
				t.Errorf("%d races, error %v; want 300", len(races), err)
			}
			if !strings.Contains(stderr.String(), limit.says) {
				t.Errorf("%q is not in\n%s", limit.says, stderr.String())
			}
		})
	}
}

func TestCtrlCEndsIt(t *testing.T) { programtest.ExpectInterruptible(t, "-out", t.TempDir()) }

func TestItExplainsItself(t *testing.T) {
	programtest.ExpectUsage(t, "-db", "-out", "-newest", "-only", "HORSERACING_API_KEY")
}
