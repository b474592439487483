package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite" // and the driver "sqlite", in Go alone
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// lookback is how far behind the newest stored race a later run looks again:
// a race is listed when it is over, which may be after races that began later.
const lookback = time.Hour

// Times are milliseconds since the epoch. Fees are text: SQLite's integers end
// at 2^63 and its numbers beyond are floats. prizes, final_order and winners
// are the arrays of the service as JSON, the prizes as strings of digits. json is
// the whole race as it came, with members that no column has.
const schema = `
CREATE TABLE IF NOT EXISTS source (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS races (
	race_id INTEGER PRIMARY KEY,
	tier_id INTEGER NOT NULL,
	start_time INTEGER NOT NULL,
	registration_deadline INTEGER,
	name TEXT NOT NULL,
	hippodrome TEXT NOT NULL,
	hippodrome_type TEXT NOT NULL,
	turf TEXT NOT NULL,
	type TEXT NOT NULL,
	length INTEGER NOT NULL,
	places INTEGER NOT NULL,
	min_level INTEGER NOT NULL,
	max_level INTEGER NOT NULL,
	v2 INTEGER NOT NULL,
	no_equipment INTEGER NOT NULL,
	entry_fee TEXT NOT NULL,
	prizes TEXT NOT NULL,
	final_order TEXT NOT NULL,
	winners TEXT NOT NULL,
	json TEXT                  -- null without -raw
);
CREATE INDEX IF NOT EXISTS races_by_start ON races (tier_id, start_time);
CREATE TABLE IF NOT EXISTS participants (
	race_id INTEGER NOT NULL REFERENCES races,
	position INTEGER NOT NULL, -- in the service's list, from 0
	horse INTEGER NOT NULL,
	lane INTEGER,
	total REAL NOT NULL,
	place INTEGER,             -- 1 for the winner; null where the final order does not show it
	PRIMARY KEY (race_id, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS participants_by_horse ON participants (horse);
CREATE TABLE IF NOT EXISTS unreadable (
	tier_id INTEGER NOT NULL,
	json TEXT NOT NULL,
	PRIMARY KEY (tier_id, json)
);
CREATE TABLE IF NOT EXISTS walks (
	tier_id INTEGER NOT NULL,
	since INTEGER NOT NULL,    -- of the command line; 0: everything
	before INTEGER NOT NULL,   -- of the command line; 0: now
	floor INTEGER NOT NULL,    -- where the walk under way ends: since, or near the newest race of the walk before
	cursor TEXT NOT NULL,      -- how far it has come
	done INTEGER NOT NULL,     -- 1: it came to its end, but races may still be added above; 2: for good
	newest INTEGER NOT NULL,   -- latest start that a walk saved; a later one begins a lookback before it
	saved INTEGER NOT NULL,    -- races since it began at the top
	following TEXT NOT NULL,   -- how far -follow has come
	PRIMARY KEY (tier_id, since, before)
);`

// A store is the database of an export.
type store struct {
	db     *sql.DB
	path   string
	source string // where its races come from
}

// A walk is one way through the listing: from before down to floor.
type walk struct {
	tier                         horseracing.TierID
	since, before, floor, newest time.Time
	cursor                       horseracing.Cursor
	following                    horseracing.Cursor // zero: it never followed
	atEnd                        bool               // it came to its end once, and none is under way
	saved                        int
	done                         bool // for good
	settled                      bool // no race that it passes can be added later
}

// followed reports whether following goes on from where it stopped, so that it
// need not be walked to.
func (w *walk) followed() bool { return w.atEnd && !w.following.IsZero() }

// followSince is where following begins: a lookback before the newest race.
func (w *walk) followSince() time.Time {
	since := w.newest.Add(-lookback)
	if since.Before(w.since) || w.newest.IsZero() {
		since = w.since
	}
	if since.IsZero() {
		return time.UnixMilli(1) // there is no past; the zero time would leave out what finished since the walk
	}
	return since
}

// openStore opens or creates the database. It refuses, and does not change, a
// database that is not export's own, and one that was filled from another
// source: the ids of two services mean different races.
func openStore(ctx context.Context, path, source string) (*store, error) {
	uri, err := program.SQLiteURI(path)
	if err != nil {
		return nil, err
	}
	if err := checkFile(ctx, uri, path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", uri+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s := &store{db, path, strings.TrimRight(source, "/")}
	err = s.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec(schema + fmt.Sprintf("PRAGMA application_id = %d", program.ExportID)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return s.checkSource(tx)
	})
	if err != nil {
		db.Close()
		return nil, err
	}
	return s, nil
}

