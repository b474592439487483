package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/ledger"
)

// A slow disk makes 120 registrations, each by a ledger of its own, wait for one another longer than
// they would wait for another process.
func TestOneProcessIsNeverInItsOwnWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, _ := newLedger(t, 120)
		ledgers := make([]*ledger.Ledger, 120)
		for i := range ledgers {
			ledgers[i] = open(t, path, fake.Client())
			ledger.SetSync(ledgers[i], func(*os.File) error { time.Sleep(30 * time.Millisecond); return nil })
		}
		var registering sync.WaitGroup
		began := time.Now()
		for i, l := range ledgers {
			registering.Go(func() {
				if _, err := l.Register(t.Context(), registration(fake, 1+i), tokens(10)); err != nil {
					t.Error(err)
				}
			})
		}
		registering.Wait()
		if took := time.Since(began); took < 7*time.Second || len(fake.Registrations()) != 120 {
			t.Errorf("%d registrations in %v", len(fake.Registrations()), took)
		}
	})
}

// Log rotation empties or renames files, folders are mounted late, backups are old, and links are lost.
func TestALedgerThatLacksWhatWasWrittenIsNotContinued(t *testing.T) {
	type files struct{ path, link, other string } // a ledger, a link to it, and another one that is empty
	for name, test := range map[string]struct {
		lose      func(files) error
		byLink    bool     // it is opened by its link
		says      []string // in place of link, path and lock files
		isAllowed bool
	}{
		"nothing is lost": {lose: func(files) error { return nil }, isAllowed: true},
		"emptied":         {lose: func(f files) error { return os.Truncate(f.path, 0) }, says: []string{"path", "path.lock"}},
		"its end is cut":  {lose: func(f files) error { return rewrite(f.path, func(text []byte) []byte { return text[:len(text)-1] }) }, says: []string{"path", "path.lock"}},
		"zeros":           {lose: func(f files) error { return rewrite(f.path, zeros) }, says: []string{"path", "path.lock"}},
		"a new file in its place": {lose: func(f files) error {
			return errors.Join(os.Rename(f.path, f.path+".1"), os.WriteFile(f.path, nil, 0o600))
		}, says: []string{"path", "path.lock"}},
		"gone":                     {lose: func(f files) error { return os.Remove(f.path) }, says: []string{"path", "path.lock"}},
		"the link is gone":         {lose: func(f files) error { return os.Remove(f.link) }, byLink: true, says: []string{"link", "link.lock"}},
		"a new file for the link":  {lose: func(f files) error { return errors.Join(os.Remove(f.link), os.WriteFile(f.link, nil, 0o600)) }, byLink: true, says: []string{"link", "link.lock"}},
		"a link to another folder": {lose: func(f files) error { return errors.Join(os.Remove(f.link), os.Symlink(f.other, f.link)) }, byLink: true, says: []string{"link", "link.lock"}},
		"the folder is swapped": {lose: func(f files) error {
			return errors.Join(os.Rename(filepath.Dir(f.path), filepath.Dir(f.path)+"-gone"), os.Rename(filepath.Dir(f.other), filepath.Dir(f.path)))
		}, byLink: true, says: []string{"link", "link.lock"}},
		"an empty lock file of before":          {lose: func(f files) error { return errors.Join(os.Truncate(f.path+".lock", 0), os.Truncate(f.path, 0)) }, isAllowed: true},
		"the lock file is removed":              {lose: func(f files) error { return errors.Join(os.Remove(f.path+".lock"), os.Remove(f.path)) }, isAllowed: true},
		"a lock file of zeros":                  {lose: func(f files) error { return rewrite(f.path+".lock", zeros) }, isAllowed: true},
		"a crash before the number was written": {lose: func(f files) error { return os.WriteFile(f.path+".lock", []byte("\x00100\n"), 0o600) }, isAllowed: true},
		"not a number":                          {lose: func(f files) error { return os.WriteFile(f.path+".lock", []byte("hello"), 0o600) }, says: []string{"path", "path.lock", "number"}},
	} {
		t.Run(name, func(t *testing.T) {
			fake, dir := newFake(t, 3), t.TempDir()
			f := files{filepath.Join(dir, "a", "l"), filepath.Join(dir, "link"), filepath.Join(dir, "b", "l")}
			if err := errors.Join(os.Mkdir(filepath.Dir(f.path), 0o700), os.Mkdir(filepath.Dir(f.other), 0o700), os.WriteFile(f.other, nil, 0o600), os.Symlink(f.path, f.link)); err != nil {
				t.Skip(err)
			}
			path := f.path
			if test.byLink {
				path = f.link
			}
			open(t, f.path, fake.Client()) // makes the file
			l := open(t, path, fake.Client())
			if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil {
				t.Fatal(err)
			}
			late := open(t, path, fake.Client()) // before
			if err := test.lose(f); err != nil {
				t.Fatal(err)
			}
			_, err := ledger.Open(path, fake.Client())
			if (err == nil) != test.isAllowed {
				t.Errorf("Open: %v", err)
			}
			for _, part := range test.says {
				part = strings.NewReplacer("path", f.path, "link", f.link).Replace(part)
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v; want %q", err, part)
				}
			}
			if _, err := late.Register(t.Context(), registration(fake, 1), tokens(10)); err == nil {
				t.Error("it was paid a second time")
			}
		})
	}
}

func rewrite(path string, change func(text []byte) []byte) error {
	text, err := os.ReadFile(path)
	return errors.Join(err, os.WriteFile(path, change(text), 0o600))
}

// zeros replaces all but the first byte.
func zeros(text []byte) []byte { return append(text[:1], make([]byte, len(text)-1)...) }

func TestARelativePathIsThatOfTheFolderInWhichTheLedgerWasOpened(t *testing.T) {
	fake := newFake(t, 1)
	first, second := t.TempDir(), t.TempDir()
	t.Chdir(first)
	l := open(t, "l", fake.Client())
	t.Chdir(second)
	if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(second); len(left) != 0 || !strings.Contains(read(t, filepath.Join(first, "l")), "entered") {
		t.Errorf("in the second folder are %v", left)
	}
}
