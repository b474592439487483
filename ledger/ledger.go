// Package ledger registers horses so that no fee is paid twice and no budget is
// exceeded, even if the program is killed or responses are lost.
//
// A [Ledger] is a file of JSON Lines. [Ledger.Register] appends a line just before it
// sends a registration and another one when its outcome is known, and syncs both to disk.
// A registration that is not sent, because the service refuses requests at the moment,
// leaves no line. Nothing is sent once another program has changed the file.
//
// If the outcome is unknown, the fee may be paid: it counts against the budgets, and the
// pair of horse and race is not registered again, until [Ledger.Settle] has read the
// outcome, or a person calls [Ledger.Decide]. A bot whose budget allows one fee does nothing
// until then, perhaps hours: give it room for a few, and let it continue with other races
// meanwhile.
//
// Several processes can have a ledger open. Its file is locked only while a call of Register,
// Settle or Decide needs it; these wait for the lock for up to 30 seconds. What other processes
// have appended is read before each call.
//
// The caller passes the fee; the ledger does not read the race.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// Sentinels for errors.Is. If an error is one of them, nothing was sent.
var (
	ErrInUse     = errors.New("the ledger is in use")                              // by a call in another process, for 30 seconds
	ErrFee       = errors.New("fee not allowed")                                   // over WithMaxFee, or not positive
	ErrEntered   = errors.New("the horse is already entered")                      // the entry is Entered: its fee is paid
	ErrUnsettled = errors.New("the outcome of an earlier registration is unknown") // the entry is Sending or Unknown
	ErrBudget    = errors.New("the fee would exceed the budget")                   // set with WithBudget or WithDailyBudget
)

