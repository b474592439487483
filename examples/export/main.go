// Export stores the finished races and tournaments of a tier in an SQLite database.
//
//	go -C examples/export run . -out /tmp/races.sqlite -since 2026-01-01
//	go -C examples/export run . -out /tmp/races.sqlite -horses -follow
//
// Stop it at any moment, by Ctrl-C, kill -9 or a power cut, and start it again: each entry is
// stored in one transaction with the position after it, so no race is lost and none is stored
// twice. To store another tier in the same file, run it with another -tier.
//
// If the connection is lost, each request is retried for half a minute. Then the program ends
// with the error, and the next run continues at that page. With -follow the program continues
// by itself.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/service"
	"github.com/horseracing-go/horseracing/ledger"
)

// Times are milliseconds since the epoch. Lists are JSON. Amounts are text, since SQLite's integers end
// at 2^63, with spaces before it up to 40 characters, so that it compares and sorts as numbers do. With a
// second column for that, the first would still compare as text, and unnoticed.
const schema = `
CREATE TABLE IF NOT EXISTS races (
	race_id INTEGER NOT NULL, start_time INTEGER NOT NULL, -- two races may share an id
	tier_id INTEGER NOT NULL, registration_deadline INTEGER NOT NULL, name TEXT, hippodrome TEXT, hippodrome_type TEXT, turf TEXT,
	type TEXT, length INTEGER, places INTEGER, min_level INTEGER, max_level INTEGER, v2 INTEGER, no_equipment INTEGER,
	entry_fee TEXT NOT NULL, prizes TEXT, final_order TEXT, winners TEXT,
	PRIMARY KEY (race_id, start_time));
CREATE INDEX IF NOT EXISTS races_by_start ON races (tier_id, start_time);
CREATE TABLE IF NOT EXISTS participants (
	race_id INTEGER NOT NULL, start_time INTEGER NOT NULL, position INTEGER NOT NULL, horse INTEGER NOT NULL, lane INTEGER, total REAL,
	place INTEGER, -- 1 for the winner; null if the final order does not show it
	PRIMARY KEY (race_id, start_time, position)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS participants_by_horse ON participants (horse);
CREATE TABLE IF NOT EXISTS tournaments (
	tournament_id TEXT PRIMARY KEY, tier_id INTEGER NOT NULL, start_time INTEGER NOT NULL, name TEXT, hippodrome TEXT, type TEXT,
	length INTEGER, places INTEGER, entry_fee TEXT NOT NULL, prizes TEXT, stages TEXT, participants TEXT);
CREATE TABLE IF NOT EXISTS horses (
	number INTEGER PRIMARY KEY, name TEXT, gender TEXT, breed TEXT, tier TEXT, generation INTEGER, level INTEGER,
	height REAL, weight REAL, appearance TEXT);
CREATE TABLE IF NOT EXISTS registrations ( -- of the ledger that was read last
	race_id INTEGER NOT NULL, horse INTEGER NOT NULL, sent_at INTEGER NOT NULL, state TEXT NOT NULL, fee TEXT NOT NULL,
	PRIMARY KEY (race_id, horse));
CREATE TABLE IF NOT EXISTS unreadable (problem TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (problem, json));
CREATE TABLE IF NOT EXISTS listings ( -- how far each was read
	listing TEXT NOT NULL, tier_id INTEGER NOT NULL, service TEXT NOT NULL, since INTEGER NOT NULL, cursor TEXT NOT NULL,
	PRIMARY KEY (listing, tier_id));`

