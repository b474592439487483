// Package programtest runs an example as a process of its own, the way its
// user does.
package programtest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// asProgram makes the test binary be the program that it tests.
const asProgram = "EXAMPLE_RUNS_AS_PROGRAM"

// Main is called by TestMain. It runs the tests, or main if this process was
// started by Start.
func Main(m *testing.M, main func()) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Environment names the fake as the service to use, and its first user.
func Environment(fake *horseracingtest.Server) []string {
	return []string{
		"HORSERACING_BASE_URL=" + fake.URL,
		"HORSERACING_API_KEY=" + fake.APIKey,
		"HORSERACING_USER_KEY=" + string(fake.UserKey(0)),
	}
}

// Process is a running program.
type Process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
}

// Result is the output and exit status of a program.
type Result struct {
	Stdout, Stderr string
	Status         int
}

// Command returns the program as a command that has not started. Of this process's
// environment it gets everything but the variables that name a service. It is killed
// when the test ends.
func Command(t *testing.T, environment []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "HORSERACING_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(append(cmd.Env, asProgram+"=1"), environment...)
	return cmd
}

// Start starts the program.
func Start(t *testing.T, environment []string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: Command(t, environment, args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Interrupt does what Ctrl-C does.
func (p *Process) Interrupt() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
}

// Kill ends the program as kill -9 does.
func (p *Process) Kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.Wait()
}

// Wait waits until the program has ended.
func (p *Process) Wait() Result {
	p.t.Helper()
	tooLong := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer tooLong.Stop()
	err := p.cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		p.t.Fatal(err)
	}
	return Result{p.stdout.String(), p.stderr.String(), p.cmd.ProcessState.ExitCode()}
}

// Run starts the program and waits until it has ended.
func Run(t *testing.T, environment []string, args ...string) Result {
	t.Helper()
	return Start(t, environment, args...).Wait()
}

// ExpectSentence fails the test unless the program ended with that status and
// its standard error, apart from the service's name, is one line that holds all
// the parts.
func (r Result) ExpectSentence(t *testing.T, status int, parts ...string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("exit status %d, want %d", r.Status, status)
	}
	line, isLine := strings.CutSuffix(r.Stderr, "\n")
	if service, rest, ok := strings.Cut(line, "\n"); ok && strings.HasPrefix(service, "Service: ") {
		line = rest
	}
	if !isLine || strings.Contains(line, "\n") || line == "" {
		t.Errorf("standard error is not one line:\n%s", r.Stderr)
	}
	for _, part := range parts {
		if !strings.Contains(line, part) {
			t.Errorf("%q does not hold %q", line, part)
		}
	}
}

// ExpectErrors fails the test unless the program ends in one sentence, which does not
// show the key, with a wrong key, if no service responds, with half a configuration,
// and at once if it is interrupted in the middle of a call.
func ExpectErrors(t *testing.T, args ...string) {
	t.Helper()
	fake := horseracingtest.NewServer()
	defer fake.Close()
	const key = "key-of-nobody"
	for _, test := range []struct{ url, key, word string }{
		{fake.URL, key, "API"},
		{"http://127.0.0.1:1", key, "refused"}, // nothing listens there
		{"", key, "HORSERACING_BASE_URL"},
		{fake.URL, "", "HORSERACING_API_KEY"},
	} {
		r := Run(t, []string{"HORSERACING_BASE_URL=" + test.url, "HORSERACING_API_KEY=" + test.key, "HORSERACING_USER_KEY=user"}, args...)
		r.ExpectSentence(t, 1, test.word)
		if strings.Contains(r.Stdout+r.Stderr, key) {
			t.Errorf("the key is printed: %s%s", r.Stdout, r.Stderr)
		}
	}
	if runtime.GOOS == "windows" {
		return // a process cannot be interrupted from outside there
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		slow := horseracingtest.NewServer(horseracingtest.WithLatency(time.Hour))
		defer slow.Close()
		p := Start(t, Environment(slow), args...)
		for slow.RequestCount() == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		interrupted := time.Now()
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		p.Wait().ExpectSentence(t, 130, "stopped")
		if took := time.Since(interrupted); took > 10*time.Second {
			t.Errorf("%v: ending took %v", signal, took)
		}
	}
}

// ExpectUsage fails the test unless -h explains the program, with these parts, and
// mistakes on the command line are one sentence each.
func ExpectUsage(t *testing.T, parts ...string) {
	t.Helper()
	help := Run(t, nil, "-h")
	if help.Status != 0 {
		t.Errorf("-h ends with status %d", help.Status)
	}
	for _, part := range append(parts, "Usage: ", "HORSERACING_API_KEY", "Examples:\n", "Flags:\n") {
		if !strings.Contains(help.Stderr, part) {
			t.Errorf("-h does not mention %s:\n%s", part, help.Stderr)
		}
	}
	Run(t, nil, "-nosuchflag").ExpectSentence(t, 2, "nosuchflag", "-h)")
	Run(t, nil, "an argument").ExpectSentence(t, 2, "an argument", "-h)")
}
