// Package ledger registers horses so that no fee is paid twice and no budget is exceeded, even if
// programs are killed or responses are lost.
//
// A [Ledger] is a file of JSON Lines that any number of processes can have open. Just before
// [Ledger.Register] sends a registration, it locks the file, reads what others appended,
// checks the pair of horse and race and the budgets, and appends a line with the state
// [Sending]. Once the outcome is known, it appends another line. Each line is on disk before
// the ledger continues. The file is locked only while a line is checked and written, never
// during a request. A pair whose last line is Sending, [Unknown] or [Entered] is not sent
// again by any process, and its fee counts against the budgets. So the worst that a killed
// program leaves is an outcome that has to be looked up. [Ledger.Settle] reads such an outcome
// from the race; a bot calls it each minute or so while it continues with other races.
// [Ledger.Decide] records an outcome that a person found out in the game. Hours may pass until
// a race lists its horses, so choose budgets that leave room for the fees of a few such
// registrations. A lock file beside the ledger records how many bytes were written. If the
// ledger was emptied, replaced by a shorter file or lost, [Open] therefore returns an error
// instead of starting an empty ledger.
//
// The ledger does not read the race before it registers a horse: the caller passes the fee.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/registration"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// Sentinels for errors.Is. If an error matches one of them, nothing was sent.
var (
	ErrInUse     = errors.New("the ledger is in use")                              // another process, never this one, held the lock for five seconds
	ErrFee       = errors.New("fee not allowed")                                   // over WithMaxFee, not positive, or longer than 100 digits
	ErrEntered   = errors.New("the horse is already entered")                      // the entry is Entered: its fee is paid
	ErrUnsettled = errors.New("the outcome of an earlier registration is unknown") // the entry is Sending or Unknown
	ErrBudget    = errors.New("the fee would exceed the budget")                   // set with WithBudget or WithDailyBudget
)

// Entry is the registration of a horse in a race.
type Entry struct {
	Time  time.Time               `json:"time"` // when its first line was written
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

// pair is the key of an entry.
type pair struct {
	horse horseracing.HorseNumber
	race  horseracing.RaceID
}

func (e Entry) pair() pair { return pair{e.Horse, e.Race} }

// isHeld reports whether the fee may be paid.
func (e Entry) isHeld() bool { return e.State == Sending || e.State == Unknown }

// Ledger records registrations in a file. Its methods are safe for concurrent use.
type Ledger struct {
	path    string // absolute
	lock    lock
	client  *horseracing.Client
	service string // the client's base URL
	sync    func(*os.File) error

	total, perDay, maxFee *horseracing.BigInt // nil if not set
	location              *time.Location      // of the days
	freeRaces, isReadOnly bool

	mu      sync.Mutex // not held while sending
	size    int64      // of the lines that were read and written
	lines   int
	last    []byte // of them
	isTorn  bool   // what is in the file after them
	broken  error  // why nothing can be appended: a line could not be written, or the ledger is closed
	entries map[pair]Entry
}

// Open opens the ledger at path, or creates an empty one that only the user can read. A
// relative path still means the same file if the program changes its folder. Registrations are
// sent with client. Open creates a lock file, path.lock, beside the ledger, and does not
// remove it. If path is a link, Open creates another lock file beside the link's target.
//
// The error matches ErrInvalidArgument if the ledger has sent registrations to another base
// URL. The lock file records the length of the ledger. If the ledger is missing although its
// lock file exists, or is shorter than recorded, earlier payments are no longer known, and
// Open returns an error that says what to do. Open reads the whole file and does not change
// it. Blank lines, CRLF and byte order marks are accepted, and an incomplete last line is
// ignored. If an entry has a time in the future, because a clock was ahead, it counts against
// the budget of every day until that time.
func Open(path string, client *horseracing.Client, opts ...Option) (*Ledger, error) {
	l := &Ledger{client: client, service: client.BaseURL(), sync: (*os.File).Sync, location: time.UTC, entries: map[pair]Entry{}}
	for _, opt := range opts {
		opt(l)
	}
	if l.location == nil {
		return nil, fmt.Errorf("ledger: %s: %w: the location of WithDailyBudget is nil", path, horseracing.ErrInvalidArgument)
	}
	var err error
	if l.path, err = filepath.Abs(path); err == nil { // the program may change its folder
		err = l.open()
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %s: %w", path, err)
	}
	return l, nil
}

// Read returns the entries in the file at path, one for each pair with its latest state,
// in the order in which they were sent. It does not lock or change the file, so it can be
// used while programs have the ledger open. An incomplete last line is ignored.
func Read(path string) ([]Entry, error) {
	l := &Ledger{path: path, entries: map[pair]Entry{}} // of any service
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("ledger: %s: %w", path, err)
	}
	return sorted(l.entries), nil
}