// checkFile returns an error if there is a file that is not a database of
// export. The connection is one of its own, which changes nothing.
func checkFile(ctx context.Context, uri, path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil // openStore creates it, or returns why not
	}
	db, err := sql.Open("sqlite", uri+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	return program.CheckExport(ctx, db, path, true)
}

// lock keeps every other export from the database at path until unlock is
// called or the process ends. It is a lock on a file of its own: others may read
// the database meanwhile.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	path += "-lock"
	uri, err := program.SQLiteURI(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", uri+"?_txlock=exclusive")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil) // Ctrl-C must not unlock early
	if err != nil {
		db.Close()
		if failure, ok := errors.AsType[*sqlite.Error](err); ok && failure.Code() == sqlite3.SQLITE_BUSY {
			return nil, fmt.Errorf("another export is writing to %s: wait until it has ended, or choose another -out", strings.TrimSuffix(path, "-lock"))
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return func() {
		removed := os.Remove(path) == nil // while it is locked, so that it is nobody else's
		tx.Rollback()
		db.Close()
		if !removed { // some systems do not remove an open file
			os.Remove(path)
		}
	}, nil
}

// checkSource refuses a database that holds races of another source.
func (s *store) checkSource(tx *sql.Tx) error {
	var was string
	err := tx.QueryRow(`SELECT name FROM source`).Scan(&was)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil && was != s.source:
		return fmt.Errorf("%s holds races of %s, not of %s: choose another -out, or if both are the same service add -source %s", s.path, was, s.source, was)
	}
	return err
}

func (s *store) close() { s.db.Close() }

// count returns the number of rows of a table.
func (s *store) count(ctx context.Context, table string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n)
	return n, err
}

func (s *store) transact(ctx context.Context, f func(*sql.Tx) error) error {
	return program.Transact(ctx, s.db, f)
}

// walk returns the walk to go on with: a new one, the one that was interrupted,
// or, where that one came to its end and more may have been added, one over
// what is new since. To follow, none over what is new begins if following can go
// on from where it stopped.
func (s *store) walk(ctx context.Context, tier horseracing.TierID, since, before time.Time, follow bool) (*walk, error) {
	w := &walk{tier: tier, since: since, before: before}
	err := s.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec(`INSERT INTO walks VALUES (?1, ?2, ?3, ?2, '', 0, 0, 0, '') ON CONFLICT DO NOTHING`, tier, millis(since), millis(before)); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE walks SET floor = max(since, newest - ?), cursor = '', done = 0, saved = 0 WHERE `+thisWalk+` AND done = 1 AND (following = '' OR NOT ?)`,
			lookback.Milliseconds(), tier, millis(since), millis(before), follow); err != nil {
			return err
		}
		var floor, newest, done int64
		var cursor, following string
		err := tx.QueryRow(`SELECT floor, cursor, done, newest, saved, following FROM walks WHERE `+thisWalk, tier, millis(since), millis(before)).
			Scan(&floor, &cursor, &done, &newest, &w.saved, &following)
		if err != nil {
			return err
		}
		w.floor, w.newest, w.atEnd, w.done = instant(floor), instant(newest), done > 0, done == 2
		w.settled = cursor == "" && !before.IsZero() && time.Since(before) > lookback
		for text, out := range map[string]*horseracing.Cursor{cursor: &w.cursor, following: &w.following} {
			if text == "" {
				continue
			}
			if *out, err = horseracing.ParseCursor(text); err != nil {
				return err
			}
		}
		return nil
	})
	return w, err
}

const thisWalk = `tier_id = ? AND since = ? AND before = ?`

// save stores entries and the cursor behind them in one transaction, and returns
// how many of the races were not there before.
func (s *store) save(ctx context.Context, w *walk, entries []horseracing.Entry[horseracing.Race], cursor horseracing.Cursor, raw bool) (added int, err error) {
	newest := w.newest
	err = s.transact(ctx, func(tx *sql.Tx) error {
		if err := s.takeSource(tx); err != nil {
			return err
		}
		for _, e := range entries {
			if e.Value == nil {
				if _, err := tx.Exec(`INSERT INTO unreadable VALUES (?,?) ON CONFLICT DO NOTHING`, w.tier, string(e.JSON)); err != nil {
					return err
				}
				continue
			}
			if !raw {
				e.JSON = nil
			}
			isNew, err := insert(tx, w.tier, e.Value, e.JSON)
			if err != nil {
				return fmt.Errorf("race %d: %w", e.Value.MainRaceID, err)
			}
			if isNew {
				added++
			}
			if e.Value.StartTime.After(newest) {
				newest = e.Value.StartTime.Time
			}
		}
		_, err := tx.Exec(`UPDATE walks SET cursor = ?, newest = ?, saved = saved + ? WHERE `+thisWalk,
			cursor.String(), millis(newest), len(entries), w.tier, millis(w.since), millis(w.before))
		return err
	})
	if err == nil {
		w.cursor, w.newest = cursor, newest
	}
	return added, err
}

// saveFollowed stores a race that following handed out, and the cursor behind it,
// in one transaction. It reports whether the race was not there before.
func (s *store) saveFollowed(ctx context.Context, w *walk, race *horseracing.Race, cursor horseracing.Cursor) (isNew bool, err error) {
	err = s.transact(ctx, func(tx *sql.Tx) error {
		if err := s.takeSource(tx); err != nil {
			return err
		}
		if isNew, err = insert(tx, w.tier, race, nil); err != nil {
			return fmt.Errorf("race %d: %w", race.MainRaceID, err)
		}
		_, err := tx.Exec(`UPDATE walks SET following = ? WHERE `+thisWalk, cursor.String(), w.tier, millis(w.since), millis(w.before))
		return err
	})
	return isNew, err
}

// takeSource notes the source in a database that holds no races yet, and refuses
// one that holds races of another.
func (s *store) takeSource(tx *sql.Tx) error {
	if err := s.checkSource(tx); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO source SELECT ? WHERE NOT EXISTS (SELECT * FROM source)`, s.source)
	return err
}

