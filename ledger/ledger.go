// Package ledger registers horses so that no fee is paid twice and no budget is exceeded, even if
// programs are killed or responses are lost.
//
// A [Ledger] is two tables in a database that the caller opens: in SQLite for the processes of a computer, or in
// PostgreSQL for those of several. Any number of processes can use it. Just before [Ledger.Register] sends
// a registration, it checks the pair of horse and race and the budgets, and adds an entry with the state [Sending],
// in a transaction that excludes other writers. It sends only once that transaction is committed. Before, it reads the
// race: if the race lists the horse already, or has another fee, nothing is sent. Once the outcome is
// known, another transaction notes it. No transaction is open during a request. A pair whose state is Sending,
// [Unknown] or [Entered] is not sent again by any process, and its fee counts against the budgets. So the worst
// that a killed program leaves is an outcome that has to be looked up. [Ledger.Settle] reads such an outcome
// from the race; a bot calls it each minute or so while it continues with other races.
// [Ledger.Decide] records an outcome that a person found out in the game. Hours may pass until
// a race lists its horses, so choose budgets that leave room for the fees of a few such
// registrations.
//
// [Create] makes the tables, once. [Open] returns an error if they are not there, so a database that was lost or
// emptied never is a new ledger. If an old copy was restored while no program was running, only the races notice it,
// once they list their horses.
//
// What is committed must survive a loss of power. Package [github.com/horseracing-go/horseracing/ledger/sqlite] opens
// files of SQLite so, which are for local disks. In PostgreSQL, synchronous_commit must not be off:
//
//	db, err := sql.Open("pgx", "postgres://bots@db.example/races") // of github.com/jackc/pgx/v5/stdlib
//
// A Ledger uses one connection at a time, so limit the pool (SetMaxOpenConns) only if the rest of the program needs it.
// Behind pgbouncer add default_query_exec_mode=exec to the address.
//
// A call waits for other calls of the same Ledger as long as its context allows, and then at most five seconds
// for transactions elsewhere, with [ErrInUse] after that; [Ledger.Register] says how long it waits once it has sent.
package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/registration"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// Sentinels for errors.Is. If an error matches one of them, nothing was sent by the call that returned it.
var (
	ErrInUse     = errors.New("the ledger is in use")                              // for five seconds another transaction was in the way, or the database had no connection free
	ErrFee       = errors.New("fee not allowed")                                   // over WithMaxFee, not positive, longer than 100 digits, or not the fee of the race
	ErrEntered   = errors.New("the horse is already entered")                      // the entry is Entered, or the race lists the horse: its fee is paid
	ErrUnsettled = errors.New("the outcome of an earlier registration is unknown") // the entry is Sending or Unknown
	ErrBudget    = errors.New("the fee would exceed the budget")                   // set with WithBudget or WithDailyBudget
)

// ErrUnrecorded means that an outcome, which the entry has that was returned, could not be written. The entry in the
// database stays Sending until Settle or Decide.
var ErrUnrecorded = errors.New("this could not be recorded")

// Entry is the registration of a horse in a race.
type Entry struct {
	Time  time.Time               `json:"time"` // when it was noted as Sending
	Horse horseracing.HorseNumber `json:"horse"`
	Race  horseracing.RaceID      `json:"race"`
	Fee   horseracing.BigInt      `json:"fee"`
	State State                   `json:"state"`
	Note  string                  `json:"note,omitzero"` // reason for the state; often empty
}

// State is the state of an entry.
type State string

// The states of an entry.
const (
	Sending State = "sending" // being sent, or the program was killed before it recorded the outcome; the fee may be paid
	Entered State = "entered" // the horse is in the race and the fee is paid
	Refused State = "refused" // refused by the service, or certainly not sent
	Unknown State = "unknown" // the fee may be paid
	Absent  State = "absent"  // the horse is certainly not in the race
)

// mayBePaid reports whether the fee may be paid.
func (e Entry) mayBePaid() bool { return e.State == Sending || e.State == Unknown }