// The views are created again at each start, so that an older file gets the present ones. A
// participant without a total did not run, or the service left it out. SQLite has no median:
// speed takes the middle of the sorted totals.
const views = `
DROP VIEW IF EXISTS form;
CREATE VIEW form AS
SELECT horse, starts, places, round(average_place, 2) AS average_place, round(average_runners, 1) AS average_runners, start_time AS last_start
FROM (
	SELECT horse, start_time,
		row_number() OVER newest AS nth,
		count(*) OVER (PARTITION BY horse) AS starts,
		group_concat(coalesce(place, '-'), ' ') OVER last_ten AS places,
		avg(place) OVER last_ten AS average_place,
		avg(runners) OVER last_ten AS average_runners
	FROM (SELECT *, count(*) OVER (PARTITION BY race_id, start_time) AS runners FROM participants)
	WINDOW newest AS (PARTITION BY horse ORDER BY start_time DESC, race_id DESC),
		last_ten AS (newest ROWS BETWEEN CURRENT ROW AND 9 FOLLOWING))
WHERE nth = 1;

DROP VIEW IF EXISTS fees;
CREATE VIEW fees AS
SELECT race_id, horse, sent_at, state, fee, start_time, place, iif(prize IS NULL, NULL, printf('%*s', 41 + length(prize) - instr(prize || '.', '.'), prize)) AS prize
FROM (
	SELECT race_id, horse, sent_at, state, fee, max(start_time) AS start_time, place, json_extract(prizes, '$[' || (place - 1) || ']') AS prize
	FROM registrations LEFT JOIN participants USING (race_id, horse) LEFT JOIN races USING (race_id, start_time)
	WHERE state IN ('entered', 'unknown', 'sending') -- what may have been paid
	GROUP BY race_id, horse); -- one fee, in the row of the last of several races with that id

DROP VIEW IF EXISTS speed;
CREATE VIEW speed AS
WITH runs AS (
	SELECT race_id, horse, start_time, hippodrome, turf, length, total,
		row_number() OVER (PARTITION BY hippodrome, turf, length ORDER BY total) AS nth,
		count(*) OVER (PARTITION BY hippodrome, turf, length) AS runs
	FROM participants JOIN races USING (race_id, start_time) WHERE total > 0),
medians AS (
	SELECT hippodrome, turf, length, avg(total) AS median FROM runs WHERE nth IN ((runs + 1) / 2, (runs + 2) / 2) GROUP BY hippodrome, turf, length)
SELECT race_id, horse, start_time, hippodrome, turf, length, total, median, round(100 * (total / median - 1), 2) AS percent, runs
FROM runs JOIN medians USING (hippodrome, turf, length);
PRAGMA application_id = 1213362024;`

const applicationID = 1213362024 // marks the databases of this program

type export struct {
	client  *horseracing.Client
	service string // whose ids these are
	db      *sql.DB
	tier    horseracing.TierID
	since   time.Time // of -since, or zero
	skipped []error   // entries that cannot be read, until they are stored
	lost    int       // how many there were
}

func main() {
	x := &export{}
	out := flag.String("out", "races.sqlite", "the `FILE` of the database")
	tier := flag.Uint("tier", uint(horseracing.TierOmega), "tier `ID`")
	flag.Func("since", "only what starts on this `DATE` (UTC) or later, 2026-01-31 (default 30 days ago)", func(text string) (err error) {
		x.since, err = time.Parse(time.DateOnly, text)
		return err
	})
	horses := flag.Bool("horses", false, "store the horses that ran, too, with a request for each")
	paid := flag.String("ledger", "", "store what this `FILE` of package ledger says was paid")
	follow := flag.Bool("follow", false, "continue with new results until Ctrl-C")
	flag.Parse()
	x.tier = horseracing.TierID(*tier)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	client, fake, err := service.Connect(horseracing.WithSkipHandler(x.skip))
	if err != nil {
		log.Fatal(err)
	}
	x.client, x.service = client, client.BaseURL()
	if fake != nil {
		x.service = "the fake of " + time.Now().UTC().Format(time.DateOnly)
	}
	if err := x.open(ctx, *out); err != nil {
		log.Fatalf("%s: %v", *out, err)
	}
	defer x.db.Close()
	if err := x.run(ctx, *horses, *follow, *paid); err != nil {
		log.Fatal(err)
	}
}

// uri returns the name of a database with options for the driver: a path may contain ? and #.
func uri(path, options string) string {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true, RawQuery: options}
	return file.String()
}