// Entry is the registration of a horse in a race.
type Entry struct {
	Time  time.Time               `json:"time"` // when it was sent
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
	Sending State = "sending" // being sent
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

// Ledger records registrations in a file. Its methods are safe for concurrent use.
type Ledger struct {
	path    string
	client  *horseracing.Client
	service string // the client's base URL

	total, perDay, maxFee *horseracing.BigInt // nil if not set
	location              *time.Location      // of the days
	freeRaces             bool

	mu           sync.Mutex // not held while sending
	size         int64      // of the lines that were read and written
	lacksNewline bool       // the last of them
	lock         *flock.Flock
	using        int   // calls that need the lock
	broken       error // why nothing can be appended: a line could not be written, or the ledger is closed
	entries      map[pair]Entry
}

// Open opens the ledger at path, or creates an empty one that only the user can read.
// Registrations are sent with client. A lock file, path.lock, is created beside it and not
// removed.
//
// The error matches ErrInvalidArgument if the ledger has sent registrations to another base
// URL. A file that is gone, although its lock file or a symbolic link to it is there, is not
// created anew. Open reads the whole file and does not change it, except that it removes an
// incomplete last line. Entries that were Sending when a program ended become Unknown. An
// entry with a time in the future, from a clock that was ahead, counts against the budget of
// every day until then.
func Open(path string, client *horseracing.Client, opts ...Option) (*Ledger, error) {
	l := &Ledger{path: path, client: client, service: client.BaseURL(), location: time.UTC, entries: map[pair]Entry{}}
	for _, opt := range opts {
		opt(l)
	}
	if l.location == nil {
		return nil, fmt.Errorf("ledger: %s: %w: the location of WithDailyBudget is nil", path, horseracing.ErrInvalidArgument)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil { // it does not exist
		target = path
	}
	l.lock = flock.New(target + ".lock") // on Windows nobody could read the ledger if it were locked itself
	switch err = l.tryTake(); {
	case err == nil:
		l.release()
	case errors.Is(err, ErrInUse): // by a call
		err = l.load()
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %s: %w", path, err)
	}
	return l, nil
}

// Read returns the entries in the file at path, one for each pair with its latest state,
// in the order in which they were sent. It does not lock or change the file, so it can be
// used while a program has the ledger open. An entry whose outcome is not in the file is
// Sending; Open makes it Unknown. An incomplete last line is ignored.
func Read(path string) ([]Entry, error) {
	l := &Ledger{path: path, entries: map[pair]Entry{}} // of any service
	_, err := fileSize(path)
	if err == nil {
		err = l.load()
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %s: %w", path, err)
	}
	return sorted(l.entries), nil
}

// Close closes the ledger, so that it can be opened again. Call it after all calls of
// Register and Settle have returned: a later outcome cannot be recorded.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = errors.New("the ledger is closed")
	return l.lock.Unlock()
}

// Check returns nil if Register would send the registration now, or else the error with
// which Register would refuse it. It writes nothing.
func (l *Ledger) Check(r horseracing.Registration, fee horseracing.BigInt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	_, err := l.check(r, fee)
	return err
}

// check returns the entry of a registration that may be sent now. With ErrEntered and
// ErrUnsettled it returns the existing entry.
func (l *Ledger) check(r horseracing.Registration, fee horseracing.BigInt) (Entry, error) {
	p, zero := pair{r.Horse, r.Race}, horseracing.BigInt{}
	switch e := l.entries[p]; {
	case l.broken != nil:
		return Entry{}, l.errorf(p, "%w", l.broken)
	case r.Horse < 1 || r.Race < 1 || r.UserKey == "":
		return Entry{}, l.errorf(p, "%w: a registration needs a horse, a race and a user key", horseracing.ErrInvalidArgument)
	case !l.freeRaces && fee.Cmp(zero) <= 0:
		return Entry{}, l.errorf(p, "%w: %s is not positive, so the service may have left the fee out; WithFreeRaces allows it", ErrFee, fee)
	case l.maxFee != nil && fee.Cmp(*l.maxFee) > 0:
		return Entry{}, l.errorf(p, "%w", &LimitError{Err: ErrFee, Amount: fee, Limit: *l.maxFee})
	case e.State == Entered:
		return e, l.errorf(p, "%w", ErrEntered)
	case e.State == Sending || e.State == Unknown:
		return e, l.errorf(p, "%w (state %s); call Settle, or Decide if you know the outcome", ErrUnsettled, e.State)
	}
	if fee.Cmp(zero) < 0 {
		fee = zero
	}
	e := Entry{Time: time.Now().UTC(), Horse: r.Horse, Race: r.Race, Fee: fee, State: Sending}
	if err := l.checkBudgets(e); err != nil {
		return Entry{}, l.errorf(p, "%w", err)
	}
	return e, nil
}

// Register checks the fee, then the entries, then the budgets; it sends the
// registration and records its outcome. fee is the race's entry fee; a negative fee
// counts as zero.
//
// If the error is nil, the returned entry is Entered. If it matches ErrOutcomeUnknown,
// the entry is Unknown: call [Ledger.Settle] at once, and again when the error of that says
// so. If it matches [ErrEntered] or [ErrUnsettled], the entry is the existing one. After
// any other error of [horseracing.RacesService.Register] the entry is Refused, the fee is
// not paid, and the pair can be registered again. After a refusal with status 400, 409 or
// 422 the race is read once, since a proxy may have repeated the request: if it lists the
// horse, the entry is Entered, without an error, and if it cannot be read, Unknown. If the ledger itself refuses for another
// reason, such as ErrFee or ErrBudget, the entry is zero.
//
// If no request was made, for example because the service refuses requests at the
// moment, or because the call waited into a day whose budget is spent, the returned entry
// is Refused too, and nothing is written to the file. If a
// panic of a transport wrapper ends the call, the entry is Unknown.
//
// If the outcome cannot be written to the file, the error says so; the returned entry
// still has the outcome. The entry is Unknown when the ledger is opened again. After a
// failed write, Register sends nothing until the ledger is opened again.
func (l *Ledger) Register(ctx context.Context, r horseracing.Registration, fee horseracing.BigInt, opts ...horseracing.CallOption) (entry Entry, err error) {
	if err := l.take(ctx); err != nil {
		return Entry{}, l.errorf(pair{r.Horse, r.Race}, "not sent: %w", err)
	}
	defer l.release()
	e, err := l.reserve(r, fee)
	if err != nil {
		return e, err
	}
	isRecorded, state, text := false, Unknown, "the call did not return"
	defer func() { // also if a panic or runtime.Goexit ends the call
		l.mu.Lock()
		defer l.mu.Unlock()
		if !isRecorded {
			e.State, e.Note = Refused, text
			l.entries[e.pair()], entry = e, e
			return
		}
		now, failed := l.conclude(e, state, text)
		entry, err = now, errors.Join(failed, err)
	}()
	_, err = l.client.Races.Register(ctx, r, append(slices.Clip(opts), horseracing.OnSend(func() error {
		err := l.send(&e)
		isRecorded = err == nil
		return err
	}))...)
	switch {
	case err == nil:
		state, text = Entered, ""
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		text, err = note(err), l.unsettled(e, err)
	default:
		text = note(err)
		switch state = l.afterRefusal(ctx, r, err); state {
		case Entered:
			err = nil
		case Unknown:
			err = l.unsettled(e, err)
		}
	}
	return e, err
}

// afterRefusal returns the state of a registration that was refused. A proxy may have repeated
// the request, whose repeat is refused because the first one succeeded: then the race lists
// the horse.
func (l *Ledger) afterRefusal(ctx context.Context, r horseracing.Registration, refusal error) State {
	api, ok := errors.AsType[*horseracing.APIError](refusal)
	if !ok || !slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity}, api.StatusCode) {
		return Refused
	}
	race, err := l.client.Races.Get(ctx, r.Race)
	switch {
	case err == nil && race.Has(r.Horse):
		return Entered
	case err == nil || errors.Is(err, horseracing.ErrNotFound):
		return Refused
	}
	return Unknown
}

