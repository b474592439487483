package ledger_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestALineThatCannotBeWrittenIsNotSentAndNothingFollows(t *testing.T) {
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	limitFiles := func(bytes uint64) {
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: before.Max}))
	}
	signal.Ignore(syscall.SIGXFSZ)
	fake, path := newFake(t, 2), filepath.Join(t.TempDir(), "l")
	write(t, path, strings.Repeat(" ", 1<<20)+"\n") // so that the limit affects no other file
	l := open(path, fake.Client())
	lose(t, fake, l, lostRequest, 1)
	limitFiles(uint64(len(read(path))) + 100) // half a line
	e, err := register(t, l, fake, 2)
	limitFiles(before.Cur)
	expectError(t, syscall.EFBIG, err)
	double.Equal(t, "entry", ledger.Entry{}, e)
	for _, err := range []error{l.Check(registration(fake, 2), tokens(10)), l.Decide(fake.Horses(0)[0], 1, ledger.Absent, "")} {
		expectError(t, cmpopts.AnyError, err, "open the ledger again")
	}
	expectSent(t, fake, 1)
	double.Must(register(t, open(path, fake.Client()), fake, 2))
	expectStates(t, open(path, fake.Client()), "1 unknown", "2 entered")
}

// The size of the ledger cannot be written down.
func TestALockFileThatCannotBeWrittenStopsTheRegistration(t *testing.T) {
	fake, path := newFake(t, 2), filepath.Join(t.TempDir(), "l")
	write(t, path, "")
	must(t, os.Symlink("/dev/full", path+".lock"))
	l := open(path, fake.Client())
	for race := range 2 {
		e, err := register(t, l, fake, 1+race)
		expectError(t, cmpopts.AnyError, err, "open the ledger again")
		double.Equal(t, "entry", ledger.Entry{}, e)
		expectSent(t, fake, 0)
	}
}
