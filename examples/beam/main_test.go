package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestItRunsOnTheEmbeddedFake(t *testing.T) {
	out := filepath.Join(t.TempDir(), "history")
	r := programtest.Run(t, nil, "-out", out)
	if r.Status != 0 || !strings.HasPrefix(r.Stderr, "Service: an embedded fake ") || strings.Count(r.Stderr, "\n") != 1 {
		t.Errorf("exit status %d: %s", r.Status, r.Stderr)
	}
	for _, want := range []string{
		`^Wrote [1-9]\d* races, read in \d\d windows, to \S+, a file per month\.\n`,
		`\nComplete: every race of tier 5 that starts from \S+Z to \S+Z\.\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(r.Stdout) {
			t.Errorf("%s is not in\n%s", want, r.Stdout)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(out, "*.jsonl")); len(files) == 0 {
		t.Errorf("it wrote %v", files)
	}
	programtest.Run(t, nil, "-out", out).ExpectSentence(t, 2, "is not empty", "choose another -out")
}

func TestMistakesAreOneSentence(t *testing.T) {
	for message, args := range map[string][]string{
		"want 30d, 12h":          {"-since", "yesterday"},
		"is not before":          {"-since", "2026-05-02", "-before", "2026-05-01"},
		"-tier and -concurrency": {"-tier", "0"},
		"-concurrency are":       {"-concurrency", "0"},
		"-rate cannot":           {"-rate", "-1"},
		"-window 1s":             {"-window", "1s"},
		"-out is empty":          {"-out", ""},
	} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, message)
	}
}

func TestHelpShowsOnlyItsOwnFlags(t *testing.T) {
	programtest.ExpectUsage(t, "-window")
	if r := programtest.Run(t, nil, "-h"); strings.Contains(r.Stderr, "-job_name") {
		t.Errorf("-h shows Beam's:\n%s", r.Stderr)
	}
}

func TestAnEarlyEndIsOneSentenceAndLeavesNothing(t *testing.T) {
	out := t.TempDir()
	programtest.ExpectErrors(t, "-out", out, "-since", "2026-05-01", "-before", "2026-05-02")
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestAFailedPipelineIsOneSentenceAndLeavesNothing(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	out := filepath.Join(t.TempDir(), "history")
	args := []string{"-out", out, "-before", "2025-06-01", "-window", "1000h"}
	fake.Inject(horseracingtest.Fault{Skip: 1, Times: -1, Status: 400}) // in the middle of the pipeline
	programtest.Run(t, programtest.Environment(fake), args...).ExpectSentence(t, 1, "400")
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("it left the folder (%v)", err)
	}
}
