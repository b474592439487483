package ledger_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// openElsewhere names the ledger that another process of this test opens.
const openElsewhere = "LEDGER_TEST_OPENS"

func TestALedgerIsInUseInOtherProcesses(t *testing.T) {
	client, err := horseracing.NewClient("https://localhost", "key")
	if err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv(openElsewhere); path != "" {
		if _, err := ledger.Open(path, client); errors.Is(err, ledger.ErrInUse) {
			os.Exit(3)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "l")
	elsewhere := func() int {
		process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		process.Env = append(os.Environ(), openElsewhere+"="+path)
		if err := process.Run(); process.ProcessState == nil {
			t.Fatal(err)
		}
		return process.ProcessState.ExitCode()
	}
	l := open(t, path, client)
	if status := elsewhere(); status != 3 {
		t.Errorf("while it is open another process ends with %d", status)
	}
	l.Close()
	if status := elsewhere(); status != 0 {
		t.Errorf("once it is closed another process ends with %d", status)
	}
	open(t, path, client) // the other one ended without closing it
}

// Each of several processes has the ledger open; here they are several ledgers.
func TestASharedLedgerIsLockedOnlyWhileACallNeedsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(t, 20)
		path := filepath.Join(t.TempDir(), "l")
		budget := ledger.WithBudget(tokens(60))
		ledgers := make([]*ledger.Ledger, 10)
		for i := range ledgers {
			ledgers[i] = open(t, path, fake.Client(), ledger.WithSharing(), budget)
		}
		first := ledgers[0]
		lose(t, fake, first, lostRequest, 1)
		settled := make(chan error)
		go func() { settled <- first.Settle(t.Context()) }()
		synctest.Wait()
		var entered, refused atomic.Int64
		var all sync.WaitGroup
		for i, l := range ledgers {
			all.Go(func() {
				if err := l.Check(registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) {
					t.Errorf("what another one sent: %v", err)
				}
				switch e, err := l.Register(t.Context(), registration(fake, 2+i), tokens(10)); {
				case err == nil && e.State == ledger.Entered:
					entered.Add(1)
				case errors.Is(err, ledger.ErrBudget):
					refused.Add(1)
				default:
					t.Error(e, err)
				}
			})
		}
		all.Wait()
		if entered.Load() != 5 || refused.Load() != 5 { // and one is unknown
			t.Errorf("%d entered, %d refused", entered.Load(), refused.Load())
		}
		if err := <-settled; err != nil {
			t.Error(err)
		}
		for _, l := range ledgers {
			if got := states(l); len(got) != 6 || got[0] != "1 absent" {
				t.Errorf("entries %v", got)
			}
		}
		if err := first.Decide(1, 1, ledger.Entered, ""); !errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Error(err)
		}
	})
}

func TestASharedLedgerWaitsForItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, alone := newLedger(t, 3)
		l := open(t, path, fake.Client(), ledger.WithSharing())
		register := func(ctx context.Context, race int) (time.Duration, error) {
			began := time.Now()
			_, err := l.Register(ctx, registration(fake, race), tokens(10))
			return time.Since(began), err
		}
		if took, err := register(t.Context(), 1); !errors.Is(err, ledger.ErrInUse) || took < 30*time.Second || took > 31*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if took, err := register(ctx, 1); !errors.Is(err, ledger.ErrInUse) || !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		time.AfterFunc(10*time.Second, func() { alone.Close() })
		if took, err := register(t.Context(), 1); err != nil || took > 11*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		open(t, path, fake.Client()) // it is not held now
		if n := posts(fake); n != 1 {
			t.Errorf("%d sent", n)
		}
	})
}
