package ledger_test

import (
	"errors"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

// newLargeLedger is newLedger with a file of a MiB of blank lines, so that a limit for it is
// none for the other files of the test.
func newLargeLedger(t *testing.T, n int) (*horseracingtest.Server, string, *ledger.Ledger) {
	t.Helper()
	fake, path := newFake(t, n), filepath.Join(t.TempDir(), "l")
	write(t, path, strings.Repeat("\n", 1<<20))
	return fake, path, open(t, path, fake.Client())
}

// fillDisk lets the file of a ledger grow by so many bytes, until the test ends or the returned
// function is called.
func fillDisk(t *testing.T, path string, more int) (free func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	free = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(free)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(len(read(t, path)) + more), Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	return free
}

func TestALineThatCannotBeWrittenIsNotSentAndNothingFollows(t *testing.T) {
	fake, path, l := newLargeLedger(t, 2)
	lose(t, fake, l, lostRequest, 1)
	free := fillDisk(t, path, 100) // half a line
	if e, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); !errors.Is(err, syscall.EFBIG) || e != (ledger.Entry{}) {
		t.Errorf("%v, %v", e, err)
	}
	free()
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

func TestAnOutcomeThatCannotBeWrittenIsReturnedAndStaysSending(t *testing.T) {
	for status, want := range map[int]ledger.State{200: ledger.Entered, 403: ledger.Refused, 500: ledger.Unknown} {
		fake, path, l := newLargeLedger(t, 1)
		free := func() {}
		fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			free = fillDisk(t, path, 0)
			return horseracingtest.Response{Status: status, Body: "{}"}, true
		})
		e, err := l.Register(t.Context(), registration(fake, 1), tokens(10))
		free()
		if e.State != want || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "is "+string(want)+", but this could not be recorded") {
			t.Errorf("%d: %v, %v", status, e, err)
		}
		l = open(t, path, fake.Client())
		expectStates(t, l, "1 sending")
		if err := l.Check(registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) {
			t.Errorf("%d, the same pair: %v", status, err)
		}
	}
}
