// Package programtest runs an example as a process of its own, the way its
// user does.
package programtest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// asProgram makes the test binary be the program that it tests.
const asProgram = "EXAMPLE_RUNS_AS_PROGRAM"

// IsProgram reports whether this process was started by Start.
func IsProgram() bool { return os.Getenv(asProgram) != "" }

// Main is called by TestMain. It runs the tests, or main if this process was
// started by Start.
func Main(m *testing.M, main func()) {
	if IsProgram() {
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

// Result is what a program left behind.
type Result struct {
	Stdout, Stderr string
	Status         int
}

// Start starts the program. Of this process's environment it gets everything
// but the variables that name a service. It is killed when the test takes too long.
func Start(t *testing.T, environment []string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], args...)}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "HORSERACING_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	p.cmd.Env = append(append(p.cmd.Env, asProgram+"=1"), environment...)
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

// ExpectInterruptible starts the program on a service that never responds,
// interrupts it in the middle of a call, and fails the test unless it ends at
// once with the status of Ctrl-C.
func ExpectInterruptible(t *testing.T, args ...string) {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithLatency(time.Hour))
	defer fake.Close()
	p := Start(t, Environment(fake), args...)
	for fake.RequestCount() == 0 {
		time.Sleep(time.Millisecond)
	}
	interrupted := time.Now()
	p.Interrupt()
	p.Wait().ExpectSentence(t, 130, "stopped")
	if took := time.Since(interrupted); took > 10*time.Second {
		t.Errorf("ending took %v", took)
	}
}

// ExpectUsage fails the test unless -h explains the program, with the flags,
// two examples and the exit statuses, and mistakes on the command line are one
// sentence each.
func ExpectUsage(t *testing.T, flags ...string) {
	t.Helper()
	help := Run(t, nil, "-h")
	if help.Status != 0 {
		t.Errorf("-h ends with status %d", help.Status)
	}
	for _, part := range append(flags, "Usage: ", program.ExitStatuses) {
		if !strings.Contains(help.Stderr, part) {
			t.Errorf("-h does not mention %s:\n%s", part, help.Stderr)
		}
	}
	_, examples, _ := strings.Cut(help.Stderr, "\nExamples:\n")
	examples, _, _ = strings.Cut(examples, "\n\n")
	if strings.Count(examples, "\n") < 1 {
		t.Errorf("-h shows fewer than two examples:\n%s", help.Stderr)
	}
	for _, args := range [][]string{{"-nosuchflag"}, {"an argument"}} {
		r := Run(t, nil, args...)
		if r.ExpectSentence(t, 2, strings.TrimLeft(args[0], "-"), "-h)"); r.Stdout != "" {
			t.Errorf("%q: it printed %s", args, r.Stdout)
		}
	}
}