// reserve makes the fee of a registration count and keeps others of the pair back.
func (l *Ledger) reserve(r horseracing.Registration, fee horseracing.BigInt) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.check(r, fee)
	if err == nil {
		l.entries[e.pair()] = e
	}
	return e, err
}

// send records that a registration is being sent now. It checks the budgets again: the
// call may have waited past midnight.
func (l *Ledger) send(e *Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time = time.Now().UTC()
	l.entries[e.pair()] = *e
	err := l.checkBudgets(*e)
	if err == nil {
		err = l.append(*e)
	}
	if err != nil {
		return l.errorf(e.pair(), "not sent: %w", err)
	}
	return nil
}

// note returns the note of a registration that failed. It quotes what the service said.
func note(err error) string {
	if api, ok := errors.AsType[*horseracing.APIError](err); ok && api.Attempts > 0 && api.Message != "" {
		return fmt.Sprintf("status %d: %.200q", api.StatusCode, api.Message)
	}
	return cause(err).Error()
}

// conclude records the outcome of e, unless another one was recorded in the meantime,
// and returns the entry as it is now.
func (l *Ledger) conclude(e Entry, state State, note string) (Entry, error) {
	if now := l.entries[e.pair()]; now.State != e.State || !now.Time.Equal(e.Time) {
		return now, nil
	}
	e.State, e.Note = state, note
	l.entries[e.pair()] = e
	if err := l.append(e); err != nil {
		return e, l.errorf(e.pair(), "it is %s, but this could not be recorded: %w", state, err)
	}
	return e, nil
}

