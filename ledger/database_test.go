package ledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
	"github.com/horseracing-go/horseracing/ledger/sqlite"
)

// asPostgres has the address of a PostgreSQL server with which the tests run, instead of SQLite. asPragmas are
// further pragmas of SQLite.
const asPostgres, asPragmas = "HORSERACING_LEDGER_POSTGRES", "HORSERACING_LEDGER_PRAGMAS"

var isPostgres = os.Getenv(asPostgres) != ""

var schemas atomic.Int64

// newAddress returns the address of an empty database, which is removed after the test.
func newAddress(t testing.TB) string {
	t.Helper()
	if !isPostgres {
		file := url.URL{Path: filepath.Join(t.TempDir(), "races.db")} // with the # of a test's name
		return "file:" + file.EscapedPath() + "?mode=rwc&_pragma=busy_timeout(5000)&_pragma=synchronous(EXTRA)" + os.Getenv(asPragmas)
	}
	name := fmt.Sprintf("t%d_%d", os.Getpid(), schemas.Add(1))
	server := double.Must(sql.Open("pgx", os.Getenv(asPostgres)))
	double.Must(server.Exec(`CREATE SCHEMA ` + name))
	t.Cleanup(func() {
		_, err := server.Exec(`DROP SCHEMA ` + name + ` CASCADE`)
		expectError(t, nil, errors.Join(err, server.Close()))
	})
	address := double.Must(url.Parse(os.Getenv(asPostgres)))
	query := address.Query()
	query.Set("search_path", name)
	address.RawQuery = query.Encode()
	return address.String()
}

// connect opens the database at an address, until the test ends.
func connect(t testing.TB, address string) *sql.DB {
	db := dial(address)
	t.Cleanup(func() { db.Close() })
	return db
}

func dial(address string) *sql.DB {
	driver := "sqlite"
	if strings.HasPrefix(address, "postgres") {
		driver = "pgx"
	}
	return double.Must(sql.Open(driver, address))
}

// create makes a ledger in an empty database.
func create(t testing.TB, client *horseracing.Client) *sql.DB {
	t.Helper()
	db := connect(t, newAddress(t))
	double.NoError(t, ledger.Create(t.Context(), db, client))
	return db
}

// write changes tables as a user may.
func write(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(statement, err)
	}
}

// insertAt adds an entry of the first horse.
func insertAt(t testing.TB, db *sql.DB, sent string, race int, state ledger.State) {
	t.Helper()
	write(t, db, `INSERT INTO horseracing_entries (horse, race, sent_at, fee, state, note) VALUES (1, $1, $2, '10', $3, '')`, race, double.Must(time.Parse(time.RFC3339, sent)).UnixMicro(), string(state))
}

// insert adds an entry that was sent at a second of its own.
func insert(t testing.TB, db *sql.DB, race int, state ledger.State) {
	t.Helper()
	insertAt(t, db, fmt.Sprintf("2000-01-01T00:00:%02dZ", race), race, state)
}

func read(t testing.TB, db *sql.DB) []ledger.Entry {
	t.Helper()
	return double.Must(ledger.Read(t.Context(), db))
}

func entries(l *ledger.Ledger) []ledger.Entry {
	return double.Must(l.Entries(context.Background()))
}

