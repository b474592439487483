package ledger_test

import (
	"os"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// What the file's ledger notices and this one does not: an older copy in place of the database. Both tests
// of the old ledger ("TestALedgerThatLacksWhatWasWrittenIsNotContinued") expect an error and no second payment.
func TestAnOlderCopyIsNotNoticed(t *testing.T) {
	if isPostgres {
		t.Skip("of SQLite")
	}
	for name, isOpen := range map[string]bool{"while a program has it open": true, "while no program has it open": false} {
		t.Run(name, func(t *testing.T) {
			fake, address := newFake(t, 2), newAddress(t)
			path := strings.TrimPrefix(address[:strings.Index(address, "?")], "file:")
			db := connect(t, address)
			must(t, ledger.Create(t.Context(), db, fake.Client()))
			l := open(db, fake.Client())
			copied := double.Must(os.ReadFile(path))
			if !isOpen {
				double.Must(register(t, l, fake, 1))
				db.Close()
			}
			must(t, os.WriteFile(path+".old", copied, 0o600))
			must(t, os.Rename(path+".old", path))
			if isOpen {
				_, err := register(t, l, fake, 1) // into the file that has no name any more
				t.Logf("the program that has it open: error %v", err)
			}
			fresh := open(connect(t, address), fake.Client())
			_, err := register(t, fresh, fake, 1)
			t.Logf("the same pair by another program: error %v, registrations sent %d", err, len(requests(fake, "POST")))
		})
	}
}
