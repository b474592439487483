package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// fakeProcess starts the command fake at free ports, and returns its line of
// JSON.
func fakeProcess(t *testing.T, stderr io.Writer, args ...string) (cmd *exec.Cmd, line struct {
	URL    string
	APIKey string `json:"api_key"`
	Users  []struct {
		Key    string `json:"user_key"`
		Horses []int
	}
}) {
	t.Helper()
	cmd = prepare(t, nil, append([]string{"fake", "--json", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(stdout).Decode(&line); err != nil {
		t.Fatal(err)
	}
	return cmd, line
}

func TestTheFakeServesUntilItIsInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	t.Parallel()
	var stderr bytes.Buffer
	cmd, line := fakeProcess(t, &stderr, "--seed", "3", "--races", "20000", "--latency", "1ms")
	service := []string{"HORSERACING_BASE_URL=" + line.URL, "HORSERACING_API_KEY=" + line.APIKey, "HORSERACING_USER_KEY=" + line.Users[1].Key}
	for _, args := range []string{"open", "owned", `call GET /api/v1/races/results {"offset":19990}`} {
		if got := run(t, service, strings.Fields(args)...); got.status != 0 || len(got.stdout) < 100 {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if len(line.Users) != 4 || len(line.Users[0].Horses) != 6 {
		t.Errorf("%+v", line)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 || stderr.Len() > 0 {
		t.Errorf("status %d, %s", status, &stderr)
	}
}

func TestTheFakeRefusesAndFailsAsItsFlagsDemand(t *testing.T) {
	t.Parallel()
	_, line := fakeProcess(t, nil, "--limit", "3/h:burst=3", "--limit", "inflight=4")
	service := []string{"HORSERACING_BASE_URL=" + line.URL, "HORSERACING_API_KEY=" + line.APIKey}
	for range 3 {
		if got := run(t, service, "catalogue"); got.status != 0 {
			t.Errorf("%+v", got)
		}
	}
	if got := run(t, service, "catalogue"); got.status != 5 || !strings.Contains(got.stderr, "429") {
		t.Errorf("beyond the limit: %+v", got)
	}
	_, line = fakeProcess(t, nil, "--fail", "100%")
	service = []string{"HORSERACING_BASE_URL=" + line.URL, "HORSERACING_API_KEY=" + line.APIKey}
	if got := run(t, service, "call", "POST", "/api/v1/races/register", "{}", "--yes"); got.status != 7 {
		t.Errorf("--fail 100%%: %+v", got)
	}
}

func TestWhatTheFakePrintsForPeopleWorks(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	var text strings.Builder
	p := &program{stdout: &text}
	if err := p.announce(fake); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	for _, command := range regexp.MustCompile(`curl .*`).FindAllString(text.String(), -1) {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
		if err != nil || !bytes.HasPrefix(out, []byte(`[{"`)) {
			t.Errorf("%s: %v: %.200s", command, err, out)
		}
	}
}

// What a race that is played shows, and when, is tested in package horseracingtest.
func TestTheFakeOpensFinishedRacesAgain(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(run(t, environment(newFake(t)), "results", "-n", "20").stdout, "\n")
	file := filepath.Join(t.TempDir(), "races.jsonl")
	text := "\ufeff" + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\r\n") // as an editor on Windows leaves it
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, line := fakeProcess(t, nil, "--history", file)
	service := []string{"HORSERACING_BASE_URL=" + line.URL, "HORSERACING_API_KEY=" + line.APIKey}
	var race struct {
		ID json.Number `json:"main_race_id"`
	}
	if err := json.Unmarshal([]byte(lines[19]), &race); err != nil { // the oldest opens first
		t.Fatal(err)
	}
	open, results := run(t, service, "open").stdout, run(t, service, "results").stdout
	if !strings.Contains(open, `"main_race_id":`+race.ID.String()+",") || results != "" {
		t.Errorf("%s are open, and %s finished", open, results)
	}
}

func TestALimitIsWrittenInOneWord(t *testing.T) {
	for text, want := range map[string]horseracingtest.RequestLimit{
		"50/s":           {PerWindow: 50, Window: time.Second, RetryAfter: "seconds"},
		"60/10s":         {PerWindow: 60, Window: 10 * time.Second, RetryAfter: "seconds"},
		"300/m:burst=10": {PerSecond: 5, Burst: 10, RetryAfter: "seconds"},
		"inflight=4":     {InFlight: 4, RetryAfter: "seconds"},
		"":               {}, "50": {}, "0/s": {}, "5/0s": {}, "5/s:burst=0": {}, "inflight=": {}, "5/s:sliding": {}, // mistakes
	} {
		if got, err := parseLimit(text); (err == nil) != (want.RetryAfter != "") || err == nil && got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}
