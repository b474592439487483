package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestTheProgramServesUntilItIsInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	program := filepath.Join(t.TempDir(), "horseracing-fake")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fake := exec.CommandContext(t.Context(), program, "-addr", "127.0.0.1:0", "-seed", "3", "-races", "1000000", "-latency", "1ms", "-limit", "3/h:sliding")
	var complaints bytes.Buffer
	fake.Stderr = &complaints
	stdout, err := fake.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := fake.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan() && !strings.HasPrefix(lines.Text(), "Stop:"); {
		said.WriteString(lines.Text() + "\n")
	}
	field := func(pattern string) string {
		found := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(said.String())
		if found == nil {
			t.Fatalf("nothing like %s in\n%s", pattern, said.String())
		}
		return found[1]
	}
	address, key, user := field(`^address +(http://127\.0\.0\.1:\d+)$`), field(`^application key +(\S+)$`), field(`^user key +(\S+) +horses 1 2 3 4 5 6$`)
	for path, body := range map[string]string{
		"/api/v1/races/results": `{"offset":999990}`,
		"/api/v1/races/open":    "",
		"/api/v1/horses/user":   `{"user_key":"` + user + `"}`,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("x-api-key", key)
		request.Header.Set("content-type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !bytes.HasPrefix(answer, []byte("[{")) {
			t.Errorf("%s: status %d: %.200s: %v", path, response.StatusCode, answer, err)
		}
	}
	if response, err := http.Get(address); err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("without a key: %v", err) // a key of its own, so to speak: not limited yet
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/api/v1/races/open", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" {
		t.Errorf("beyond -limit: %v %v", response, err)
	}
	if err := fake.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := fake.Wait(); err != nil || complaints.Len() > 0 {
		t.Errorf("after an interrupt: %v: %s", err, complaints.String())
	}
}

func TestTheProgramSaysWhatIsWrongWithItsArguments(t *testing.T) {
	for _, test := range []struct {
		args   []string
		status int
		words  string
	}{
		{[]string{"-h"}, 0, "Usage: horseracing-fake"},
		{[]string{"-help"}, 0, "-latency"},
		{[]string{"-nope"}, 2, "not defined: -nope"},
		{[]string{"-races", "many"}, 2, `invalid value "many"`},
		{[]string{"serve"}, 2, `unexpected argument "serve"`},
		{[]string{"-races", "-1"}, 1, "a history of -1 races"},
		{[]string{"-addr", "nowhere:http:1"}, 1, "nowhere:http:1"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), test.args, &stdout, &stderr); status != test.status {
			t.Errorf("%v: status %d, want %d", test.args, status, test.status)
		}
		if !strings.Contains(stderr.String(), test.words) || stdout.Len() > 0 {
			t.Errorf("%v: %s\nwant %q", test.args, stderr.String(), test.words)
		}
	}
}

func TestTheSameSeedPrintsTheSameKeys(t *testing.T) {
	printed := func(seed string) string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it prints, and stops at once
		var stdout, stderr bytes.Buffer
		if status := run(ctx, []string{"-addr", "127.0.0.1:0", "-seed", seed}, &stdout, &stderr); status != 0 {
			t.Fatalf("status %d: %s", status, stderr.String())
		}
		_, keys, _ := strings.Cut(stdout.String(), "\n")
		keys, _, _ = strings.Cut(keys, "\n\n")
		return keys
	}
	if one, again := printed("1"), printed("1"); one != again {
		t.Errorf("seed 1 printed\n%s\nand\n%s", one, again)
	}
	if one, two := printed("1"), printed("2"); one == two {
		t.Errorf("seeds 1 and 2 printed\n%s", one)
	}
}
