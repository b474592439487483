package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// version is the format version of the tables that this package creates, reads and writes.
const version = 1

// schema is in the SQL that SQLite and PostgreSQL share.
var schema = []string{
	`CREATE TABLE horseracing_ledger (
	id INTEGER PRIMARY KEY CHECK (id = 1), -- one row: the transaction that has updated it is the only one that writes
	version INTEGER NOT NULL,
	service TEXT NOT NULL, -- base URL
	writes BIGINT NOT NULL
)`,
	`CREATE TABLE horseracing_entries (
	horse BIGINT NOT NULL CHECK (horse > 0),
	race BIGINT NOT NULL CHECK (race > 0),
	sent_at BIGINT NOT NULL, -- microseconds since 1970, UTC
	fee TEXT NOT NULL, -- all digits, in the smallest unit
	state TEXT NOT NULL CHECK (state IN ('sending', 'entered', 'refused', 'unknown', 'absent')),
	note TEXT NOT NULL,
	PRIMARY KEY (horse, race)
)`,
	`CREATE INDEX horseracing_entries_by_fee ON horseracing_entries (fee) WHERE ` + counted,
	`CREATE INDEX horseracing_entries_by_time ON horseracing_entries (sent_at, fee) WHERE ` + counted,
}

// counted are the states whose fees are or may be paid.
const counted = `state IN ('sending', 'entered', 'unknown')`