func TestOpenNeedsTheTablesThatCreateMakesOnce(t *testing.T) {
	client := newFake(t, 0).Client()
	for name, test := range map[string]struct {
		statement string // of somebody else
		want      error
		problem   string
	}{
		"as it was created":  {`SELECT 1`, nil, ""},
		"emptied":            {`DELETE FROM horseracing_ledger`, cmpopts.AnyError, "restore it, or call Create"},
		"without its table":  {`DROP TABLE horseracing_ledger`, cmpopts.AnyError, "restore it, or call Create"},
		"of another version": {`UPDATE horseracing_ledger SET version = 2`, cmpopts.AnyError, "format version 2"},
		"of another service": {`UPDATE horseracing_ledger SET service = 'https://other.example'`, cmpopts.AnyError, "https://other.example"},
	} {
		t.Run(name, func(t *testing.T) {
			db := connect(t, newAddress(t))
			_, err := ledger.Open(t.Context(), db, client)
			expectError(t, cmpopts.AnyError, err, "restore it, or call Create")
			double.NoError(t, ledger.Create(t.Context(), db, client))
			insert(t, db, 1, ledger.Entered)
			expectError(t, cmpopts.AnyError, ledger.Create(t.Context(), db, client), "if it exists, open it")
			double.Equal(t, "entries", 1, len(read(t, db)))
			write(t, db, test.statement)
			_, err = ledger.Open(t.Context(), db, client)
			expectError(t, test.want, err, test.problem)
			_, err = ledger.Open(t.Context(), db, client, ledger.WithDailyBudget(tokens(1), nil)) // without a location
			expectError(t, horseracing.ErrInvalidArgument, err)
		})
	}
}

func TestOneOfManyProgramsCreatesTheLedger(t *testing.T) {
	address, client := newAddress(t), newFake(t, 0).Client()
	var creating sync.WaitGroup
	var created atomic.Int32
	for range 8 {
		db := connect(t, address)
		creating.Go(func() {
			if ledger.Create(context.Background(), db, client) == nil {
				created.Add(1)
			}
		})
	}
	creating.Wait()
	double.Equal(t, "created", int32(1), created.Load())
	double.Must(ledger.Open(t.Context(), connect(t, address), client))
}

// The tables refuse what is not an entry, and what they cannot refuse stops the registrations.
func TestAnEntryThatCannotBeReadStopsTheRegistrations(t *testing.T) {
	fake, db, l := newLedger(t, 2, ledger.WithBudget(tokens(100)))
	for _, values := range []string{`(0, 1, 0, '10', 'entered', '')`, `(1, 0, 0, '10', 'entered', '')`, `(1, 1, 0, '10', 'paid', '')`, `(1, 1, 0, NULL, 'entered', '')`} {
		if _, err := db.Exec(`INSERT INTO horseracing_entries (horse, race, sent_at, fee, state, note) VALUES ` + values); err == nil {
			t.Error("the table accepts", values)
		}
	}
	for _, fee := range []string{"ten", "-10", ""} {
		write(t, db, `INSERT INTO horseracing_entries (horse, race, sent_at, fee, state, note) VALUES (1, 1, 0, $1, 'entered', '')`, fee)
		_, err := register(t, l, fake, 2)
		expectError(t, cmpopts.AnyError, err, "is not a fee")
		write(t, db, `DELETE FROM horseracing_entries`)
	}
	expectSent(t, fake, 0)
}

// A note has what the service sent.
func TestANoteOfAnyTextIsRecorded(t *testing.T) {
	fake, db, l := newLedger(t, 1)
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 403, Body: "no\x00 \xff'; DROP TABLE horseracing_entries; -- \u2028 馬"})
	e, err := register(t, l, fake, 1)
	expectError(t, horseracing.ErrForbidden, err)
	double.Equal(t, "state", ledger.Refused, e.State)
	double.Equal(t, "state in the database", ledger.Refused, read(t, db)[0].State)
}

// What was paid before stays in mind.
func TestNothingIsSentOnceTheTablesAreGoneOrOlderOrTheDatabaseIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, db *sql.DB)
		want   string
	}{
		"dropped": {func(t *testing.T, db *sql.DB) { write(t, db, `DROP TABLE horseracing_ledger`) }, "horseracing_ledger"},
		"emptied": {func(t *testing.T, db *sql.DB) { write(t, db, `DELETE FROM horseracing_ledger`) }, "no ledger"},
		"older":   {func(t *testing.T, db *sql.DB) { write(t, db, `UPDATE horseracing_ledger SET writes = writes - 1`) }, "older copy"},
		"closed":  {func(t *testing.T, db *sql.DB) { db.Close() }, "closed"},
	} {
		double.Run(t, name, func(t *testing.T) {
			fake, db, l := newLedger(t, 3)
			lose(t, fake, l, lostResponse, 1)
			fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				test.change(t, db)
				return horseracingtest.Response{}, false
			})
			e, err := register(t, l, fake, 2) // it is changed while this is sent
			double.Equal(t, "state", ledger.Entered, e.State)
			expectError(t, cmpopts.AnyError, err, test.want, "it is entered, but this could not be recorded")
			_, err = register(t, l, fake, 3)
			for _, err := range []error{err, l.Decide(t.Context(), fake.Horses(0)[0], 1, ledger.Entered, ""), l.Settle(t.Context())} {
				expectError(t, cmpopts.AnyError, err, test.want)
			}
			expectSent(t, fake, 2)
		})
	}
}