// open opens or creates the database. It refuses a database of another program, and one of
// another service, because the ids there mean other races.
func (x *export) open(ctx context.Context, path string) (err error) {
	x.db, err = sql.Open("sqlite", uri(path, "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"))
	if err != nil {
		return err
	}
	var tables, id int
	err = x.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM sqlite_schema), application_id FROM pragma_application_id`).Scan(&tables, &id)
	if err == nil && tables > 0 && id != applicationID {
		err = errors.New("it is a database of another program, or of an older version: choose another -out")
	}
	if err == nil {
		_, err = x.db.ExecContext(ctx, schema+views)
	}
	if err != nil {
		return err
	}
	var source string
	err = x.db.QueryRowContext(ctx, `SELECT service FROM listings LIMIT 1`).Scan(&source)
	if err == nil && source != x.service {
		return fmt.Errorf("it holds races of %s, not of %s: choose another -out", source, x.service)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// run reads both listings, and what else is wanted, once or until ctx ends.
func (x *export) run(ctx context.Context, horses, follow bool, paid string) error {
	races, err := resume(ctx, x, "races", x.client.Races.Follow)
	if err != nil {
		return err
	}
	tournaments, err := resume(ctx, x, "tournaments", x.client.Tournaments.Follow)
	if err != nil {
		return err
	}
	for {
		err := errors.Join(catchUp(ctx, x, "races", races, x.insertRace), catchUp(ctx, x, "tournaments", tournaments, insertTournament))
		if err == nil && horses {
			err = x.addHorses(ctx)
		}
		if err == nil && paid != "" {
			err = x.addRegistrations(ctx, paid)
		}
		if err == nil && x.lost > 0 {
			err = fmt.Errorf("%d entries could not be read: they are in the table unreadable", x.lost)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !follow || errors.Is(err, horseracing.ErrUnauthorized) {
			return err
		}
		if err != nil {
			log.Print(err)
		}
		select {
		case <-time.After(30 * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin returns the start of a listing that is read for the first time.
func (x *export) begin() time.Time { return cmp.Or(x.since, time.Now().AddDate(0, 0, -30)) }

// resume returns a follower that continues after what is stored of a listing.
func resume[T any](ctx context.Context, x *export, listing string, follow func(horseracing.FollowQuery) *horseracing.Follower[T]) (*horseracing.Follower[T], error) {
	q := horseracing.FollowQuery{Tier: x.tier, Since: x.begin(), Concurrency: 4}
	var since int64
	var cursor string
	row := x.db.QueryRowContext(ctx, `SELECT since, cursor FROM listings WHERE listing = ? AND tier_id = ?`, listing, x.tier)
	switch err := row.Scan(&since, &cursor); {
	case errors.Is(err, sql.ErrNoRows):
		return follow(q), nil
	case err != nil:
		return nil, err
	case !x.since.IsZero() && x.since.UnixMilli() < since:
		return nil, fmt.Errorf("the database begins at %v: choose another -out for an earlier -since", time.UnixMilli(since).UTC())
	}
	err := q.Resume.UnmarshalText([]byte(cursor)) // empty if nothing was read yet
	return follow(q), err
}

// catchUp stores what has finished since the follower's position, each entry with the position after it.
func catchUp[T any](ctx context.Context, x *export, listing string, follower *horseracing.Follower[T], insert func(*sql.Tx, *T) error) error {
	stored := 0
	for entry, err := range follower.CatchUp(ctx) {
		if err != nil {
			return err
		}
		if err := x.save(ctx, listing, follower.Cursor(), func(tx *sql.Tx) error { return insert(tx, entry) }); err != nil {
			return err
		}
		if stored++; stored%1000 == 0 {
			log.Printf("%d %s so far", stored, listing)
		}
	}
	if stored > 0 {
		log.Printf("%d new %s", stored, listing)
	}
	return x.save(ctx, listing, follower.Cursor(), func(*sql.Tx) error { return nil })
}

// skip remembers an entry that cannot be read. The client calls it while catchUp loops.
func (x *export) skip(_ context.Context, err error) {
	log.Print("not read: ", err)
	x.skipped = append(x.skipped, err)
	x.lost++
}

// save stores an entry, those that could not be read before it, and the position after them in
// one transaction.
func (x *export) save(ctx context.Context, listing string, cursor horseracing.Cursor, insertEntry func(*sql.Tx) error) error {
	err := x.transact(ctx, func(tx *sql.Tx) error {
		if err := insertEntry(tx); err != nil {
			return err
		}
		for _, err := range x.skipped {
			var raw json.RawMessage
			if broken, ok := errors.AsType[*horseracing.DecodeError](err); ok {
				raw = broken.Raw
			}
			if err := insert(tx, "unreadable", err.Error(), string(raw)); err != nil {
				return err
			}
		}
		if err := insert(tx, "listings", listing, x.tier, x.service, x.begin().UnixMilli(), ""); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE listings SET cursor = ? WHERE listing = ? AND tier_id = ?`, cursor.String(), listing, x.tier)
		return err
	})
	if err == nil {
		x.skipped = nil
	}
	return err
}

