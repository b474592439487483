package ledger_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/horseracing-go/horseracing/ledger"
)

func TestALineThatCannotBeWrittenIsNotSentAndNothingFollows(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limitFiles := func(bytes uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	signal.Ignore(syscall.SIGXFSZ)
	fake, path := newFake(t, 2), filepath.Join(t.TempDir(), "l")
	write(t, path, strings.Repeat("\n", 1<<20)) // so that the limit affects no other file
	l := open(t, path, fake.Client())
	lose(t, fake, l, lostRequest, 1)
	limitFiles(uint64(len(read(t, path))) + 100) // half a line
	e, err := l.Register(t.Context(), registration(fake, 2), tokens(10))
	limitFiles(before.Cur)
	if !errors.Is(err, syscall.EFBIG) || e != (ledger.Entry{}) {
		t.Errorf("%v, %v", e, err)
	}
	for _, err := range []error{l.Check(registration(fake, 2), tokens(10)), l.Decide(fake.Horses(0)[0], 1, ledger.Absent, "")} {
		if err == nil || !strings.Contains(err.Error(), "open the ledger again") || posts(fake) != 1 {
			t.Errorf("the next: %v; %d sent", err, posts(fake))
		}
	}
	l = open(t, path, fake.Client())
	if _, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); err != nil {
		t.Errorf("opened again: %v", err)
	}
	expectStates(t, open(t, path, fake.Client()), "1 unknown", "2 entered")
}

// The size of the ledger cannot be written down.
func TestALockFileThatCannotBeWrittenStopsTheRegistration(t *testing.T) {
	fake, path := newFake(t, 2), filepath.Join(t.TempDir(), "l")
	write(t, path, "")
	if err := os.Symlink("/dev/full", path+".lock"); err != nil {
		t.Fatal(err)
	}
	l := open(t, path, fake.Client())
	for race := range 2 {
		e, err := l.Register(t.Context(), registration(fake, 1+race), tokens(10))
		if e != (ledger.Entry{}) || err == nil || !strings.Contains(err.Error(), "open the ledger again") || posts(fake) != 0 {
			t.Errorf("%v, %v; %d sent", e, err, posts(fake))
		}
	}
}