// Neither many registrations at once nor one connection for all of them are in their own way, and other statements of
// the program find a connection.
func TestOneProcessIsNeverInItsOwnWay(t *testing.T) {
	for connections, calls := range map[int]int{1: 40, 2: 40, 0: 120} {
		t.Run(fmt.Sprint(connections), func(t *testing.T) {
			fake, db, l := newLedger(t, calls, ledger.WithBudget(tokens(10_000)), ledger.WithDailyBudget(tokens(10_000), time.UTC))
			db.SetMaxOpenConns(connections)
			write(t, db, `CREATE TABLE mine (n BIGINT)`)
			fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				write(t, db, `INSERT INTO mine VALUES (1)`) // no transaction is open
				return horseracingtest.Response{}, false
			})
			ctx := double.Within(t, time.Minute)
			var registering sync.WaitGroup
			for race := range calls {
				registering.Go(func() {
					_, err := l.Register(ctx, registration(fake, 1+race), tokens(10))
					expectError(t, nil, err)
				})
				registering.Go(func() {
					if err := l.Settle(ctx); err != nil { // of those that are being sent
						expectError(t, horseracing.ErrOutcomeUnknown, err)
						double.Equal(t, "is in use", false, errors.Is(err, ledger.ErrInUse))
					}
				})
				registering.Go(func() { double.Must(l.Entries(ctx)) })
			}
			registering.Wait()
			double.Equal(t, "registrations", calls, len(fake.Registrations()))
			double.Equal(t, "connections that are in use", 0, db.Stats().InUse)
		})
	}
}

// A program that calls the ledger while it holds the only connection waits in vain, but not forever.
func TestTheOnlyConnectionInUseIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, db, l := newLedger(t, 1)
		db.SetMaxOpenConns(1)
		tx := double.Must(db.Begin())
		_, err := register(t, l, fake, 1)
		expectError(t, ledger.ErrInUse, err)
		double.NoError(t, tx.Rollback())
		double.Must(register(t, l, fake, 1))
	})
}

// failingConnector makes connections to a database whose next commits fail, perhaps after their effect.
type failingConnector struct {
	next      driver.Driver
	address   string
	hasEffect bool
	failures  atomic.Int32
}

var errLostConnection = errors.New("the connection was lost during the commit")

func (c *failingConnector) Driver() driver.Driver { return c.next }

func (c *failingConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.next.Open(c.address)
	return &failingConn{conn, c}, err
}

type failingConn struct {
	driver.Conn
	*failingConnector
}

func (c *failingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return &failingTx{tx, c.failingConnector}, err
}

type failingTx struct {
	driver.Tx
	*failingConnector
}

func (t *failingTx) Commit() error {
	if t.failures.Add(-1) < 0 {
		return t.Tx.Commit()
	}
	err := t.Tx.Rollback
	if t.hasEffect {
		err = t.Tx.Commit
	}
	return errors.Join(errLostConnection, err())
}

