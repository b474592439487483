package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The file of --cursor may be a link, and have any mode; it may be one that another program
// wrote on Windows.
func TestAPositionKeepsItsLinkAndItsMode(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	folder := t.TempDir()
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	query := []string{"results", "--since", "2025-05-30", "--cursor"}
	if got := run(t, environment(fake), append(query, file, "-n", "3")...); got.status != 0 || strings.Count(got.stdout, "\n") != 3 {
		t.Fatalf("%+v", got)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(file, 0o604); err != nil {
		t.Fatal(err)
	}
	rest := run(t, environment(fake), append(query, link)...)
	again := run(t, environment(fake), append(query, file)...)
	info, err := os.Lstat(link)
	if rest.status != 0 || rest.stdout == "" || again != (result{}) || err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v; %d bytes, then %+v", info.Mode(), len(rest.stdout), again)
	}
	if err := exec.Command("mount", "--bind", file, file).Run(); err == nil { // as a container mounts a file: only root may
		defer exec.Command("umount", file).Run()
		fake.Advance(6 * time.Hour)
		more, again := run(t, environment(fake), append(query, file)...), run(t, environment(fake), append(query, file)...)
		if more.status != 0 || more.stdout == "" || again != (result{}) {
			t.Errorf("a mount: %d bytes, %s, then %+v", len(more.stdout), more.stderr, again)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func TestTheTextOfACursorIsAPosition(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	lines := strings.SplitAfter(run(t, environment(fake), "results", "--since", "2025-05-30", "--cursor", file, "--with-cursor", "-n", "3").stdout, "\n")
	_, cursor, _ := strings.Cut(lines[0], `{"cursor":"`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	for text, want := range map[string]string{
		cursor:                      "",
		"\ufeff" + cursor + "\r\n":  "",
		"\xff\xfeh\x00":             "the text is UTF-16",
		cursor + "x":                "does not hold a position",
		"":                          "does not hold a position",
		`{"service":"x","tier":5}`:  "does not hold a position",
		`{"service":"x","tier":[5]`: "does not hold a position",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, environment(fake), "results", "--cursor", file, "--with-cursor", "-n", "2")
		if want != "" && (got.status != 1 || !strings.Contains(got.stderr, want) || !strings.Contains(got.stderr, file)) || want == "" && (got.status != 0 || got.stdout != lines[1]+lines[2]) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