// Ledger records registrations in a database. Its methods are safe for concurrent use. It needs no closing; the
// database is closed by the caller, after all calls of Register and Settle have returned.
type Ledger struct {
	db      *sql.DB
	client  *horseracing.Client
	service string // the client's base URL

	total, perDay, maxFee *horseracing.BigInt // nil if not set
	location              *time.Location      // of the days
	freeRaces             bool
	withoutLook           bool

	turn   chan struct{} // has a value while a call of this Ledger uses the database
	writes int64         // how many the ledger had after this Ledger wrote last, belongs to turn
}

func newLedger(db *sql.DB) *Ledger {
	return &Ledger{db: db, location: time.UTC, turn: make(chan struct{}, 1)}
}

// Open opens the ledger that [Create] made in a database. Registrations are sent with client. Open writes
// nothing. The error matches ErrInvalidArgument if the ledger was made for another base URL. One connection of db
// is enough (SetMaxOpenConns(1)), as long as the caller calls no method while it holds that one. If an entry has a
// time in the future, because a clock was ahead, it counts against the budget of every day until that time.
func Open(ctx context.Context, db *sql.DB, client *horseracing.Client, opts ...Option) (*Ledger, error) {
	l := newLedger(db)
	l.client, l.service = client, client.BaseURL()
	for _, opt := range opts {
		opt(l)
	}
	if l.location == nil {
		return nil, fmt.Errorf("ledger: %w: the location of WithDailyBudget is nil", horseracing.ErrInvalidArgument)
	}
	if err := l.verify(ctx); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l, nil
}

// Read returns the entries of the ledger in a database, as [Ledger.Entries] does. It needs no client.
func Read(ctx context.Context, db *sql.DB) ([]Entry, error) {
	l := newLedger(db) // of any service
	if err := l.verify(ctx); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l.Entries(ctx)
}

// Check returns nil if Register would send the registration now, or else the error with
// which Register would refuse it. It writes nothing, and does not look at the race.
func (l *Ledger) Check(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt) error {
	_, err := l.precheck(ctx, r, fee)
	return err
}

// precheck is check outside of a transaction.
func (l *Ledger) precheck(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt) (e Entry, err error) {
	if ctx == nil {
		return Entry{}, fmt.Errorf("ledger: %w: the context is nil", horseracing.ErrInvalidArgument)
	}
	err = l.alone(ctx, func(ctx context.Context) (err error) {
		e, err = l.check(ctx, l.db, r, fee)
		return err
	})
	return e, named(r.Horse, r.Race, err)
}

// maxDigits is the length of the longest fee that can be read again.
const maxDigits = 100

