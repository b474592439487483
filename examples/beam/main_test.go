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

	"github.com/google/go-cmp/cmp"
	"github.com/horseracing-go/horseracing"
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
		long bool   // an error, with the flags under it
	}{
		{name: "help", args: []string{"-h"}, code: 0, want: "-since"},
		{name: "unknown flag", args: []string{"-nonsense"}, code: 2, want: "nonsense", long: true},
		{name: "no time", args: []string{"-since", "yesterday"}, code: 2, want: "2026-05-01", long: true},
		{name: "backwards", args: []string{"-since", "2026-05-02", "-before", "2026-05-01"}, code: 2, want: "is not before"},
		{name: "no tier", args: []string{"-tier", "0"}, code: 2, want: "-tier"},
		{name: "no concurrency", args: []string{"-concurrency", "0"}, code: 2, want: "-concurrency"},
		{name: "no folder", args: []string{"-out", ""}, code: 2, want: "-out"},
		{name: "an argument", args: []string{"races"}, code: 2, want: "races"},
		{name: "the fake on Prism", args: []string{"-out", "history"}, code: 0, want: "participants, read in 32 windows"},
		{name: "a folder that cannot be made", args: []string{"-out", filepath.Join(os.Args[0], "history")}, code: 1, want: filepath.Base(os.Args[0])},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := program(t, test.args...)
			output, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(output), test.want) {
				t.Errorf("exit code %d and\n%s\nwant %d and %q", code, output, test.code, test.want)
			}
			if test.code != 0 && !test.long && strings.Count(string(output), "\n") != 1 {
				t.Errorf("an error is one line, not\n%s", output)
			}
			if files, _ := filepath.Glob(filepath.Join(cmd.Dir, "history", "races", "*.jsonl")); test.code == 0 && len(test.args) == 2 && len(files) == 0 {
				t.Error("no file came out")
			}
		})
	}
}

func TestAMonthsFileIsNeverCutShort(t *testing.T) {
	dir := t.TempDir()
	crawl := func(args ...string) (code int, output string, months map[string]int) {
		cmd := program(t, args...)
		cmd.Dir = dir
		text, _ := cmd.CombinedOutput()
		months = map[string]int{}
		for month, lines := range readFolder[horseracing.Race](t, filepath.Join(dir, "history", "races")) {
			months[month] = len(lines)
		}
		return cmd.ProcessState.ExitCode(), string(text), months
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
			t.Errorf("%q: it said:\n%s", test.args, output)
		}
	}
	code, output, got := crawl("-since", "2025-05-01", "-before", "2025-06-01T12:00:00Z")
	if code != 0 || got["2025-05"] <= want["2025-05"] || got["2025-06"] <= want["2025-06"] {
		t.Errorf("a longer span: exit code %d, races by month %v after %v: %s", code, got, want, output)
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

func TestTheDefaultSpanNeverShortensAMonth(t *testing.T) {
	out := t.TempDir()
	for now := day; now.Before(day.AddDate(1, 0, 0)); now = now.Add(7*time.Hour + time.Second) {
		c := crawl{tier: 5, before: now, out: out}
		c.since = defaultSince(now)
		if days := now.Sub(c.since).Hours() / 24; days < 28 || days > 62 {
			t.Fatalf("at %v it begins at %v", now, c.since)
		}
		if err := c.claim(t.Context()); err != nil {
			t.Fatalf("at %v: %v", now, err)
		}
	}
}

func TestARecordThatCannotBeReadIsNotReplaced(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, "spans.json")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := crawl{tier: 5, since: day, before: day.Add(time.Hour), out: out}
	if err := c.claim(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error = %v, want one that names %s", err, path)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{" {
		t.Errorf("it holds %q now (%v)", text, err)
	}
}
