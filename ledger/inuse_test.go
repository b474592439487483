package ledger_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// Each of several processes has the ledger open; here they are several ledgers.
func TestALedgerIsLockedOnlyWhileACallNeedsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(t, 20)
		path := filepath.Join(t.TempDir(), "l")
		budget := ledger.WithBudget(tokens(60))
		ledgers := make([]*ledger.Ledger, 10)
		for i := range ledgers {
			ledgers[i] = open(t, path, fake.Client(), budget)
		}
		first := ledgers[0]
		lose(t, fake, first, lostRequest, 1)
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
		time.Sleep(3 * time.Hour)
		if err := first.Settle(t.Context()); err != nil {
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

func TestALedgerWaitsForItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 3)
		other := flock.New(path + ".lock") // a call in another process
		if locked, err := other.TryLock(); !locked {
			t.Fatal(err)
		}
		open(t, path, fake.Client())
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
		time.AfterFunc(10*time.Second, func() { other.Unlock() })
		if took, err := register(t.Context(), 1); err != nil || took > 11*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if locked, err := other.TryLock(); !locked { // it is not held now
			t.Error(err)
		}
		other.Unlock()
		if n := posts(fake); n != 1 {
			t.Errorf("%d sent", n)
		}
	})
}