// Settle reads the races of all Unknown entries once, all at the same time, with
// [horseracing.RacesService.Registered]. The returned error joins one error for each entry
// that stays Unknown: a [*horseracing.UndecidedError] says when to call Settle again, any
// other one that only a person can find out; see [Ledger.Decide].
func (l *Ledger) Settle(ctx context.Context) error {
	if err := l.take(ctx); err != nil { // what was being sent by a process that ended becomes Unknown
		return fmt.Errorf("ledger: %s: %w", l.path, err)
	}
	unknown := slices.DeleteFunc(slices.Collect(l.Entries()), func(e Entry) bool { return e.State != Unknown })
	l.release() // others may register while the races are read
	errs := make([]error, len(unknown))
	var settling sync.WaitGroup
	for i, e := range unknown {
		settling.Go(func() { errs[i] = l.settle(ctx, e) })
	}
	settling.Wait()
	return errors.Join(errs...)
}

func (l *Ledger) settle(ctx context.Context, e Entry) error {
	isIn, err := l.client.Races.Registered(ctx, e.Race, e.Horse)
	if err == nil {
		err = l.take(ctx)
	}
	if err != nil {
		return l.unsettled(e, err)
	}
	defer l.release()
	state, note := Absent, "settled: the race lists others, and not the horse"
	if isIn {
		state, note = Entered, "settled: the horse is in the race"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.conclude(e, state, note)
	return err
}

// Decide sets the state of an Unknown entry to Entered or Absent, for an outcome that
// was determined by hand. It returns ErrInvalidArgument for any other state, or if the
// entry is not Unknown.
func (l *Ledger) Decide(horse horseracing.HorseNumber, race horseracing.RaceID, state State, note string) error {
	p := pair{horse, race}
	if err := l.take(context.Background()); err != nil {
		return l.errorf(p, "%w", err)
	}
	defer l.release()
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[p]
	if e.State != Unknown || state != Entered && state != Absent {
		return l.errorf(p, "%w: it is %q and cannot become %q: only an unknown entry can become entered or absent", horseracing.ErrInvalidArgument, e.State, state)
	}
	_, err := l.conclude(e, state, note)
	return err
}

// Entries returns the entries, one for each pair with its latest state, in the order in
// which they were sent. Later changes do not affect the returned sequence.
func (l *Ledger) Entries() iter.Seq[Entry] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	return slices.Values(sorted(l.entries))
}

// sorted returns the entries in the order in which they were sent, by the clock.
func sorted(entries map[pair]Entry) []Entry {
	list := slices.AppendSeq([]Entry{}, maps.Values(entries))
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Race, b.Race)) })
	return list
}

// Paid returns the sum of the fees of Entered and Unknown entries that were sent at or
// after since. If since is zero, all such entries count. Registrations that are
// still being sent are not included, but the budgets include them.
func (l *Ledger) Paid(since time.Time) horseracing.BigInt {
	sent := slices.DeleteFunc(slices.Collect(l.Entries()), func(e Entry) bool { return e.State == Sending })
	paid, held := Sum(slices.Values(sent), since)
	return paid.Add(held)
}

// unsettled returns the error of an entry whose outcome remains unknown.
func (l *Ledger) unsettled(e Entry, err error) error {
	if undecided, ok := errors.AsType[*horseracing.UndecidedError](err); ok && !undecided.RetryAt.IsZero() {
		return &horseracing.UndecidedError{RetryAt: undecided.RetryAt, Err: l.errorf(e.pair(), "%w", undecided.Err)}
	}
	return l.errorf(e.pair(), "%w: %w; call Settle, or Decide if you know the outcome", horseracing.ErrOutcomeUnknown, cause(err))
}

// errorf returns an error that names the file and the pair.
func (l *Ledger) errorf(p pair, format string, args ...any) error {
	return fmt.Errorf("ledger: %s: horse %d in race %d: %w", l.path, p.horse, p.race, fmt.Errorf(format, args...))
}

// cause returns the reason for an unknown outcome, without the advice in the client's
// error, which names methods that users of a Ledger do not call.
func cause(err error) error {
	if marked, ok := err.(interface{ Unwrap() []error }); ok {
		return errors.Join(slices.DeleteFunc(marked.Unwrap(), func(e error) bool { return errors.Is(e, horseracing.ErrOutcomeUnknown) })...)
	}
	return err
}
