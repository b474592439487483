package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The file of --cursor may be a link, and have any mode; it may be one that another program
// wrote on Windows.
func TestAPositionKeepsItsLinkAndItsMode(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	link := file + ".link"
	read := func(cursor string, more ...string) result {
		return run(t, environment(fake), append([]string{"results", "--since", "2025-05-30", "--cursor", cursor}, more...)...)
	}
	read(file, "-n", "3")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(file, 0o604); err != nil {
		t.Fatal(err)
	}
	rest, again := read(link), read(file)
	info, err := os.Lstat(link)
	if rest.status != 0 || rest.stdout == "" || again != (result{}) || err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v; %d bytes, then %+v", info.Mode(), len(rest.stdout), again)
	}
	if err := exec.Command("mount", "--bind", file, file).Run(); err == nil { // as a container mounts a file: only root may
		defer exec.Command("umount", file).Run()
		fake.Advance(6 * time.Hour)
		if more, again := read(file), read(file); more.status != 0 || more.stdout == "" || again != (result{}) {
			t.Errorf("a mount: %d bytes, %s, then %+v", len(more.stdout), more.stderr, again)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func TestAFileSystemWithoutLocksIsNamed(t *testing.T) {
	for _, err := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.ENOTSUP} {
		if text := lockError("/mnt/f", &os.PathError{Op: "flock", Path: "/mnt/f.lock", Err: err}).Error(); !strings.Contains(text, "/mnt/f: its file system has no locks; put the file on a local disk") {
			t.Error(text)
		}
	}
	if err := lockError("/mnt/f", os.ErrPermission); err != os.ErrPermission {
		t.Error(err)
	}
}

func TestTheTextOfACursorIsAPosition(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "") // it was never written, unlike below
	first := run(t, environment(fake), "results", "--since", "2025-05-30", "--cursor", file, "--with-cursor", "-n", "3").stdout
	line, rest, _ := strings.Cut(first, "\n")
	_, cursor, _ := strings.Cut(line, `{"cursor":"`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	for text, want := range map[string]result{
		cursor:                     {stdout: rest},
		"\ufeff" + cursor + "\r\n": {stdout: rest},
		"\xff\xfeh\x00":            {status: 1, stderr: "the text is UTF-16"},
		cursor + "x":               {status: 1, stderr: "does not hold a position"},
		"":                         {status: 1, stderr: "does not hold a position"},
		`{"service":"x","tier":5}`: {status: 1, stderr: "does not hold a position"},
	} {
		writeFile(t, file, text)
		got := run(t, environment(fake), "results", "--cursor", file, "--with-cursor", "-n", "2")
		isNamed := strings.Contains(got.stderr, file)
		if got.status != want.status || got.stdout != want.stdout || !strings.Contains(got.stderr, want.stderr) || isNamed != (want.status != 0) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestAFollowerThatWaitsHasSavedThePositionOfAllThatItPrinted(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	start(t, environment(fake), "results", "--since", "2025-05-31", "--follow", "--cursor", file)
	waitFor(t, func() bool {
		text, _ := os.ReadFile(file)
		writeFile(t, file+".copy", string(text))
		return len(text) > 0 && run(t, environment(fake), "results", "--cursor", file+".copy") == (result{})
	})
}