// A commit whose error may come after its effect: the registration is not sent, and its entry is refused at once.
func TestACommitWithAnErrorSendsNothing(t *testing.T) {
	for _, hasEffect := range []bool{false, true} {
		t.Run(fmt.Sprint(hasEffect), func(t *testing.T) {
			fake := newFake(t, 2)
			address := newAddress(t)
			double.NoError(t, ledger.Create(t.Context(), connect(t, address), fake.Client()))
			c := &failingConnector{next: connect(t, address).Driver(), address: address, hasEffect: hasEffect}
			db := sql.OpenDB(c)
			t.Cleanup(func() { db.Close() })
			l := open(db, fake.Client(), ledger.WithBudget(tokens(10)))
			c.failures.Store(1)
			e, err := register(t, l, fake, 1)
			expectError(t, errLostConnection, err)
			double.Equal(t, "entry", ledger.Entry{}, e)
			expectSent(t, fake, 0)
			if found := read(t, db); hasEffect {
				double.Equal(t, "state", ledger.Refused, found[0].State)
			} else {
				double.Equal(t, "entries", 0, len(found))
			}
			c.failures.Store(2) // also of the first transaction that notes it as refused
			_, err = register(t, l, fake, 2)
			expectError(t, errLostConnection, err)
			double.Must(register(t, l, fake, 1)) // within the budget
			expectSent(t, fake, 1)
		})
	}
}

// Whatever somebody else holds for too long, no call says "database is locked", or waits forever.
func TestWhatIsLockedIsInUse(t *testing.T) {
	t.Parallel() // it waits in real time, as drivers do
	lock := `BEGIN EXCLUSIVE`
	if isPostgres {
		lock = `BEGIN; LOCK TABLE horseracing_ledger, horseracing_entries IN ACCESS EXCLUSIVE MODE`
	}
	fake, address := newFake(t, 1), newAddress(t)
	db, ctx := connect(t, address), double.Within(t, time.Minute)
	double.NoError(t, ledger.Create(ctx, db, fake.Client()))
	calls := map[string]func(*ledger.Ledger) error{
		"Create":   func(*ledger.Ledger) error { return ledger.Create(ctx, db, fake.Client()) },
		"Open":     func(*ledger.Ledger) error { _, err := ledger.Open(ctx, db, fake.Client()); return err },
		"Read":     func(*ledger.Ledger) error { _, err := ledger.Read(ctx, db); return err },
		"Register": func(l *ledger.Ledger) error { _, err := register(t, l, fake, 1); return err },
		"Check":    func(l *ledger.Ledger) error { return l.Check(ctx, registration(fake, 1), tokens(10)) },
		"Settle":   func(l *ledger.Ledger) error { return l.Settle(ctx) },
		"Decide":   func(l *ledger.Ledger) error { return l.Decide(ctx, 1, 1, ledger.Absent, "") },
		"Entries":  func(l *ledger.Ledger) error { _, err := l.Entries(ctx); return err },
		"Paid":     func(l *ledger.Ledger) error { _, err := l.Paid(ctx, time.Time{}); return err },
	}
	holder := double.Must(connect(t, address).Conn(ctx))
	defer holder.Close()
	ledgers := map[string]*ledger.Ledger{}
	for name := range calls {
		ledgers[name] = open(db, fake.Client())
	}
	if isPostgres {
		delete(calls, "Create") // the tables exist, which needs no lock
	}
	double.Must(holder.ExecContext(ctx, lock))
	var calling sync.WaitGroup
	for name, call := range calls {
		calling.Go(func() {
			began := time.Now()
			err := call(ledgers[name])
			double.Equal(t, name+" is an ErrInUse", true, errors.Is(err, ledger.ErrInUse))
			double.Equal(t, name+" takes", 5*time.Second, time.Since(began).Round(5*time.Second))
		})
	}
	calling.Wait()
	double.Must(holder.ExecContext(ctx, `ROLLBACK`))
	double.Must(register(t, ledgers["Register"], fake, 1))
}