// Create makes the two tables of an empty ledger in a database, for registrations that are sent with
// client. It is called once, before the first [Open]. If the database has a ledger, Create returns an error
// and changes nothing.
func Create(ctx context.Context, db *sql.DB, client *horseracing.Client) error {
	err := newLedger(db).alone(ctx, func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // an error once it is committed
		for _, statement := range schema {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO horseracing_ledger (id, version, service, writes) VALUES (1, $1, $2, 0)`, version, client.BaseURL()); err != nil {
			return err
		}
		return tx.Commit()
	})
	if err != nil {
		return fmt.Errorf("ledger: it could not be created; if it exists, open it: %w", err)
	}
	return nil
}

// verify returns an error unless the database has a ledger of this version, of l's service if that is set.
func (l *Ledger) verify(ctx context.Context) error {
	var found int
	var service string
	err := l.alone(ctx, func(ctx context.Context) error {
		return l.db.QueryRowContext(ctx, `SELECT version, service FROM horseracing_ledger WHERE id = 1`).Scan(&found, &service)
	})
	switch {
	case errors.Is(err, ErrInUse):
		return err
	case err != nil:
		return fmt.Errorf("the database has no ledger that can be read; restore it, or call Create if it never had one: %w", err)
	case found != version:
		return fmt.Errorf("it has format version %d; this package reads and writes version %d", found, version)
	case l.service != "" && service != l.service:
		return fmt.Errorf("%w: the ledger is for %s, not for %s: use a database for each service", horseracing.ErrInvalidArgument, service, l.service)
	}
	return nil
}

const lockWait = 5 * time.Second

// alone runs do while no other call of l uses the database, for which it waits as long as ctx allows. So l needs one
// connection, and is never in its own way. If somebody else was in the way of do, it runs again, for at most lockWait.
func (l *Ledger) alone(ctx context.Context, do func(ctx context.Context) error) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, ErrInUse)
	defer cancel()
	for {
		err := do(ctx)
		if err != nil && isBusy(err) {
			select {
			case <-time.After(rand.N(10 * time.Millisecond)):
				continue
			case <-ctx.Done():
			}
		}
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return err
	}
}

var (
	errCommit = errors.New("the transaction was perhaps not committed")
	errOlder  = errors.New("the database was replaced by an older copy while it was open; check which payments it lacks before you open it again")
)

// write runs do in a transaction in which nobody else writes. With an error that is not errCommit nothing was written.
func (l *Ledger) write(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	return l.alone(ctx, func(ctx context.Context) error { return l.transact(ctx, do) })
}

// transact makes the update of the ledger's row the first statement: it waits there for other writers, and
// whatever do reads is what they have committed.
func (l *Ledger) transact(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var writes int64
	err = tx.QueryRowContext(ctx, `UPDATE horseracing_ledger SET writes = writes + 1 WHERE id = 1 AND version = $1 AND service = $2 RETURNING writes`,
		version, l.service).Scan(&writes)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errors.New("the database has no ledger of this version and service any more")
	case err != nil:
		return err
	case writes <= l.writes:
		return errOlder
	}
	if err := do(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	l.writes = writes
	return nil
}

// isBusy reports whether somebody else was in the way of a statement or transaction that has no effect, so that it
// can begin again: in PostgreSQL a serialization failure, a deadlock, a lock that is not available, or no connection
// left; in SQLite SQLITE_BUSY, which the drivers write alike.
func isBusy(err error) bool {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return slices.Contains([]string{"40001", "40P01", "55P03", "53300"}, e.SQLState())
	}
	return strings.Contains(err.Error(), "database is locked") || strings.Contains(err.Error(), "database table is locked")
}

// querier is an [sql.DB] or an [sql.Tx].
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list returns the entries for which a condition holds, in the order in which they were sent, by the clock.
func list(ctx context.Context, q querier, condition string, args ...any) ([]Entry, error) {
	rows, err := q.QueryContext(ctx, `SELECT horse, race, sent_at, fee, state, note FROM horseracing_entries WHERE `+condition+` ORDER BY sent_at, race, horse`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	entries := []Entry{}
	for rows.Next() {
		var e Entry
		var sent int64
		var fee, state string
		if err := rows.Scan((*int64)(&e.Horse), (*int64)(&e.Race), &sent, &fee, &state, &e.Note); err != nil {
			return nil, err
		}
		e.Time, e.State = time.UnixMicro(sent).UTC(), State(state)
		if e.Fee, err = parseFee(fee); err != nil {
			return nil, fmt.Errorf("horse %d in race %d: %w", e.Horse, e.Race, err)
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// get returns the entry of a pair of horse and race, or the zero entry.
func get(ctx context.Context, q querier, horse horseracing.HorseNumber, race horseracing.RaceID) (Entry, error) {
	found, err := list(ctx, q, `horse = $1 AND race = $2`, int64(horse), int64(race))
	if err != nil || len(found) == 0 {
		return Entry{}, err
	}
	return found[0], nil
}

// put adds an entry, or replaces that of its pair.
func put(ctx context.Context, tx *sql.Tx, e Entry) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO horseracing_entries (horse, race, sent_at, fee, state, note) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (horse, race) DO UPDATE SET sent_at = excluded.sent_at, fee = excluded.fee, state = excluded.state, note = excluded.note`,
		int64(e.Horse), int64(e.Race), e.Time.UnixMicro(), e.Fee.String(), string(e.State), strings.ToValidUTF8(strings.ReplaceAll(e.Note, "\x00", ""), ""))
	return err
}

// The entries that sum counts: all, or those since a time, whose index SQLite uses only if the other one cannot group.
const (
	inAll     = ` GROUP BY fee`
	sentSince = ` AND sent_at >= $1 GROUP BY fee || ''`
)

// sum adds up counted fees. SQL has no sum of integers without a limit that both databases know, but few fees are
// different.
func sum(ctx context.Context, q querier, which string, args ...any) (total horseracing.BigInt, err error) {
	rows, err := q.QueryContext(ctx, `SELECT MIN(fee), COUNT(*) FROM horseracing_entries WHERE `+counted+which, args...)
	if err != nil {
		return total, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		var n int64
		if err := rows.Scan(&text, &n); err != nil {
			return total, err
		}
		fee, err := parseFee(text)
		if err != nil {
			return total, err
		}
		total = total.Add(horseracing.BigIntFrom(new(big.Int).Mul(fee.Big(), big.NewInt(n))))
	}
	return total, rows.Err()
}

func parseFee(text string) (fee horseracing.BigInt, err error) {
	fee, err = horseracing.ParseUnits(text, 0)
	if err != nil || fee.Cmp(horseracing.BigInt{}) < 0 {
		return fee, fmt.Errorf("%q in the table horseracing_entries is not a fee", text)
	}
	return fee, nil
}
