package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite" // and the driver "sqlite", in Go alone
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// state is what is known of a registration.
type state string

const (
	sending state = "sending" // written down; it may or may not have been sent
	unknown state = "unknown" // sent, and the response was lost
	entered state = "entered" // the horse is in the race, the fee is paid
	refused state = "refused" // the service refused it
	absent  state = "absent"  // settled after the deadline: the horse is not in the race
	unsent  state = "unsent"  // it certainly did not arrive: it may be retried
)

// pair is a horse in a race.
type pair struct {
	race  horseracing.RaceID
	horse horseracing.HorseNumber
}

// entry is a registration in the journal.
type entry struct {
	pair
	fee   horseracing.BigInt
	start time.Time // of the race
}

// Times are milliseconds since the epoch; fees are text, since SQLite's
// integers end at 2^63.
const schema = `
CREATE TABLE source (name TEXT NOT NULL);
CREATE TABLE entries (
	race INTEGER NOT NULL,
	horse INTEGER NOT NULL,
	fee TEXT NOT NULL,
	start INTEGER NOT NULL,
	state TEXT NOT NULL,
	decided INTEGER NOT NULL,
	note TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (race, horse)
) WITHOUT ROWID;`

// journalID is the application_id of a journal: "HRjo".
const journalID = 0x48526a6f

// journal remembers every registration, from before it is sent. One process at
// a time has it.
type journal struct {
	db      *sql.DB
	planned []entry // by a dry run, which writes nothing down
}

// openJournal opens or creates a journal. It refuses a file that is something
// else, one of another service, and one that another run has open.
func openJournal(ctx context.Context, path, source string) (*journal, error) {
	uri, err := program.SQLiteURI(path)
	if err != nil {
		return nil, err
	}
	_, missing := os.Stat(path)
	// An exclusive lock lasts as long as the process, however it ends. FULL makes
	// a commit survive the loss of power.
	db, err := sql.Open("sqlite", uri+"?_pragma=locking_mode(EXCLUSIVE)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	j := &journal{db: db}
	if err := j.prepare(ctx, path, source); err != nil {
		db.Close()
		if missing != nil {
			os.Remove(path)
		}
		return nil, err
	}
	return j, nil
}

func (j *journal) prepare(ctx context.Context, path, source string) error {
	err := j.transact(ctx, func(tx *sql.Tx) error {
		var id, tables int
		if err := tx.QueryRow(`SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id`).Scan(&id, &tables); err != nil {
			return err
		}
		switch {
		case id == 0 && tables == 0:
			_, err := tx.Exec(schema+fmt.Sprintf("PRAGMA application_id = %d; INSERT INTO source VALUES (?)", journalID), source)
			return err
		case id != journalID:
			return errForeign
		}
		var was string
		if err := tx.QueryRow(`SELECT name FROM source`).Scan(&was); err != nil {
			return err
		}
		if was != source {
			return fmt.Errorf("it holds registrations with %s, not with %s: choose another -journal", was, source)
		}
		return nil
	})
	failure, isSQLite := errors.AsType[*sqlite.Error](err)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case isSQLite && failure.Code() == sqlite3.SQLITE_BUSY:
		return fmt.Errorf("another run has the journal %s open: wait until it has ended", path)
	case errors.Is(err, errForeign), strings.Contains(err.Error(), "not a database"):
		return fmt.Errorf("%s is not a journal of register; it was not changed", path)
	}
	return fmt.Errorf("the journal %s: %w", path, err)
}

var errForeign = errors.New("not a journal")

func (j *journal) close() { j.db.Close() }

func (j *journal) transact(ctx context.Context, f func(*sql.Tx) error) error {
	return program.Transact(ctx, j.db, f)
}