// check returns the entry of a registration that may be sent now. With ErrEntered and
// ErrUnsettled it returns the existing entry.
func (l *Ledger) check(ctx context.Context, q querier, r horseracing.Registration, fee horseracing.BigInt) (Entry, error) {
	sign := fee.Cmp(horseracing.BigInt{})
	switch {
	case r.Horse < 1 || r.Race < 1 || r.UserKey == "":
		return Entry{}, fmt.Errorf("%w: a registration needs a horse, a race and a user key", horseracing.ErrInvalidArgument)
	case sign < 0 || len(fee.String()) > maxDigits:
		return Entry{}, fmt.Errorf("%w: it is negative, or has more than %d digits", ErrFee, maxDigits)
	case sign == 0 && !l.freeRaces:
		return Entry{}, fmt.Errorf("%w: it is zero, perhaps because the service left the fee out; WithFreeRaces allows it", ErrFee)
	case l.maxFee != nil && fee.Cmp(*l.maxFee) > 0:
		return Entry{}, &LimitError{Err: ErrFee, Amount: fee, Limit: *l.maxFee}
	}
	known, err := get(ctx, q, r.Horse, r.Race)
	switch {
	case err != nil:
		return Entry{}, err
	case known.State == Entered:
		return known, ErrEntered
	case known.mayBePaid():
		return known, fmt.Errorf("%w (state %s); call Settle, or Decide if you know the outcome", ErrUnsettled, known.State)
	}
	e := Entry{Time: time.Now().UTC().Truncate(time.Microsecond), Horse: r.Horse, Race: r.Race, Fee: fee, State: Sending}
	if err := l.checkBudgets(ctx, q, e); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// Register checks the fee, the existing entries and the budgets. If nothing forbids the
// registration, Register sends it and records its outcome. fee is the race's entry fee. Just before the
// registration is sent, after the client has waited for its turn, Register looks at the race, which takes one request
// past caches, and checks entries and budgets again, together with what other processes wrote. If the race lists
// the horse already, the error is ErrEntered; if its fee is not fee, ErrFee; if it cannot be read, the error says so.
// In these cases nothing is sent or written. If the registration is sent again, after a status 429 or because
// there was no connection, and the look is 30 seconds old, Register looks again: if the fee has changed or the race cannot be read,
// it does not send again, and if the race lists the horse, the entry is Entered.
//
// If the error is nil, the returned entry is Entered. If it matches ErrOutcomeUnknown, the
// entry is Unknown: call [Ledger.Settle] at once, and again when its error says so. If it
// matches [ErrEntered] or [ErrUnsettled], nothing was sent, and the entry is the existing one.
// If the ledger refuses for another reason, such as ErrFee or ErrBudget, the entry is zero.
// After any other error the entry is Refused, the fee is not paid, and the pair can be
// registered again. If no request was made, for example because the service refuses requests
// at the moment, the Refused entry is not written to the database.
//
// A refusal with a status from 400 to 499 except 429 may mean that the horse is registered already, because
// a proxy has sent the request twice. So Register then reads the race once, with
// [horseracing.RacesService.Registered]. If the race lists the horse, the entry is Entered and the
// error is nil. If the race was read and does not list the horse so far, or if there is no such
// race, the entry is Refused; but after a 409 it is Unknown, unless others have taken all places of the race. If the
// race cannot be read, or if its response is from a cache (with an Age above zero) and does not list the horse, the
// entry is Unknown.
//
// If ctx ends while an attempt is being made, Register still waits for the response, though no
// longer than an attempt may take, and records the outcome that it shows. Without a response
// the outcome is unknown, and errors.Is also finds the error of ctx. No other attempt follows.
// Register still reads the race if the registration was refused, for at most 30 seconds, and still writes the
// outcome. If it cannot be written, Register tries again for 20 seconds, as a database server may be restarting; then
// the error matches [ErrUnrecorded]. It tries as long if the commit before the request failed, after which nothing is sent. So Register returns at most 90 seconds after ctx has ended, unless
// [horseracing.WithAttemptTimeout] is longer than 30 seconds.
func (l *Ledger) Register(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt, opts ...horseracing.CallOption) (entry Entry, err error) {
	if entry, err = l.precheck(ctx, r, fee); err != nil {
		return entry, err
	}
	isSent, isListed := false, false
	var refusal error // by this ledger
	var looked time.Time
	awaiting := registration.BeforeRetry(transport.Await(ctx), func() error {
		if time.Since(looked) < freshLook {
			return nil
		}
		looked = time.Now()
		_, err := l.look(ctx, r, fee)
		if isListed = errors.Is(err, ErrEntered); err == nil {
			return nil
		}
		return cmp.Or(ctx.Err(), fmt.Errorf("it was not sent again: %v", err)) //nolint:errorlint // the sentinels mean that nothing was sent
	})
	_, err = l.client.Races.Register(awaiting, r, append(slices.Clip(opts), horseracing.OnSend(func() error {
		looked = time.Now()
		if entry, refusal = l.look(ctx, r, fee); refusal == nil {
			entry, refusal = l.send(ctx, r, fee)
		}
		isSent = refusal == nil
		return refusal
	}))...)
	switch {
	case refusal != nil:
		return entry, refusal
	case !isSent:
		entry.State, entry.Note = Refused, err.Error()
		return entry, err
	}
	entry.Note = note(err)
	if entry.State, err = l.outcome(ctx, r, err); isListed {
		entry.State = Entered
	}
	entry, failed := l.record(ctx, entry)
	if entry.State == Entered {
		err = nil
	}
	return entry, errors.Join(failed, err)
}

// freshLook is how old a look may be when a registration is sent again. If the service accepts one request at a time,
// a look before each retry would take the place of the registration, again and again.
const freshLook = 30 * time.Second

// note returns why a registration ended so. It is read by people, so the advice of an
// ErrOutcomeUnknown, which is for programmers, is left out.
func note(err error) string {
	if err == nil {
		return ""
	}
	if unknown, ok := err.(interface{ Unwrap() []error }); ok && errors.Is(err, horseracing.ErrOutcomeUnknown) {
		causes := unknown.Unwrap()
		err = causes[len(causes)-1]
	}
	return err.Error()
}

// send records that a registration is being sent now. With ErrEntered and ErrUnsettled it
// returns the existing entry. If the entry may be there although the commit failed, it is Refused, as it is
// certainly not sent. If that cannot be written either, it stays Sending until Settle finds that it is absent.
func (l *Ledger) send(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt) (entry Entry, err error) {
	err = l.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if entry, err = l.check(ctx, tx, r, fee); err == nil {
			err = put(ctx, tx, entry)
		}
		return err
	})
	if errors.Is(err, errCommit) {
		entry.State, entry.Note = Refused, "not sent: "+err.Error()
		_, _ = l.record(ctx, entry)
	}
	if err != nil && !errors.Is(err, ErrEntered) && !errors.Is(err, ErrUnsettled) {
		entry = Entry{}
	}
	return entry, named(r.Horse, r.Race, err)
}

