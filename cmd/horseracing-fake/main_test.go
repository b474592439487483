package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/horseracingtest"
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
	defer fake.Process.Kill()
	var output strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan() && !strings.HasPrefix(lines.Text(), "Stop:"); {
		output.WriteString(lines.Text() + "\n")
	}
	field := func(pattern string) string {
		found := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(output.String())
		if found == nil {
			t.Fatalf("nothing like %s in\n%s", pattern, output.String())
		}
		return found[1]
	}
	address, key, user := field(`^address +(http://127\.0\.0\.1:\d+)$`), field(`^API key +(\S+)$`), field(`^user key +(\S+) +horses 1 2 3 4 5 6$`)
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
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte("[{")) {
			t.Errorf("%s: status %d: %.200s: %v", path, response.StatusCode, body, err)
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
	if fake.Wait(); fake.ProcessState.ExitCode() != 130 || complaints.Len() > 0 {
		t.Errorf("after an interrupt: %v: %s", fake.ProcessState, complaints.String())
	}
}

func TestTheProgramReportsWhatIsWrongWithItsArguments(t *testing.T) {
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
		{[]string{"-h"}, 0, "Examples:\n  horseracing-fake -limit 50/s"},
		{[]string{"-h"}, 0, "Exit status: 0"},
		{[]string{"-fail", "120%"}, 2, "between 0% and 100%"},
		{[]string{"-fail", "often"}, 2, "between 0% and 100%"},
		{[]string{"-control", ":8081"}, 2, "-control takes a loopback address"},
		{[]string{"-control", "127.0.0.1:99999"}, 1, "-control: "},
		{[]string{"-replay", "nowhere"}, 1, "nowhere"},
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

func TestAnAddressInUseIsReportedWithTheWayOut(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"-addr", taken.Addr().String()}, io.Discard, &stderr)
	if status != 1 || !strings.Contains(stderr.String(), "-addr") {
		t.Errorf("status %d, %s", status, &stderr)
	}
}

func TestTheSameSeedPrintsTheSameKeys(t *testing.T) {
	printed := func(seed string) string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it prints, and stops at once
		var stdout, stderr bytes.Buffer
		if status := run(ctx, []string{"-addr", "127.0.0.1:0", "-seed", seed}, &stdout, &stderr); status != 130 {
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

func TestAShareOfTheRequestsFails(t *testing.T) {
	for text, want := range map[string]float64{"5%": 0.05, "0.05": 0.05, "100%": 1, "0": 0, "12.5%": 0.125} {
		var s share
		if err := s.Set(text); err != nil || float64(s) != want {
			t.Errorf("%s: %v, want %v: %v", text, s, want, err)
		}
	}
	for _, fail := range []share{0, 0.2, 1} {
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
		fake.Inject(fail.faults()...)
		unavailable, dropped := 0, 0
		for range 500 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fake.URL, nil) // net/http repeats no POST
			if err != nil {
				t.Fatal(err)
			}
			response, err := fake.HTTPClient().Do(r)
			if err != nil {
				dropped++
				continue
			}
			response.Body.Close()
			if response.StatusCode == http.StatusServiceUnavailable {
				unavailable++
			}
		}
		fake.Close()
		for _, got := range []int{unavailable, dropped} {
			if want := 500 * float64(fail) / 2; math.Abs(float64(got)-want) > want/2 {
				t.Errorf("-fail %v: %d with status 503 and %d dropped of 500", fail.String(), unavailable, dropped)
			}
		}
	}
}

func TestWhatTheProgramSuggestsWorks(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	var output strings.Builder
	announce(&output, fake, "http://127.0.0.1:9")
	if !strings.Contains(output.String(), "control   http://127.0.0.1:9\n") {
		t.Errorf("no control address in\n%s", output.String())
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	commands := regexp.MustCompile(`curl .*`).FindAllString(output.String(), -1)
	if len(commands) != 2 || !strings.Contains(commands[1], `{"tier":5}`) {
		t.Fatalf("suggestions: %q", commands)
	}
	for _, command := range commands {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
		if err != nil || !bytes.HasPrefix(out, []byte(`[{"`)) {
			t.Errorf("%s: %v: %.200s", command, err, out)
		}
	}
}

func TestTheProgramLogsAndReplays(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	var logged bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-v", "-replay", filepath.Join("..", "..", "testdata", "recorded")}, writer, &logged)
		writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	lines.Scan()
	_, address, _ := strings.Cut(lines.Text(), "http://")
	go io.Copy(io.Discard, reader)
	for path, want := range map[string]int{"/api/v1/horses/311": 200, "/api/v1/horses/312": 501} {
		response, err := http.Get("http://" + address + path)
		if err != nil || response.Body.Close() != nil || response.StatusCode != want {
			t.Errorf("%s: %v %v", path, response, err)
		}
	}
	cancel()
	if status := <-done; status != 130 {
		t.Errorf("exit status %d", status)
	}
	if !strings.Contains(logged.String(), "method=GET path=/api/v1/horses/311 status=200") {
		t.Errorf("-v logged %s", logged.String())
	}
}