// begin writes down that a registration is about to be sent, unless the journal
// speaks against it: then it returns why. It is the only way to a payment.
func (j *journal) begin(ctx context.Context, e entry, r *rules, now time.Time) (against string, err error) {
	err = j.transact(ctx, func(tx *sql.Tx) error {
		if against, err = check(tx, nil, e, r, now); err != nil || against != "" {
			return err
		}
		_, err := tx.Exec(`INSERT OR REPLACE INTO entries (race, horse, fee, start, state, decided) VALUES (?, ?, ?, ?, ?, ?)`,
			e.race, e.horse, e.fee, e.start.UnixMilli(), sending, now.UnixMilli())
		return err
	})
	return against, err
}

// check returns what in the journal, and in what is planned, speaks against a
// registration.
func check(tx *sql.Tx, planned []entry, e entry, r *rules, now time.Time) (against string, err error) {
	rows, err := tx.Query(`SELECT race, horse, fee, start, state, decided FROM entries`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	today, inAll, atOnce := new(big.Int), new(big.Int), 0
	count := func(other entry, decided time.Time) {
		inAll.Add(inAll, other.fee.Big())
		if decided.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
			today.Add(today, other.fee.Big())
		}
		if other.horse == e.horse && other.start.After(now) {
			atOnce++
		}
	}
	for rows.Next() {
		var other entry
		var s state
		var start, decided int64
		if err := rows.Scan(&other.race, &other.horse, &other.fee, &start, &s, &decided); err != nil {
			return "", err
		}
		if other.pair == e.pair && s != unsent {
			return "the journal has it as " + string(s), nil
		}
		if s == sending || s == unknown || s == entered { // what is unknown may be paid
			other.start = time.UnixMilli(start)
			count(other, time.UnixMilli(decided))
		}
	}
	for _, other := range planned {
		if other.pair != e.pair {
			count(other, now)
		}
	}
	exceeds := func(spent *big.Int, budget horseracing.BigInt) bool {
		return horseracing.BigIntFrom(spent.Add(spent, e.fee.Big())).Cmp(budget) > 0
	}
	switch {
	case atOnce >= r.atOnce:
		against = fmt.Sprintf("the horse is in %d other race(s) that have not started (-at-once %d)", atOnce, r.atOnce)
	case exceeds(today, r.perDay):
		against = fmt.Sprintf("its fee of %s would exceed the budget of the day, %s", program.Price(e.fee), program.Price(r.perDay))
	case exceeds(inAll, r.inAll):
		against = fmt.Sprintf("its fee of %s would exceed the budget in all, %s", program.Price(e.fee), program.Price(r.inAll))
	}
	return against, rows.Err()
}

// plan is begin for a dry run: it writes nothing down.
func (j *journal) plan(ctx context.Context, e entry, r *rules, now time.Time) (against string, err error) {
	err = j.transact(ctx, func(tx *sql.Tx) error {
		against, err = check(tx, j.planned, e, r, now)
		return err
	})
	if err == nil && against == "" && !slices.ContainsFunc(j.planned, func(p entry) bool { return p.pair == e.pair }) {
		j.planned = append(j.planned, e)
	}
	return against, err
}

// finish writes down what became of a registration. It is not canceled: what is
// known must not be forgotten because of a Ctrl-C.
func (j *journal) finish(p pair, s state, note string) error {
	_, err := j.db.ExecContext(context.Background(), `UPDATE entries SET state = ?, note = ? WHERE race = ? AND horse = ?`, s, note, p.race, p.horse)
	return err
}

// unsettled returns the registrations of which it is open whether they arrived.
func (j *journal) unsettled(ctx context.Context) (entries []entry, err error) {
	rows, err := j.db.QueryContext(ctx, `SELECT race, horse, fee, start FROM entries WHERE state IN (?, ?) ORDER BY start, race, horse`, sending, unknown)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		var start int64
		if err := rows.Scan(&e.race, &e.horse, &e.fee, &start); err != nil {
			return nil, err
		}
		e.start = time.UnixMilli(start)
		entries = append(entries, e)
	}
	return entries, rows.Err()
}