// insert stores a race, with its JSON unless that is nil.
func insert(tx *sql.Tx, tier horseracing.TierID, r *horseracing.Race, raw []byte) (isNew bool, err error) {
	prizes, err := json.Marshal(digits(r.Prizes))
	order, err2 := json.Marshal(r.FinalOrder)
	winners, err3 := json.Marshal(r.Winners)
	if err := errors.Join(err, err2, err3); err != nil {
		return false, err
	}
	result, err := tx.Exec(`INSERT INTO races VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
		r.MainRaceID, tier, millis(r.StartTime.Time), nullIfZero(millis(r.RegistrationDeadline.Time)),
		r.Info.Name, r.Info.HippodromeName, r.Info.HippodromeType, r.Info.Turf, r.Type, r.Length, r.Places, r.MinLevel, r.MaxLevel,
		r.V2, r.NoEquipment, r.EntryFee.String(), string(prizes), string(order), string(winners), sql.NullString{String: string(raw), Valid: raw != nil})
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); n == 0 && err == nil && raw != nil {
		_, err := tx.Exec(`UPDATE races SET json = ? WHERE race_id = ? AND json IS NULL`, string(raw), r.MainRaceID)
		return false, err
	} else if n == 0 || err != nil {
		return false, err
	}
	place := make(map[horseracing.HorseNumber]int, len(r.Participants))
	if finishers, err := r.Finishers(); err == nil { // else the places stay unknown, and final_order shows why
		for i, p := range finishers {
			place[p.Number] = i + 1
		}
	}
	for i, p := range r.Participants {
		if _, err := tx.Exec(`INSERT INTO participants VALUES (?,?,?,?,?,?)`,
			r.MainRaceID, i, p.Number, nullIfZero(int64(p.Lane)), p.Total, nullIfZero(int64(place[p.Number]))); err != nil {
			return false, err
		}
	}
	return true, nil
}

// digits writes amounts in full: some services write 6e+21 for the larger ones,
// which many readers of JSON would round. What is no integer stays as it is.
func digits(amounts []horseracing.Number) []string {
	all := make([]string, len(amounts))
	for i, n := range amounts {
		all[i] = n.String()
		var whole horseracing.BigInt
		if whole.UnmarshalText([]byte(all[i])) == nil {
			all[i] = whole.String()
		}
	}
	return all
}

// finish notes that the walk came to its end: for good where that is certain.
// A walk that was interrupted may have passed its top before all results were
// there; one without a race may have read the wrong listing.
func (s *store) finish(ctx context.Context, w *walk) error {
	w.done = w.settled && !w.newest.IsZero()
	done := 1
	if w.done {
		done = 2
	}
	_, err := s.db.ExecContext(ctx, `UPDATE walks SET done = ? WHERE `+thisWalk, done, w.tier, millis(w.since), millis(w.before))
	return err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func instant(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

func nullIfZero(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != 0} }