// look is the look before paying. It returns an entry only with ErrEntered. OnSend forbids calls with the same client,
// as they may wait for the turn of the one that is being sent; this one waits for that at most five seconds, as rules 2 and 10
// of internal/pace say.
func (l *Ledger) look(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt) (e Entry, err error) {
	if l.withoutLook {
		return Entry{}, nil
	}
	race, err := l.client.Races.Get(registration.Uncached(ctx), r.Race)
	switch {
	case err != nil:
		err = fmt.Errorf("nothing was sent, as the race cannot be read: %w", err)
	case race.MainRaceID != r.Race:
		err = errors.New("nothing was sent, as the race that was read has no id")
	case race.Has(r.Horse):
		e, err = Entry{Horse: r.Horse, Race: r.Race, Fee: fee, State: Entered, Note: "not sent: the race lists the horse already"}, ErrEntered
	case !race.EntryFee.Equal(fee):
		err = fmt.Errorf("%w: the race costs %s now, and not %s, as was passed (in the smallest unit)", ErrFee, race.EntryFee, fee)
	}
	return e, named(r.Horse, r.Race, err)
}

// The end of the caller's context interrupts neither the reading of a race after a refusal, nor the writing of an outcome.
const readingWait, outcomeWait = 30 * time.Second, 20 * time.Second

// outcome returns the state of a registration that was sent, and its error.
func (l *Ledger) outcome(ctx context.Context, r horseracing.Registration, err error) (State, error) {
	api, isAPI := errors.AsType[*horseracing.APIError](err)
	switch {
	case err == nil:
		return Entered, nil
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		return Unknown, fmt.Errorf("%w, or call Ledger.Settle", err)
	case !isAPI || api.StatusCode/100 != 4 || api.StatusCode == http.StatusTooManyRequests:
		return Refused, err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), readingWait)
	defer stop()
	isIn, undecided := l.client.Races.Registered(ctx, r.Race, r.Horse)
	unlisted, isUnlisted := errors.AsType[*registration.NotListedError](undecided)
	switch {
	case isIn:
		return Entered, err
	case undecided != nil && !isUnlisted, isUnlisted && !unlisted.IsFull && api.StatusCode == http.StatusConflict:
		return Unknown, fmt.Errorf("%w: %w; call Ledger.Settle before registering again", horseracing.ErrOutcomeUnknown, err)
	}
	return Refused, err
}

// record is conclude, and tries again for outcomeWait.
func (l *Ledger) record(ctx context.Context, e Entry) (_ Entry, err error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), outcomeWait)
	defer stop()
	for ctx.Err() == nil {
		recorded, failed := l.conclude(ctx, e)
		if failed == nil {
			return recorded, nil
		}
		err = cmp.Or(err, failed)
		time.Sleep(time.Second)
	}
	return e, err
}

// conclude records an outcome, and returns the entry as it is now. What another process
// recorded in the meantime stays, unless e is Entered, which is certain.
func (l *Ledger) conclude(ctx context.Context, e Entry) (Entry, error) {
	now := e
	err := l.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if now, err = get(ctx, tx, e.Horse, e.Race); err != nil {
			return err
		}
		isOurs := now.mayBePaid() && now.Time.Equal(e.Time)
		if isOurs || e.State == Entered && now.State != Entered {
			now = e
			return put(ctx, tx, e)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("it is %s, but %w: %v", e.State, ErrUnrecorded, err) //nolint:errorlint // ErrInUse means that nothing was sent
		return e, named(e.Horse, e.Race, err)
	}
	return now, nil
}

