package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// startFake starts the command fake at a free port, and returns the environment of its first user.
func startFake(t *testing.T, args ...string) (cmd *exec.Cmd, service []string) {
	t.Helper()
	cmd, stdout, _ := start(t, nil, append([]string{"fake", "--json", "--addr", "127.0.0.1:0"}, args...)...)
	var line struct {
		URL    string
		APIKey string `json:"api_key"`
		Users  []struct {
			Key string `json:"user_key"`
		}
	}
	double.NoError(t, json.NewDecoder(stdout).Decode(&line))
	return cmd, variables(line.URL, line.APIKey, line.Users[0].Key)
}

func TestTheFakeServesUntilItIsInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	t.Parallel()
	cmd, service := startFake(t, "--seed", "3", "--races", "20000", "--latency", "1ms")
	for _, args := range []string{"open", "owned", `call GET /api/v1/races/results {"offset":19990}`} {
		got := run(t, service, strings.Fields(args)...)
		double.FailIf(t, got.status != 0 || len(got.stdout) < 100, "%s: %+v", args, got)
	}
	double.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	double.Equal(t, "the status", 130, cmd.ProcessState.ExitCode())
}

func TestTheFakeRefusesAndFailsAsItsFlagsDemand(t *testing.T) {
	t.Parallel()
	_, limited := startFake(t, "--limit", "1/h:burst=1", "--limit", "inflight=4")
	_, failing := startFake(t, "--fail", "100%")
	_, still := startFake(t, "--per-hour", "0")
	expect(t, still, result{}, "open")
	expect(t, limited, result{stdout: "daily"}, "catalogue")
	expect(t, limited, result{status: 5, stderr: "429"}, "catalogue")
	expect(t, failing, result{status: 7, stderr: "unknown"}, "call", "POST", "/api/v1/races/register", "{}", "--yes")
}

func TestWhatTheFakePrintsForPeopleWorks(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	var text strings.Builder
	p := &program{stdout: &text}
	double.NoError(t, p.announce(fake))
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	for _, command := range regexp.MustCompile(`curl .*`).FindAllString(text.String(), -1) {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
		double.FailIf(t, err != nil || !bytes.HasPrefix(out, []byte(`[{"`)), "%s: %v: %.200s", command, err, out)
	}
}

// What a race that is played shows, and when, is tested in package horseracingtest.
func TestTheFakeOpensFinishedRacesAgain(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(run(t, environment(newFake(t)), "results", "-n", "20").stdout, "\n")
	file := filepath.Join(t.TempDir(), "races.jsonl")
	text := "\ufeff" + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\r\n") // as an editor on Windows leaves it
	writeFile(t, file, text)
	_, service := startFake(t, "--history", file)
	expect(t, service, result{stdout: strings.Split(lines[19], ",")[1]}, "open") // the id of the oldest
	expect(t, service, result{stderr: "no finished race was found\n"}, "results")
}

func TestALimitIsWrittenInOneWord(t *testing.T) {
	for text, want := range map[string]horseracingtest.RequestLimit{
		"50/s":           {PerWindow: 50, Window: time.Second, RetryAfter: "seconds"},
		"60/10s":         {PerWindow: 60, Window: 10 * time.Second, RetryAfter: "seconds"},
		"300/m:burst=10": {PerSecond: 5, Burst: 10, RetryAfter: "seconds"},
		"inflight=4":     {InFlight: 4, RetryAfter: "seconds"},
		"":               {}, "50": {}, "0/s": {}, "5/0s": {}, "5/s:burst=0": {}, "inflight=": {}, "5/s:sliding": {}, // mistakes
	} {
		got, err := parseLimit(text)
		double.FailIf(t, (err == nil) != (want.RetryAfter != "") || err == nil && got != want, "%s: %+v, %v, want %+v", text, got, err, want)
	}
}