// transact calls f within a transaction, which is committed unless f fails.
func (x *export) transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// insert adds a row, unless it is there.
func insert(tx *sql.Tx, table string, values ...any) error {
	_, err := tx.Exec(`INSERT INTO `+table+` VALUES (?`+strings.Repeat(", ?", len(values)-1)+`) ON CONFLICT DO NOTHING`, values...)
	if err != nil {
		return fmt.Errorf("table %s: %w", table, err)
	}
	return nil
}

func (x *export) insertRace(tx *sql.Tx, r *horseracing.Race) error {
	start := millis(r.StartTime.Time)
	err := insert(tx, "races", r.MainRaceID, start, x.tier, millis(r.RegistrationDeadline.Time),
		r.Info.Name, r.Info.HippodromeName, r.Info.HippodromeType, r.Info.Turf, r.Type, r.Length, r.Places, r.MinLevel, r.MaxLevel,
		r.V2, r.NoEquipment, amount(r.EntryFee), digits(r.Prizes), list(r.FinalOrder), list(r.Winners))
	if err != nil {
		return err
	}
	places := map[horseracing.HorseNumber]int{}
	if finishers, err := r.Finishers(); err == nil { // else final_order shows why there are none
		for i, p := range finishers {
			places[p.Number] = i + 1
		}
	}
	for i, p := range r.Participants {
		place := sql.Null[int]{V: places[p.Number], Valid: places[p.Number] > 0}
		if err := insert(tx, "participants", r.MainRaceID, start, i, p.Number, p.Lane, p.Total, place); err != nil {
			return err
		}
	}
	return nil
}

func insertTournament(tx *sql.Tx, t *horseracing.Tournament) error {
	return insert(tx, "tournaments", t.ID, t.Tier, millis(t.StartTime.Time), t.Name, t.HippodromeName, t.Type, t.Length, t.Places,
		amount(t.EntryFee), digits(t.Prizes), list(t.Stages), list(t.Participants))
}

// amount returns an amount as its column has it.
func amount(b horseracing.BigInt) string { return fmt.Sprintf("%40s", b.String()) }

// digits returns amounts as a list of strings, since readers of JSON round large numbers.
func digits(amounts []horseracing.Number) string {
	texts := []string{}
	for _, n := range amounts {
		texts = append(texts, n.FormatUnits(0))
	}
	return list(texts)
}

func list[T any](of []T) string {
	text, _ := json.Marshal(append([]T{}, of...)) // the types of this program always encode
	return string(text)
}

// millis returns the milliseconds since the epoch, or 0 if there is no time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// addHorses stores the horses that ran and are not stored yet.
func (x *export) addHorses(ctx context.Context) error {
	var text []byte
	var missing []horseracing.HorseNumber
	row := x.db.QueryRowContext(ctx, `SELECT json_group_array(DISTINCT horse) FROM participants WHERE horse NOT IN (SELECT number FROM horses)`)
	if err := row.Scan(&text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &missing); err != nil {
		return err
	}
	for _, number := range missing {
		h, err := x.client.Horses.Get(ctx, number, horseracing.AsBackground())
		if errors.Is(err, horseracing.ErrNotFound) {
			log.Print(err)
			continue
		}
		if err != nil {
			return err
		}
		err = x.transact(ctx, func(tx *sql.Tx) error {
			return insert(tx, "horses", h.Number, h.Name, h.Gender, h.Breed, h.Tier, h.Generation, h.Level, h.Height, h.Weight, list(h.Appearance))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addRegistrations stores the entries of a ledger in place of those stored before.
func (x *export) addRegistrations(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", uri(path, "mode=rw&_pragma=busy_timeout(5000)"))
	if err != nil {
		return err
	}
	defer db.Close()
	entries, err := ledger.Read(ctx, db)
	if err != nil {
		return err
	}
	return x.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec(`DELETE FROM registrations`); err != nil {
			return err
		}
		for _, e := range entries {
			if err := insert(tx, "registrations", e.Race, e.Horse, e.Time.UnixMilli(), string(e.State), amount(e.Fee)); err != nil {
				return err
			}
		}
		return nil
	})
}