func TestAFileOfAnyNameIsOpenedWithSyncs(t *testing.T) {
	for _, name := range []string{"races.db", "what?#%41 &mode=ro.db", "馬.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := double.Must(sqlite.Open(path))
		defer db.Close()
		var synchronous, timeout int
		double.NoError(t, errors.Join(db.QueryRow(`PRAGMA synchronous`).Scan(&synchronous), db.QueryRow(`PRAGMA busy_timeout`).Scan(&timeout)))
		double.Equal(t, "synchronous and busy_timeout", []int{3, 5000}, []int{synchronous, timeout})
		write(t, db, `CREATE TABLE t (n BIGINT)`)
		double.Must(os.Stat(path))
	}
}

// It is in this package because the tests of the root do without a driver. The columns of SQLite and of PostgreSQL
// are of other types, so that what is stored in them is read in every form.
func TestARaceIsReadBackFromADatabaseAsItWas(t *testing.T) {
	db := connect(t, newAddress(t))
	amount, instants := "TEXT", []string{"TIMESTAMP", "TIMESTAMPTZ", "TEXT"}
	if isPostgres {
		amount, instants = "NUMERIC", []string{"TIMESTAMPTZ"}
	}
	want := horseracing.Race{MainRaceID: 7, Tier: horseracing.TierNameOmega, Prizes: make([]horseracing.Number, 3)}
	want.StartTime = horseracing.NewTimestamp(time.UnixMilli(1767312000123))
	double.NoError(t, want.EntryFee.UnmarshalText([]byte("123456789012345678901234567890")))
	for i, prize := range []string{"12.50", "-2500000000000000000001", "7"} {
		double.NoError(t, want.Prizes[i].UnmarshalText([]byte(prize)))
	}
	cursor := newFake(t, 0).Client().Races.Results(horseracing.ResultsQuery{Before: want.StartTime.Time}).Cursor()
	for _, instant := range instants {
		write(t, db, `CREATE TABLE races (id BIGINT, start_time `+instant+`, deadline `+instant+`, tier TEXT, fee `+amount+`, first TEXT, second `+amount+`, third BIGINT, resume TEXT)`)
		write(t, db, `INSERT INTO races VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			want.MainRaceID, want.StartTime, want.RegistrationDeadline, want.Tier, want.EntryFee, want.Prizes[0], want.Prizes[1], want.Prizes[2], cursor)
		got, resume := horseracing.Race{Prizes: make([]horseracing.Number, 3)}, horseracing.Cursor{}
		double.NoError(t, db.QueryRow(`SELECT * FROM races`).Scan(&got.MainRaceID, &got.StartTime, &got.RegistrationDeadline, &got.Tier,
			&got.EntryFee, &got.Prizes[0], &got.Prizes[1], &got.Prizes[2], &resume))
		double.Equal(t, "race with times as "+instant, want, got)
		double.Equal(t, "cursor", cursor, resume)
		var fee horseracing.BigInt
		err := db.QueryRow(`SELECT CAST(fee AS DOUBLE PRECISION) FROM races`).Scan(&fee)
		double.FailIf(t, err == nil, "a float is read as a fee: %v", fee)
		write(t, db, `DROP TABLE races`)
	}
}

// BenchmarkOpenAndRegister shows what a ledger costs that has many entries.
func BenchmarkOpenAndRegister(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		for name, opts := range map[string][]ledger.Option{"": nil, " with budgets": {ledger.WithBudget(tokens(10_000_000)), ledger.WithDailyBudget(tokens(10_000_000), time.UTC)}} {
			b.Run(fmt.Sprint(n, " entries", name), func(b *testing.B) {
				fake := newFake(b, b.N)
				db := create(b, fake.Client())
				write(b, db, `INSERT INTO horseracing_entries (horse, race, sent_at, fee, state, note) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
SELECT 77, i, $2 - i * CAST(860000000 AS BIGINT), CAST(10 + i % 5 AS TEXT), CASE WHEN i % 4 = 0 THEN 'refused' ELSE 'entered' END, '' FROM n`, n, time.Now().Add(-time.Minute).UnixMicro())
				b.ResetTimer()
				for race := range b.N {
					double.Must(register(b, open(db, fake.Client(), opts...), fake, 1+race))
				}
			})
		}
	}
}
