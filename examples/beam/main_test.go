package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "BEAM_TEST_PROGRAM=1", "HORSERACING_BASE_URL=", "HORSERACING_API_KEY=")
	return cmd
}

func TestProgram(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		code int
		want string // in what it prints
	}{
		{name: "help", args: []string{"-h"}, code: 0, want: "-since"},
		{name: "unknown flag", args: []string{"-nonsense"}, code: 2, want: "nonsense"},
		{name: "no time", args: []string{"-since", "yesterday"}, code: 2, want: "2026-05-01"},
		{name: "backwards", args: []string{"-since", "2026-05-02", "-before", "2026-05-01"}, code: 1, want: "is not before"},
		{name: "an argument", args: []string{"races"}, code: 1, want: "races"},
		{name: "the fake on Prism", args: []string{"-out", "history"}, code: 0, want: "participants, read in 30 windows"},
		{name: "a folder that cannot be made", args: []string{"-out", filepath.Join(os.Args[0], "history")}, code: 1, want: filepath.Base(os.Args[0])},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := program(t, test.args...)
			output, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(output), test.want) {
				t.Errorf("exit code %d and\n%s\nwant %d and %q", code, output, test.code, test.want)
			}
			if test.code == 1 && strings.Count(string(output), "\n") != 1 {
				t.Errorf("an error is one line, not\n%s", output)
			}
			if files, _ := filepath.Glob(filepath.Join(cmd.Dir, "history", "races", "*.jsonl")); test.code == 0 && len(test.args) == 2 && len(files) == 0 {
				t.Error("no file came out")
			}
		})
	}
}

func TestInterruptedProgramExitsWith130(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	// Nobody answers at this address for as long as the program would wait.
	cmd := program(t, "-since", "2026-05-01", "-before", "2026-05-02")
	cmd.Env = append(cmd.Env, "HORSERACING_BASE_URL="+silentServer(t), "HORSERACING_API_KEY=key")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Signal(os.Interrupt) })
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

// silentServer accepts connections and never answers.
func silentServer(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String()
}