// settleAtOnce is the number of races that Settle reads at the same time.
const settleAtOnce = 8

// Settle reads the race of each Sending and Unknown entry once, with
// [horseracing.RacesService.Registered], at most eight at the same time. A bot calls it each
// minute or so.
//
// The returned error joins the errors of the entries whose outcome stays unknown. In each of
// these errors, errors.As finds a [*horseracing.UndecidedError]. Its RetryAt is when another
// call can find out the outcome. If RetryAt is zero, a person has to look for the horse in the
// game and call [Ledger.Decide].
func (l *Ledger) Settle(ctx context.Context) error {
	undecided, err := l.list(ctx, `state IN ('sending', 'unknown')`)
	if err != nil {
		return err
	}
	errs := make([]error, len(undecided))
	turns := make(chan struct{}, settleAtOnce)
	var settling sync.WaitGroup
	for i, e := range undecided {
		turns <- struct{}{}
		errs[i] = named(e.Horse, e.Race, &horseracing.UndecidedError{RetryAt: time.Now().Add(time.Minute), Err: errors.New("the goroutine that read the race was ended")})
		settling.Go(func() {
			defer func() { <-turns }() // also if the caller's code ends the goroutine
			errs[i] = l.settle(ctx, e)
		})
	}
	settling.Wait()
	return errors.Join(errs...)
}

func (l *Ledger) settle(ctx context.Context, e Entry) error {
	isIn, err := l.client.Races.Registered(ctx, e.Race, e.Horse)
	if err != nil {
		return named(e.Horse, e.Race, err)
	}
	e.State, e.Note = Absent, "settled"
	if isIn {
		e.State = Entered
	}
	if _, err = l.conclude(ctx, e); err != nil {
		return &horseracing.UndecidedError{RetryAt: time.Now().Add(time.Minute), Err: err}
	}
	return nil
}

// Decide sets the state of a Sending or Unknown entry to Entered or Absent, for an outcome
// that was determined by hand. The process that sent it must have ended. Decide returns
// ErrInvalidArgument if state is not Entered or Absent, or if the entry is not Sending or
// Unknown.
func (l *Ledger) Decide(ctx context.Context, horse horseracing.HorseNumber, race horseracing.RaceID, state State, note string) error {
	err := l.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		e, err := get(ctx, tx, horse, race)
		if err != nil {
			return err
		}
		if !e.mayBePaid() || state != Entered && state != Absent {
			return fmt.Errorf("%w: it is %q and cannot become %q: only a sending or unknown entry can become entered or absent", horseracing.ErrInvalidArgument, e.State, state)
		}
		e.State, e.Note = state, note
		return put(ctx, tx, e)
	})
	return named(horse, race, err)
}

// Entries returns the entries, one for each pair with its latest state, in the order in
// which they were sent.
func (l *Ledger) Entries(ctx context.Context) ([]Entry, error) {
	return l.list(ctx, `horse > 0`)
}

func (l *Ledger) list(ctx context.Context, condition string) (entries []Entry, err error) {
	err = l.alone(ctx, func(ctx context.Context) (err error) {
		entries, err = list(ctx, l.db, condition)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return entries, nil
}

// Paid returns the sum of the fees of Entered, Sending and Unknown entries that were sent at
// or after since, which is what the budgets count. If since is zero, all such entries count.
func (l *Ledger) Paid(ctx context.Context, since time.Time) (horseracing.BigInt, error) {
	var paid horseracing.BigInt
	err := l.alone(ctx, func(ctx context.Context) (err error) {
		paid, err = sum(ctx, l.db, sentSince, since.UnixMicro())
		return err
	})
	if err != nil {
		return paid, fmt.Errorf("ledger: %w", err)
	}
	return paid, nil
}

// named adds the pair to an error.
func named(horse horseracing.HorseNumber, race horseracing.RaceID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger: horse %d in race %d: %w", horse, race, err)
}
