package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

func TestOneDayHasALabel(t *testing.T) {
	start := time.Date(2026, time.January, 5, 21, 30, 0, 0, time.UTC)
	race := func(start time.Time, fee int64) horseracing.Race {
		return horseracing.Race{StartTime: horseracing.NewTimestamp(start), EntryFee: horseracing.NewBigInt(fee)}
	}
	races := []horseracing.Race{race(start, 1e18), race(start.Add(-time.Hour), 1e17)}
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
		{"-tier 0", 2, "must be at least 1"},
		{"", 1, "HORSERACING_API_KEY"},
	} {
		environment := []string{"HORSERACING_BASE_URL=" + fake.URL, "HORSERACING_API_KEY=wrong"}
		programtest.Run(t, environment, strings.Fields(test.args)...).ExpectSentence(t, test.status, test.message)
	}
}

func TestARaceThatCannotBeReadIsLeftOut(t *testing.T) {
	fake := environment(t)
	newest, err := fake.Client().Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	garbled := newest[8].MainRaceID
	t.Setenv("HORSERACING_BASE_URL", programtest.Garble(t, fake, garbled))
	var stderr strings.Builder
	client, err := horseracing.NewClientFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	races, err := read(t.Context(), client, options{newest: 1000}, &stderr)
	if len(races) != 399 || err != nil {
		t.Errorf("%d races, error %v; want the 399 that can be read", len(races), err)
	}
	if line := fmt.Sprintf("cannot read entry %d", garbled); strings.Count(stderr.String(), line) != 1 {
		t.Errorf("%q is not on one line of\n%s", line, stderr.String())
	}
}

func TestTheProgressShowsThePaceThatTheServiceSets(t *testing.T) {
	for _, limit := range []struct {
		horseracingtest.RequestLimit
		says string
	}{
		{horseracingtest.RequestLimit{PerSecond: 1.5, Burst: 4}, ", service allows about 1."},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithHistory(300),
				horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(limit.RequestLimit))
			defer fake.Close()
			var stderr strings.Builder
			races, err := read(t.Context(), fake.Client(), options{newest: 1000}, &stderr)
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
	programtest.ExpectUsage(t, "-out", "-newest", "-only", "HORSERACING_API_KEY")
}
