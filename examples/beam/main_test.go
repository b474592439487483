package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestItRunsOnTheEmbeddedFake(t *testing.T) {
	out := filepath.Join(t.TempDir(), "history")
	r := programtest.Run(t, nil, "-out", out)
	if r.Status != 0 || r.Stderr != "" {
		t.Errorf("exit status %d: %s", r.Status, r.Stderr)
	}
	for _, want := range []string{
		`^Service: an embedded fake `,
		`\nWrote [1-9]\d* races with [1-9]\d* participants, read in 32 windows, to \S+/races and \S+/participants, a file per month\.\n`,
		`\nComplete: every race of tier 5 that starts from 2025-05-01T00:00:00Z to 2025-06-01T12:00:00Z\.\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(r.Stdout) {
			t.Errorf("%s is not in\n%s", want, r.Stdout)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(out, "*", "2025-0[56].jsonl")); len(files) != 4 {
		t.Errorf("it wrote %v", files)
	}
}

func TestMistakesAreOneSentence(t *testing.T) {
	for message, args := range map[string][]string{
		"want a time such as":              {"-since", "yesterday"},
		"is not before":                    {"-since", "2026-05-02", "-before", "2026-05-01"},
		"-tier and -concurrency":           {"-tier", "0"},
		"-concurrency are":                 {"-concurrency", "0"},
		"-rate cannot":                     {"-rate", "-1"},
		"-window 1s":                       {"-window", "1s"},
		"-out is empty":                    {"-out", ""},
		"HORSERACING_BASE_URL, or name it": {"--runner", "flink"},
	} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, message)
	}
}

func TestItExplainsItself(t *testing.T) {
	programtest.ExpectUsage(t, "-since", "-out", "-source", "-window", "--runner", "HORSERACING_API_KEY")
}

func TestCtrlCEndsIt(t *testing.T) {
	out := t.TempDir()
	programtest.ExpectInterruptible(t, "-out", out, "-since", "2026-05-01", "-before", "2026-05-02")
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestAFailedRunIsOneSentenceAndDoesNotBlockTheFolder(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	out := filepath.Join(t.TempDir(), "history")
	args := []string{"-out", out, "-before", "2025-06-01", "-window", "1000h"}
	for _, test := range []struct {
		name, url, key string
		args           []string
		message        string
	}{
		{"a wrong key", fake.URL, "not-this-one", nil, "401"},
		{"a host that is down", "http://127.0.0.1:1", "key", nil, "refused"}, // nothing listens there
		{"a tier that the service refuses", fake.URL, fake.APIKey, []string{"-tier", "77"}, "400"},
		{"a file in the folder's place", fake.URL, fake.APIKey, []string{"-out", filepath.Join(os.Args[0], "history")}, filepath.Base(os.Args[0])},
	} {
		environment := []string{"HORSERACING_BASE_URL=" + test.url, "HORSERACING_API_KEY=" + test.key}
		r := programtest.Run(t, environment, append(args, test.args...)...)
		if r.ExpectSentence(t, 1, test.message); strings.Contains(r.Stderr+r.Stdout, "not-this-one") {
			t.Errorf("%s: the key is printed: %s%s", test.name, r.Stderr, r.Stdout)
		}
		if left, err := filepath.Glob(filepath.Join(out, "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: it left %v (%v)", test.name, left, err)
		}
	}
	if r := programtest.Run(t, programtest.Environment(fake), args...); r.Status != 0 {
		t.Errorf("then the right one: exit status %d: %s", r.Status, r.Stderr)
	}
}

func TestTwoServicesMonthsAreNotMixed(t *testing.T) {
	fake, other := horseracingtest.NewServer(), horseracingtest.NewServer(horseracingtest.WithSeed(2))
	defer fake.Close()
	defer other.Close()
	out := filepath.Join(t.TempDir(), "history")
	crawl := func(service *horseracingtest.Server, args ...string) programtest.Result {
		return programtest.Run(t, programtest.Environment(service), append([]string{"-out", out, "-window", "1000h"}, args...)...)
	}
	may := []string{"-since", "2025-05-01", "-before", "2025-06-01"}
	if r := crawl(fake, may...); r.Status != 0 {
		t.Fatal(r.Stderr)
	}
	want, err := os.ReadFile(filepath.Join(out, "races", "2025-05.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	crawl(other, may...).ExpectSentence(t, 2, fake.URL, other.URL, "choose another -out", "-source")
	april := []string{"-since", "2025-04-01", "-before", "2025-05-01"}
	crawl(other, april...).ExpectSentence(t, 2, "choose another -out")
	crawl(fake, append(april, "-tier", "4")...).ExpectSentence(t, 2, "tier 5", "choose another -out")
	if got, err := os.ReadFile(filepath.Join(out, "races", "2025-05.jsonl")); err != nil || string(got) != string(want) {
		t.Errorf("the month was replaced (%v)", err)
	}
	if r := crawl(other, append(april, "-source", fake.URL)...); r.Status != 0 {
		t.Errorf("-source: exit status %d: %s", r.Status, r.Stderr)
	}
}

func TestFilesOfAnotherProgramAreNotReplaced(t *testing.T) {
	out := t.TempDir()
	if err := os.MkdirAll(filepath.Join(out, "races"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "races", "2025-05.jsonl"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	programtest.Run(t, nil, "-out", out).ExpectSentence(t, 2, "another program", "choose another -out")
}

func TestAMonthsFileIsNeverCutShort(t *testing.T) {
	out := filepath.Join(t.TempDir(), "history")
	crawl := func(args ...string) (code int, output string, months map[string]int) {
		r := programtest.Run(t, nil, append(args, "-out", out)...)
		months = map[string]int{}
		for month, lines := range readFolder[horseracing.Race](t, filepath.Join(out, "races")) {
			months[month] = len(lines)
		}
		return r.Status, r.Stderr, months
	}
	whole := []string{"-since", "2025-05-20", "-before", "2025-06-01T06:00:00Z"}
	code, output, want := crawl(whole...)
	if code != 0 || want["2025-05"] == 0 || want["2025-06"] == 0 || len(want) != 2 {
		t.Fatalf("exit code %d, races by month %v: %s", code, want, output)
	}
	for _, test := range []struct {
		args []string
		code int
	}{
		{whole, 0},
		{append([]string{"-window", "6h"}, whole...), 0},
		{[]string{"-since", "2025-05-25", "-before", "2025-06-01T06:00:00Z"}, 2},
		{[]string{"-since", "2025-05-25", "-before", "2025-06-01"}, 2},
		{[]string{"-since", "2025-05-01", "-before", "2025-06-01T05:59:59Z"}, 2},
		{[]string{"-since", "2025-05-01", "-before", "2025-05-31T23:59:59Z"}, 2},
		{append([]string{"-tier", "4"}, whole...), 2},
		{[]string{"-since", "2025-05-20", "-before", "2025-06-01"}, 0},
	} {
		code, output, got := crawl(test.args...)
		if diff := cmp.Diff(want, got); code != test.code || diff != "" {
			t.Errorf("%q: exit code %d, want %d, and races by month (-want +got):\n%s%s", test.args, code, test.code, diff, output)
		}
		if code == 2 && (!strings.Contains(output, "choose another -out") || strings.Count(output, "\n") != 1) {
			t.Errorf("%q: it printed:\n%s", test.args, output)
		}
	}
	code, output, got := crawl("-since", "2025-05-01", "-before", "2025-06-01T12:00:00Z")
	if code != 0 || got["2025-05"] <= want["2025-05"] || got["2025-06"] <= want["2025-06"] {
		t.Errorf("a longer span: exit code %d, races by month %v after %v: %s", code, got, want, output)
	}
}

func TestAFileIsReplacedOnlyByAWholeOne(t *testing.T) {
	out := t.TempDir()
	write := func(lines func(*string) bool) error {
		return (&writeMonth{Folder: out}).ProcessElement(t.Context(), "2025-05", lines)
	}
	content := func() string {
		text, _ := os.ReadFile(filepath.Join(out, "2025-05.jsonl"))
		return string(text)
	}
	lines := func(text ...string) func(*string) bool {
		return func(line *string) bool {
			if len(text) == 0 {
				return false
			}
			*line, text = text[0], text[1:]
			return true
		}
	}
	if err := write(lines("old")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("new", 1<<20)
	next, began := lines(long, long), ""
	err := write(func(line *string) bool {
		began += content() // as an interrupted run would leave it
		return next(line)
	})
	if err != nil || began != "old\nold\nold\n" || content() != long+"\n"+long+"\n" {
		t.Errorf("while it was written the file held %.20q, then %.20q (%v)", began, content(), err)
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

func TestAFailedRunTakesBackOnlyWhatItDidNotWrite(t *testing.T) {
	out := t.TempDir()
	file := func(month, text string) {
		if err := os.MkdirAll(filepath.Join(out, "races"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, "races", month+".jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	june := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	short := crawl{tier: 5, source: "here", since: june.AddDate(0, -1, 0), before: june.AddDate(0, 0, 10), out: out}
	if _, err := short.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	file("2025-05", "may\n")
	file("2025-06", "ten days\n")
	long := short
	long.before = june.AddDate(0, 2, 0)
	release, err := long.claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.claim(t.Context()); err == nil {
		t.Error("while June is read whole, ten days of it may be written")
	}
	if err := release(t.Context()); err != nil { // nothing was written
		t.Fatal(err)
	}
	if _, err := short.claim(t.Context()); err != nil {
		t.Errorf("after a run that wrote nothing: %v", err)
	}
	release, err = long.claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file("2025-06", "the whole of June\n")
	if err := release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := short.claim(t.Context()); err == nil {
		t.Error("after a run that wrote June whole, ten days of it may replace that")
	}
}

func TestTheDefaultSpanNeverShortensAMonth(t *testing.T) {
	out := t.TempDir()
	for now := day; now.Before(day.AddDate(1, 0, 0)); now = now.Add(7*time.Hour + time.Second) {
		c := crawl{tier: 5, source: "here", before: now, out: out}
		c.since = defaultSince(now)
		if days := now.Sub(c.since).Hours() / 24; days < 28 || days > 62 {
			t.Fatalf("at %v it begins at %v", now, c.since)
		}
		if _, err := c.claim(t.Context()); err != nil {
			t.Fatalf("at %v: %v", now, err)
		}
		for month := c.since; month.Before(now); month = month.AddDate(0, 1, 0) {
			if err := (&writeMonth{Folder: out + "/races"}).ProcessElement(t.Context(), month.Format("2006-01"), func(*string) bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestARecordThatCannotBeReadIsNotReplaced(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, "spans.json")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := crawl{tier: 5, source: "here", since: day, before: day.Add(time.Hour), out: out}
	if _, err := c.claim(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error = %v, want one that names %s", err, path)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{" {
		t.Errorf("it holds %q now (%v)", text, err)
	}
}
