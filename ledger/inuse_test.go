package ledger_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