// Close closes the ledger. Call it after all calls of Register and Settle have returned,
// because outcomes cannot be recorded afterwards.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = errors.New("the ledger is closed")
	return nil
}

// Check returns nil if Register would send the registration now, or else the error with
// which Register would refuse it. It writes nothing.
func (l *Ledger) Check(r horseracing.Registration, fee horseracing.BigInt) error {
	_, err := l.look(r, fee)
	return err
}

// look is check after a reading of the file without the lock.
func (l *Ledger) look(r horseracing.Registration, fee horseracing.BigInt) (e Entry, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err = l.load(); err == nil {
		e, err = l.check(r, fee)
	}
	return e, l.named(pair{r.Horse, r.Race}, err)
}

// maxDigits is the length of the longest fee that can be read again.
const maxDigits = 100

// check returns the entry of a registration that may be sent now. With ErrEntered and
// ErrUnsettled it returns the existing entry.
func (l *Ledger) check(r horseracing.Registration, fee horseracing.BigInt) (Entry, error) {
	sign := fee.Cmp(horseracing.BigInt{})
	switch e := l.entries[pair{r.Horse, r.Race}]; {
	case r.Horse < 1 || r.Race < 1 || r.UserKey == "":
		return Entry{}, fmt.Errorf("%w: a registration needs a horse, a race and a user key", horseracing.ErrInvalidArgument)
	case sign < 0 || len(fee.String()) > maxDigits:
		return Entry{}, fmt.Errorf("%w: it is negative, or has more than %d digits", ErrFee, maxDigits)
	case sign == 0 && !l.freeRaces:
		return Entry{}, fmt.Errorf("%w: it is zero, perhaps because the service left the fee out; WithFreeRaces allows it", ErrFee)
	case l.maxFee != nil && fee.Cmp(*l.maxFee) > 0:
		return Entry{}, &LimitError{Err: ErrFee, Amount: fee, Limit: *l.maxFee}
	case e.State == Entered:
		return e, ErrEntered
	case e.isHeld():
		return e, fmt.Errorf("%w (state %s); call Settle, or Decide if you know the outcome", ErrUnsettled, e.State)
	}
	e := Entry{Time: time.Now().UTC(), Horse: r.Horse, Race: r.Race, Fee: fee, State: Sending}
	if err := l.checkBudgets(e); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// Register checks the fee, the existing entries and the budgets. If nothing forbids the
// registration, Register sends it and records its outcome. fee is the race's entry fee. The
// entries and the budgets are checked again, together with what other processes appended, just
// before the registration is sent.
//
// If the error is nil, the returned entry is Entered. If it matches ErrOutcomeUnknown, the
// entry is Unknown: call [Ledger.Settle] at once, and again when its error says so. If it
// matches [ErrEntered] or [ErrUnsettled], nothing was sent, and the entry is the existing one.
// If the ledger refuses for another reason, such as ErrFee or ErrBudget, the entry is zero.
// After any other error the entry is Refused, the fee is not paid, and the pair can be
// registered again. If no request was made, for example because the service refuses requests
// at the moment, the Refused entry is not written to the file.
//
// A refusal with status 400, 409 or 422 may mean that the horse is registered already, because
// a proxy has sent the request twice. So Register then reads the race once, with
// [horseracing.RacesService.Registered]. If the race lists the horse, the entry is Entered and the
// error is nil. If the race was read and does not list the horse so far, or if there is no such
// race, the entry is Refused. If the race cannot be read, or if its response is from a cache (with an
// Age above zero) and does not list the horse, the entry is Unknown.
//
// If ctx ends while an attempt is being made, Register still waits for the response, though no
// longer than an attempt may take, and records the outcome that it shows. Without a response
// the outcome is unknown, and errors.Is also finds the error of ctx. No other attempt follows.
// After ctx has ended, Register still reads the race if the registration was refused, which
// takes at most 30 seconds, and still writes the outcome. So it may return later than ctx ends.
//
// If the outcome cannot be written to the file, the error says so. The returned entry has the
// outcome, but the entry in the file stays Sending. After a failed write, Register sends
// nothing until the ledger is opened again.
func (l *Ledger) Register(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt, opts ...horseracing.CallOption) (entry Entry, err error) {
	if entry, err = l.look(r, fee); err != nil {
		return entry, err
	}
	isSent := false
	var refusal error // by this ledger
	_, err = l.client.Races.Register(transport.Await(ctx), r, append(slices.Clip(opts), horseracing.OnSend(func() error {
		entry, refusal = l.send(ctx, r, fee)
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
	ctx = context.WithoutCancel(ctx)
	entry.Note = note(err)
	entry.State, err = l.outcome(ctx, r, err)
	entry, failed := l.conclude(ctx, outcomeWait, entry)
	if entry.State == Entered {
		err = nil
	}
	return entry, errors.Join(failed, err)
}

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
// returns the existing entry.
func (l *Ledger) send(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt) (entry Entry, err error) {
	err = l.locked(ctx, lockWait, func() (err error) {
		if entry, err = l.check(r, fee); err == nil {
			err = l.append(entry)
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrEntered) && !errors.Is(err, ErrUnsettled) { // it may be written and is not sent
		entry = Entry{}
	}
	return entry, l.named(pair{r.Horse, r.Race}, err)
}

// readingWait limits the reading of a race after a refusal, which the end of the caller's context
// does not interrupt.
const readingWait = 30 * time.Second

// outcome returns the state of a registration that was sent, and its error.
func (l *Ledger) outcome(ctx context.Context, r horseracing.Registration, err error) (State, error) {
	api, isAPI := errors.AsType[*horseracing.APIError](err)
	switch {
	case err == nil:
		return Entered, nil
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		return Unknown, fmt.Errorf("%w, or call Ledger.Settle", err)
	case !isAPI || !slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity}, api.StatusCode):
		return Refused, err
	}
	ctx, stop := context.WithTimeout(ctx, readingWait)
	defer stop()
	isIn, undecided := l.client.Races.Registered(ctx, r.Race, r.Horse)
	_, isUnlisted := errors.AsType[*registration.NotListedError](undecided)
	switch {
	case isIn:
		return Entered, err
	case undecided != nil && !isUnlisted:
		return Unknown, fmt.Errorf("%w: %w; call Ledger.Settle before registering again", horseracing.ErrOutcomeUnknown, err)
	}
	return Refused, err
}

// conclude records an outcome, and returns the entry as it is now. What another process
// recorded in the meantime stays, unless e is Entered, which is certain.
func (l *Ledger) conclude(ctx context.Context, wait time.Duration, e Entry) (Entry, error) {
	now := e
	err := l.locked(ctx, wait, func() error {
		now = l.entries[e.pair()]
		isOurs := now.isHeld() && now.Time.Equal(e.Time)
		if isOurs || e.State == Entered && now.State != Entered {
			now = e
			return l.append(e)
		}
		return nil
	})
	if err != nil {
		return e, l.named(e.pair(), fmt.Errorf("it is %s, but this could not be recorded: %w", e.State, err))
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
	held := slices.DeleteFunc(slices.Collect(l.Entries()), func(e Entry) bool { return !e.isHeld() })
	errs := make([]error, len(held))
	turns := make(chan struct{}, settleAtOnce)
	var settling sync.WaitGroup
	for i, e := range held {
		turns <- struct{}{}
		errs[i] = l.named(e.pair(), &horseracing.UndecidedError{RetryAt: time.Now().Add(time.Minute), Err: errors.New("the goroutine that read the race was ended")})
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
		return l.named(e.pair(), err)
	}
	e.State, e.Note = Absent, "settled"
	if isIn {
		e.State = Entered
	}
	if _, err = l.conclude(ctx, lockWait, e); err != nil {
		return &horseracing.UndecidedError{RetryAt: time.Now().Add(time.Minute), Err: err}
	}
	return nil
}

// Decide sets the state of a Sending or Unknown entry to Entered or Absent, for an outcome
// that was determined by hand. The process that sent it must have ended. Decide returns
// ErrInvalidArgument if state is not Entered or Absent, or if the entry is not Sending or
// Unknown.
func (l *Ledger) Decide(horse horseracing.HorseNumber, race horseracing.RaceID, state State, note string) error {
	p := pair{horse, race}
	err := l.locked(context.Background(), lockWait, func() error {
		e := l.entries[p]
		if !e.isHeld() || state != Entered && state != Absent {
			return fmt.Errorf("%w: it is %q and cannot become %q: only a sending or unknown entry can become entered or absent", horseracing.ErrInvalidArgument, e.State, state)
		}
		e.State, e.Note = state, note
		return l.append(e)
	})
	return l.named(p, err)
}

// Entries returns the entries, one for each pair with its latest state, in the order in
// which they were sent. Later changes do not affect the returned sequence. If the file cannot
// be read, the sequence has the entries that were read before, and [Ledger.Check] returns an
// error for any registration.
func (l *Ledger) Entries() iter.Seq[Entry] {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.load()
	return slices.Values(sorted(l.entries))
}

// sorted returns the entries in the order in which they were sent, by the clock.
func sorted(entries map[pair]Entry) []Entry {
	list := slices.AppendSeq([]Entry{}, maps.Values(entries))
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Race, b.Race)) })
	return list
}

// Paid returns the sum of the fees of Entered, Sending and Unknown entries that were sent at
// or after since, which is what the budgets count. If since is zero, all such entries count.
func (l *Ledger) Paid(since time.Time) horseracing.BigInt {
	paid, held := Sum(l.Entries(), since)
	return paid.Add(held)
}

// named adds the file and the pair to an error.
func (l *Ledger) named(p pair, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger: %s: horse %d in race %d: %w", l.path, p.horse, p.race, err)
}
