package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/xml"
	"errors"
	"image"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

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
		"times": {"total (unit not documented)", "length (furlongs)"},
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
		for _, label := range labels {
			if !slices.Contains(texts, label) {
				t.Errorf("%s.svg does not say %q but %q", name, label, texts)
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

// svgTexts returns what a picture says; the file must be well-formed XML.
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
	}{
		{"everything", time.Time{}, 10, []race{second, first}},
		{"the newest", time.Time{}, 1, []race{second}},
		{"since a day", day(2), 10, []race{second}},
		{"none", day(3), 10, nil},
	} {
		got, err := fromDatabase(t.Context(), options{db: path, tier: 5, since: test.since, newest: test.newest})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(race{}, runner{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	out := t.TempDir()
	var stderr strings.Builder
	if status := run(t.Context(), []string{"-db", path, "-out", out, "-only", "fees"}, io.Discard, &stderr); status != 0 {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
	if _, err := os.Stat(filepath.Join(out, "fees.png")); err != nil {
		t.Error(err)
	}
}

func TestFlagsAndErrors(t *testing.T) {
	environment(t)
	t.Setenv("HORSERACING_API_KEY", "wrong")
	for _, test := range []struct {
		args   string
		status int
		says   string
	}{
		{"-h", 0, "Usage: charts"},
		{"-format gif", 2, `unknown "gif"`},
		{"-only pies", 2, `unknown "pies"`},
		{"-newest 0", 2, "at least 1"},
		{"-tier 0", 2, "-tier must be at least 1"},
		{"-db no-such-file.sqlite", 1, "no-such-file.sqlite"},
		{"", 1, "charts: "},
	} {
		var stderr strings.Builder
		status := run(t.Context(), strings.Fields(test.args), io.Discard, &stderr)
		if status != test.status || !strings.Contains(stderr.String(), test.says) || status == 1 && strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("charts %s: exit status %d, want %d; it said:\n%s", test.args, status, test.status, stderr.String())
		}
	}
}

func TestCtrlCEndsItWithOneSentence(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var stderr strings.Builder
	if status := run(ctx, []string{"-out", t.TempDir()}, io.Discard, &stderr); status != 130 || stderr.String() != "charts: stopped\n" {
		t.Errorf("exit status %d, want 130; it said:\n%s", status, stderr.String())
	}
}
