package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/internal/double"
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
	double.NoError(t, os.Chmod(file, 0o604))
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
	double.Equal(t, "another error is not changed", true, lockError("/mnt/f", os.ErrPermission) == os.ErrPermission)
}

func TestTheTextOfACursorIsAPosition(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "") // it was never written, unlike in the transcript
	printed := run(t, environment(fake), "results", "--since", "2025-05-30", "--cursor", file, "--with-cursor", "-n", "3").stdout
	var first struct{ Cursor string }
	double.NoError(t, json.NewDecoder(strings.NewReader(printed)).Decode(&first))
	transcript(t, fake, "cursor", map[string]string{
		"CURSOR": first.Cursor, "WINDOWS": "\ufeff" + first.Cursor + "\r\n", "UTF16": "\xff\xfeh\x00", "SECOND": strings.Split(printed, "\n")[1],
	})
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
