package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeProcess starts the command fake at free ports, and returns its line of
// JSON.
func fakeProcess(t *testing.T, stderr io.Writer, args ...string) (cmd *exec.Cmd, line struct {
	URL, Control string
	APIKey       string `json:"api_key"`
	Users        []struct {
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
	cmd, line := fakeProcess(t, &stderr, "--seed", "3", "--races", "1000000", "--latency", "1ms", "--control", "127.0.0.1:0")
	service := []string{"HORSERACING_BASE_URL=" + line.URL, "HORSERACING_API_KEY=" + line.APIKey, "HORSERACING_USER_KEY=" + line.Users[1].Key}
	for _, args := range []string{"open", "owned", `call GET /api/v1/races/results {"offset":999990}`} {
		if got := run(t, service, strings.Fields(args)...); got.status != 0 || len(got.stdout) < 100 {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if len(line.Users) != 4 || len(line.Users[0].Horses) != 6 {
		t.Errorf("%+v", line)
	}
	response, err := http.Get(line.Control)
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the control port: %v, %v", response, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 || stderr.Len() > 0 {
		t.Errorf("status %d, %s", status, &stderr)
	}
}

func TestTheFakeRefusesAndFailsAsItIsTold(t *testing.T) {
	t.Parallel()
	_, line := fakeProcess(t, nil, "--limit", "3/h:sliding", "--limit", "inflight=4")
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

func TestMistakesOfTheFakeAreOneSentence(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	unfinished := filepath.Join(t.TempDir(), "open.jsonl")
	if err := os.WriteFile(unfinished, []byte(`{"main_race_id":7,"start_time":1748782800000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   string
		status int
		words  string
	}{
		{"--races many", 2, `invalid argument "many"`},
		{"--fail 120%", 2, "between 0% and 100%"},
		{"--limit often", 2, "50/s"},
		{"--control 127.0.0.1:99999", 1, "--control: "},
		{"--replay nowhere", 1, "nowhere"},
		{"--history nowhere", 1, "nowhere"},
		{"--history fake_test.go", 1, "fake_test.go, line 1 is not a race"},
		{"--history " + unfinished, 1, "line 1 is not a finished race"},
		{"--history " + os.DevNull, 1, "has no race"},
		{"--history races.jsonl --races 10", 2, "--races and --history exclude each other"},
		{"--addr " + taken.Addr().String(), 1, "take another address with --addr"},
	} {
		got := run(t, nil, append([]string{"fake", "--addr", "127.0.0.1:0"}, strings.Fields(test.args)...)...)
		if got.status != test.status || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, test.words) {
			t.Errorf("%s: %+v", test.args, got)
		}
	}
}

func TestWhatTheFakePrintsForPeopleWorks(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	var text strings.Builder
	p := &program{stdout: &text}
	if err := p.announce(fake, "http://127.0.0.1:9"); err != nil {
		t.Fatal(err)
	}
	golden(t, "fake.table", strings.NewReplacer(fake.URL, "http://host").Replace(text.String()))
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

func TestTheFakeLogsAndReplays(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	_, line := fakeProcess(t, writer, "-v", "--replay", filepath.Join("..", "..", "testdata", "recorded"))
	logged := bufio.NewScanner(reader)
	for path, want := range map[string]int{"/api/v1/horses/311": 200, "/api/v1/horses/312": 501} {
		response, err := http.Get(line.URL + path)
		if err != nil || response.Body.Close() != nil || response.StatusCode != want {
			t.Errorf("%s: %v %v", path, response, err)
		}
		if !logged.Scan() || !strings.Contains(logged.Text(), "method=GET path="+path) {
			t.Errorf("-v logged %s", logged.Text())
		}
	}
}

func TestTheFakeOpensFinishedRacesAgain(t *testing.T) {
	t.Parallel()
	recorded := run(t, environment(newFake(t)), "results", "-n", "20")
	file := filepath.Join(t.TempDir(), "races.jsonl")
	if err := os.WriteFile(file, []byte(recorded.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	_, line := fakeProcess(t, nil, "--history", file, "--control", "127.0.0.1:0")
	service := []string{"HORSERACING_BASE_URL=" + line.URL, "HORSERACING_API_KEY=" + line.APIKey}
	lines := func(args ...string) []string {
		t.Helper()
		got := run(t, service, args...)
		if got.status != 0 {
			t.Fatalf("%q: %+v", args, got)
		}
		return slices.Collect(strings.Lines(got.stdout))
	}
	control := func(path, body string) {
		t.Helper()
		response, err := http.Post(line.Control+path, "application/json", strings.NewReader(body))
		if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, response, err)
		}
	}
	expectTheFirst := func() {
		t.Helper()
		if open := lines("open"); len(open) == 0 || len(open) > 15 || strings.Contains(strings.Join(open, ""), `"final_order":[0`) {
			t.Errorf("%d races are open: %q", len(open), open)
		}
		if finished := lines("results"); len(finished) > 0 {
			t.Errorf("%d races are finished", len(finished))
		}
	}
	expectTheFirst()
	control("/advance", `{"by":"48h"}`)
	if diff := cmp.Diff(slices.Collect(strings.Lines(recorded.stdout)), lines("results")); diff != "" {
		t.Errorf("the results are not those of the file: %s", diff)
	}
	control("/reset", "")
	expectTheFirst()
}
