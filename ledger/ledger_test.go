package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

const registerPath = "/api/v1/races/register"

// newFake starts a fake with races 1 to n, which cost 10 each and close in an hour.
func newFake(t testing.TB, n int) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	t.Cleanup(fake.Close)
	addRaces(fake, 1, n)
	return fake
}

func addRaces(fake *horseracingtest.Server, first, last int) {
	closes := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	for id := first; id <= last; id++ {
		fake.AddRaces(horseracing.Race{MainRaceID: horseracing.RaceID(id), StartTime: closes, RegistrationDeadline: closes, EntryFee: tokens(10), Participants: []horseracing.RaceParticipant{{Number: 9999}}})
	}
}

func tokens(n int64) horseracing.BigInt { return horseracing.NewBigInt(n) }

// registration is that of the first user's first horse.
func registration(fake *horseracingtest.Server, race int) horseracing.Registration {
	return horseracing.Registration{Horse: fake.Horses(0)[0], Race: horseracing.RaceID(race), UserKey: fake.UserKey(0)}
}

func register(t testing.TB, l *ledger.Ledger, fake *horseracingtest.Server, race int) (ledger.Entry, error) {
	return l.Register(t.Context(), registration(fake, race), tokens(10))
}

// open opens a ledger that does not look before it pays: the faults of the fake are for the requests that follow.
func open(db *sql.DB, client *horseracing.Client, opts ...ledger.Option) *ledger.Ledger {
	return double.Must(ledger.Open(context.Background(), db, client, append(opts, ledger.WithoutLook())...))
}

// newLedger starts such a fake, and opens a new ledger for it.
func newLedger(t testing.TB, n int, opts ...ledger.Option) (*horseracingtest.Server, *sql.DB, *ledger.Ledger) {
	t.Helper()
	fake := newFake(t, n)
	db := create(t, fake.Client())
	return fake, db, open(db, fake.Client(), opts...)
}

var (
	lostRequest  = horseracingtest.Fault{ResetBefore: true}
	lostResponse = horseracingtest.Fault{ResetAfter: true}
)

// lose registers for races with a fault that leaves the outcome unknown.
func lose(t *testing.T, fake *horseracingtest.Server, l *ledger.Ledger, fault horseracingtest.Fault, races ...int) {
	t.Helper()
	fault.Path, fault.Times = registerPath, len(races)
	fake.Inject(fault)
	for _, race := range races {
		_, err := register(t, l, fake, race)
		expectError(t, horseracing.ErrOutcomeUnknown, err)
	}
}

func requests(fake *horseracingtest.Server, method string) []horseracingtest.Request {
	return slices.DeleteFunc(fake.Requests(), func(r horseracingtest.Request) bool { return r.Method != method })
}

// expectSent fails the test unless so many registrations were sent.
func expectSent(t *testing.T, fake *horseracingtest.Server, want int) {
	t.Helper()
	double.Equal(t, "registrations sent", want, len(requests(fake, http.MethodPost)))
}

// expectError fails the test unless an error is or wraps want, or both are nil, and its text has
// these parts.
func expectError(t testing.TB, want, err error, parts ...string) {
	t.Helper()
	double.Equal(t, "error", want, err)
	expectParts(t, fmt.Sprint(err), parts...)
}

func expectParts(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

// expectStates fails the test unless the states of the entries are those: "1 entered".
func expectStates(t *testing.T, l *ledger.Ledger, want ...string) {
	t.Helper()
	var got []string
	for _, e := range entries(l) {
		got = append(got, fmt.Sprintf("%d %s", e.Race, e.State))
	}
	double.Equal(t, "states", want, got)
}

// What the service responded, or that it did not, decides the state of an entry, and the state what
// counts and what may follow. After a status 4xx but 429 the race decides.
func TestAnOutcomeDecidesWhatCountsAndWhatMayFollow(t *testing.T) {
	type faults = []horseracingtest.Fault
	refusal := func(status int) horseracingtest.Fault {
		return horseracingtest.Fault{Path: registerPath, Status: status, Body: `{"message":"already in it"}`}
	}
	reading := func(status int, body string) faults {
		return faults{{Method: http.MethodGet, Path: "/api/v1/races/1", Status: status, Body: body}}
	}
	cached := func(status int) faults { // by a cache that ignores no-cache
		return faults{{Method: http.MethodGet, Path: "/api/v1/races/1", Status: status, Header: http.Header{"Age": {"30"}}}}
	}
	const others = `"registration_deadline":4102444800000,"start_time":4102444800000,"entry_fee":10,"participants":[{"number":9999}]}`
	limited := faults{{Path: registerPath, Status: 429}}
	follows := map[ledger.State]struct{ err, second error }{
		ledger.Entered: {nil, ledger.ErrEntered}, ledger.Unknown: {horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled}, ledger.Refused: {cmpopts.AnyError, nil},
	}
	for name, test := range map[string]struct {
		entered bool   // before
		others  faults // before the fault, or of the reading
		fault   horseracingtest.Fault
		want    ledger.State
	}{
		"accepted":                     {false, nil, horseracingtest.Fault{Path: registerPath, Delay: time.Second}, ledger.Entered},
		"the response is lost":         {false, nil, horseracingtest.Fault{Path: registerPath, ResetAfter: true}, ledger.Unknown},
		"the service is overtaxed":     {false, nil, refusal(503), ledger.Unknown},
		"rate limited":                 {false, nil, horseracingtest.Fault{Path: registerPath, Status: 429, Header: http.Header{"Retry-After": {"600"}}, Body: "already in it"}, ledger.Refused},
		"the key is refused":           {false, nil, refusal(401), ledger.Refused},
		"409, and it is listed":        {true, nil, refusal(409), ledger.Entered},
		"401, and it is listed":        {true, nil, refusal(401), ledger.Entered},
		"403, and it cannot be read":   {false, reading(400, ""), refusal(403), ledger.Unknown},
		"it is not listed":             {false, nil, refusal(422), ledger.Refused},
		"409, and it is not listed":    {false, nil, refusal(409), ledger.Unknown}, // a proxy may have sent it twice, and the race lists late
		"409, and it is full":          {false, reading(200, `[{"main_race_id":1,"places":1,`+others+`]`), refusal(409), ledger.Refused},
		"409, and a place is free":     {false, reading(200, `[{"main_race_id":1,"places":2,`+others+`]`), refusal(409), ledger.Unknown},
		"409, and one heat is full":    {false, reading(200, `[{"main_race_id":1,"places":2,`+others+`,{"main_race_id":1,"places":1,`+others+`]`), refusal(409), ledger.Unknown},
		"there is no race":             {false, reading(404, ""), refusal(400), ledger.Refused},
		"a proxy has no such page":     {false, reading(404, "<html>"), refusal(422), ledger.Unknown},
		"a cache lists it":             {true, cached(0), refusal(409), ledger.Entered},
		"a cache does not list it":     {false, cached(0), refusal(422), ledger.Unknown},
		"a cache has no race":          {false, cached(404), refusal(422), ledger.Unknown},
		"after a 429 it is not listed": {false, limited, refusal(422), ledger.Refused},
		"after a 429 it is listed":     {true, limited, refusal(409), ledger.Entered},
		"the second heat lists it":     {false, reading(200, `[{"main_race_id":1,`+others+`,{"main_race_id":1,"participants":[{"number":1}]}]`), refusal(409), ledger.Entered},
		"it lists nobody":              {false, reading(200, `[{"main_race_id":1}]`), refusal(422), ledger.Refused},
		"a heat cannot be read":        {false, reading(200, `[{"main_race_id":1,`+others+`,{"main_race_id":1,"entry_fee":{}}]`), refusal(422), ledger.Unknown},
		"a horse without a number":     {false, reading(200, `[{"main_race_id":1,"participants":[{}]}]`), refusal(422), ledger.Unknown},
		"a race without an id":         {false, reading(200, `[{`+others+`]`), refusal(422), ledger.Unknown},
		"another race":                 {false, reading(200, `[{"main_race_id":2,`+others+`]`), refusal(422), ledger.Unknown},
		"another shape":                {false, reading(200, `"asleep"`), refusal(422), ledger.Unknown},
	} {
		double.Run(t, name, func(t *testing.T) {
			fake, db, l := newLedger(t, 2)
			if test.entered {
				double.Must(fake.Client().Races.Register(t.Context(), registration(fake, 1)))
			}
			fake.Inject(append(test.others, test.fault)...)
			fake.ResetLog()
			want := ledger.Entry{Time: time.Now().UTC(), Horse: fake.Horses(0)[0], Race: 1, Fee: tokens(10), State: test.want}
			e, err := register(t, l, fake, 1)
			expectError(t, follows[test.want].err, err)
			double.Equal(t, "is an unknown outcome", test.want == ledger.Unknown, errors.Is(err, horseracing.ErrOutcomeUnknown))
			double.Equal(t, "has a note, for people", name != "accepted", e.Note != "" && !strings.Contains(e.Note, "call "))
			double.Equal(t, "notes the reason", test.fault.Status > 0, strings.Contains(e.Note, "already in it"))
			reads := requests(fake, http.MethodGet)
			double.Equal(t, "is read once", test.fault.Status/100 == 4 && test.fault.Status != 429, len(reads) == 1)
			for _, r := range reads {
				double.Equal(t, "past caches", "no-cache", r.Header.Get("Cache-Control"))
			}
			want.Note = e.Note
			for _, got := range []ledger.Entry{e, entries(l)[0], read(t, db)[0]} {
				double.Equal(t, "entry", want, got)
			}
			limited, counts := open(db, fake.Client(), ledger.WithBudget(tokens(19))), test.want != ledger.Refused
			next := limited.Check(t.Context(), registration(fake, 2), tokens(10))
			double.Equal(t, "the next is beyond the budget", counts, errors.Is(next, ledger.ErrBudget))
			double.Equal(t, "counts as paid", counts, !double.Must(l.Paid(t.Context(), time.Time{})).IsZero())
			time.Sleep(time.Hour / 2)
			fake.ResetLog()
			again, err := register(t, l, fake, 1)
			expectError(t, follows[test.want].second, err)
			double.Equal(t, "the second is sent", follows[test.want].second == nil, len(requests(fake, http.MethodPost)) == 1)
			double.Equal(t, "the second returns the first", follows[test.want].second != nil, again == e)
		})
	}
}

func TestTheEntryIsCommittedBeforeTheRequestIsSent(t *testing.T) {
	fake, db, l := newLedger(t, 1)
	var then []ledger.Entry
	fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		then = read(t, db)
		return horseracingtest.Response{Status: 403, Body: `{"error":"of ` + fake.APIKey + " and " + string(fake.UserKey(0)) + `"}`}, true
	})
	e, _ := register(t, l, fake, 1)
	now := read(t, db)
	double.Equal(t, "entries when the request was received, and afterwards", []int{1, 1}, []int{len(then), len(now)})
	double.Equal(t, "states", []ledger.State{ledger.Sending, ledger.Refused}, []ledger.State{then[0].State, now[0].State})
	expectParts(t, e.Note, "status 403")
	double.Equal(t, "a key is in the database", false, strings.Contains(now[0].Note, fake.APIKey) || strings.Contains(now[0].Note, string(fake.UserKey(0))))
}

// A bot that continues while the service refuses everything for an hour must not fill the disk.
func TestWhatIsNotSentIsRefusedAndLeavesNoEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, db, l := newLedger(t, 2)
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Times: -1})
		for race := 1; race <= 2; race++ {
			e, err := register(t, l, fake, race)
			expectError(t, horseracing.ErrRateLimited, err)
			double.Equal(t, "state, and whether it is unknown and noted", []any{ledger.Refused, false, true}, []any{e.State, errors.Is(err, horseracing.ErrOutcomeUnknown), e.Note != ""})
		}
		var none context.Context
		_, err := l.Register(none, registration(fake, 2), tokens(10))
		expectError(t, horseracing.ErrInvalidArgument, err)
		for _, r := range []horseracing.Registration{{Horse: 1, Race: 2}, {Race: 2, UserKey: "k"}, {Horse: 1, UserKey: "k"}} {
			e, err := l.Register(t.Context(), r, tokens(10))
			expectError(t, horseracing.ErrInvalidArgument, err, "needs a horse, a race and a user key")
			double.Equal(t, "entry", ledger.Entry{}, e)
		}
		double.Equal(t, "entries", 1, len(read(t, db)))
		expectSent(t, fake, 1)
	})
}

func TestARegistrationThatFoundNoConnectionIsRefused(t *testing.T) {
	client := double.Connect(t, double.Refused, nil, double.NoRetries())
	l := open(create(t, client), client)
	r := horseracing.Registration{Horse: 1, Race: 1, UserKey: "key"}
	e, err := l.Register(t.Context(), r, tokens(10))
	double.FailIf(t, err == nil || errors.Is(err, horseracing.ErrOutcomeUnknown), "the error is %v", err)
	double.Equal(t, "entries", []ledger.Entry{e}, entries(l))
	double.Equal(t, "state", ledger.Refused, e.State)
	double.NoError(t, l.Check(t.Context(), r, tokens(10)))
}

// Registrations of ledgers with limits: the fee is checked before the pair, and the pair before
// the budgets.
func TestPairsAndLimits(t *testing.T) {
	power := func(of int64) horseracing.BigInt {
		return horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(of), nil))
	}
	type options = []ledger.Option
	day := func(n int64) ledger.Option { return ledger.WithDailyBudget(tokens(n), time.FixedZone("east", 3*60*60)) }
	free, highest, budget := ledger.WithFreeRaces(), ledger.WithMaxFee(tokens(10)), func(n int64) ledger.Option { return ledger.WithBudget(tokens(n)) }
	const midnight = "1999-12-31T21:00:00Z" // in the east
	type row struct {
		sent  string
		race  int
		state ledger.State
	}
	past, today, future := row{"1999-12-31T20:59:59Z", 99, ledger.Sending}, row{midnight, 99, ledger.Sending}, row{"2000-06-01T00:00:00Z", 99, ledger.Sending}
	sending, entered, absent := row{midnight, 2, ledger.Sending}, row{midnight, 2, ledger.Entered}, row{midnight, 2, ledger.Absent}
	for name, test := range map[string]struct {
		file  row // the horse is registered for race 2
		fee   horseracing.BigInt
		opts  options
		is    error
		limit int64 // of the LimitError, if there is one
	}{
		"a fee that is left out":            {fee: tokens(0), is: ledger.ErrFee},
		"a fee of zero, if that is allowed": {fee: tokens(0), opts: options{free, budget(0)}},
		"a negative fee":                    {fee: tokens(-1), opts: options{free}, is: ledger.ErrFee},
		"the highest fee":                   {fee: tokens(10), opts: options{highest}},
		"a fee that is too high":            {fee: tokens(11), opts: options{highest}, is: ledger.ErrFee, limit: 10},
		"of 100 digits":                     {fee: power(99)},
		"of 101 digits":                     {fee: power(100), is: ledger.ErrFee}, // its line could not be read again
		"entered, and the fee is too high":  {file: entered, fee: tokens(11), opts: options{highest}, is: ledger.ErrFee, limit: 10},
		"entered, and beyond the budget":    {file: entered, fee: tokens(10), opts: options{budget(10)}, is: ledger.ErrEntered},
		"being sent, or killed meanwhile":   {file: sending, fee: tokens(10), is: ledger.ErrUnsettled},
		"absent does not count":             {file: absent, fee: tokens(10), opts: options{budget(10), day(10)}},
		"the whole budget":                  {file: past, fee: tokens(10), opts: options{budget(20)}},
		"more than the budget":              {file: past, fee: tokens(10), opts: options{budget(19)}, is: ledger.ErrBudget, limit: 19},
		"a day in its location":             {file: past, fee: tokens(10), opts: options{day(10)}},
		"the whole budget of a day":         {file: today, fee: tokens(10), opts: options{day(20)}},
		"more than the budget of a day":     {file: today, fee: tokens(10), opts: options{day(19)}, is: ledger.ErrBudget, limit: 19},
		"by a clock that was ahead":         {file: future, fee: tokens(10), opts: options{day(19)}, is: ledger.ErrBudget, limit: 19},
	} {
		double.Run(t, name, func(t *testing.T) { // it begins at midnight, UTC
			fake := newFake(t, 2)
			db := create(t, fake.Client())
			if test.file.race > 0 {
				insertAt(t, db, test.file.sent, test.file.race, test.file.state)
			}
			before := read(t, db)
			l := open(db, fake.Client(), test.opts...)
			checked := l.Check(t.Context(), registration(fake, 2), test.fee)
			e, err := l.Register(t.Context(), registration(fake, 2), test.fee)
			expectError(t, test.is, err)
			double.Equal(t, "error of Check", fmt.Sprint(err), fmt.Sprint(checked))
			limit := new(ledger.LimitError) // zero if there is none
			_ = errors.As(err, &limit)
			double.Equal(t, "limit", tokens(test.limit), limit.Limit)
			if err == nil {
				expectSent(t, fake, 1)
				double.Equal(t, "is in the database", true, slices.Contains(read(t, db), e))
				return
			}
			expectSent(t, fake, 0)
			double.Equal(t, "entries", before, read(t, db))
			double.Equal(t, "returns an entry", test.is == ledger.ErrEntered || test.is == ledger.ErrUnsettled, e != ledger.Entry{})
		})
	}
}

// A registration can wait from one day into the next before it is sent.
func TestABudgetOfADayCountsTheDayOnWhichTheLineWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(24*time.Hour - 30*time.Second)
		fake := newFake(t, 2)
		limiter := double.WaitFunc(func(context.Context) error { time.Sleep(time.Minute); return nil })
		l := open(create(t, fake.Client()), fake.Client(horseracing.WithLimiter(limiter)), ledger.WithDailyBudget(tokens(10), time.UTC))
		e := double.Must(register(t, l, fake, 1))
		double.Equal(t, "day", 2, e.Time.Day())
		expectError(t, ledger.ErrBudget, l.Check(t.Context(), registration(fake, 2), tokens(10)))
	})
}

// In Amman the first hour of 29 September 2000 came twice.
func TestABudgetOfADayCountsAnHourThatComesTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, db, l := newLedger(t, 1, ledger.WithDailyBudget(tokens(19), double.Must(time.LoadLocation("Asia/Amman"))))
		insertAt(t, db, "2000-09-28T21:00:00Z", 99, ledger.Sending)
		time.Sleep(time.Until(time.Date(2000, 9, 29, 12, 0, 0, 0, time.UTC)))
		expectError(t, ledger.ErrBudget, l.Check(t.Context(), horseracing.Registration{Horse: 1, Race: 1, UserKey: "key"}, tokens(10)))
	})
}

// A context that ends while a registration is under way, after a second, loses no outcome: the
// response decides.
func TestRegisterAwaitsTheResponseWhateverEndsItsContext(t *testing.T) {
	type faults = []horseracingtest.Fault
	late := func(f horseracingtest.Fault) horseracingtest.Fault {
		f.Path, f.Delay = registerPath, 2*time.Second
		return f
	}
	reading := horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/1", Delay: 2 * time.Second}
	silent := horseracingtest.Fault{Path: registerPath, Delay: time.Hour}
	for name, test := range map[string]struct {
		faults faults
		want   ledger.State
		is     []error // of Register; context.Canceled is the error of the context, whatever that is
		sent   int
		takes  time.Duration
	}{
		"it is entered":                           {faults{late(horseracingtest.Fault{})}, ledger.Entered, nil, 1, 2 * time.Second},
		"it is refused":                           {faults{late(horseracingtest.Fault{Status: 403})}, ledger.Refused, []error{horseracing.ErrForbidden}, 1, 2 * time.Second},
		"it is refused, and the race is read":     {faults{late(horseracingtest.Fault{Status: 422}), reading}, ledger.Refused, nil, 1, 4 * time.Second},
		"rate limited, it is not sent again":      {faults{late(horseracingtest.Fault{Status: 429})}, ledger.Refused, nil, 1, 2 * time.Second},
		"rate limited, and its context ends then": {faults{{Path: registerPath, Status: 429, Header: http.Header{"Retry-After": {"3"}}}}, ledger.Refused, nil, 1, time.Second},
		"the second attempt is under way":         {faults{{Path: registerPath, Status: 429}, late(horseracingtest.Fault{})}, ledger.Entered, nil, 2, 2 * time.Second},
		"the service fails":                       {faults{late(horseracingtest.Fault{Status: 500})}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown, horseracing.ErrServer}, 1, 2 * time.Second},
		"there is no response":                    {faults{silent}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown, context.Canceled}, 1, 30 * time.Second},
		"the connection breaks":                   {faults{late(horseracingtest.Fault{ResetAfter: true})}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown, context.Canceled, io.EOF}, 1, 2 * time.Second},
		"the race cannot be read":                 {faults{late(horseracingtest.Fault{Status: 409}), {Method: http.MethodGet, Delay: time.Hour}}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown}, 1, 32 * time.Second},
	} {
		for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
			double.Run(t, name+"/"+end.Error(), func(t *testing.T) {
				fake, db, l := newLedger(t, 1)
				fake.Inject(test.faults...)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if end == context.Canceled {
					time.AfterFunc(time.Second, cancel)
				} else {
					ctx = double.Within(t, time.Second)
				}
				began := time.Now()
				e, err := l.Register(ctx, registration(fake, 1), tokens(10))
				double.Equal(t, "time", test.takes, time.Since(began).Round(time.Second))
				expectSent(t, fake, test.sent)
				double.Equal(t, "state", test.want, e.State)
				double.Equal(t, "is without an error", test.want == ledger.Entered, err == nil)
				for _, is := range test.is {
					if is == context.Canceled {
						is = end
					}
					expectError(t, is, err)
				}
				expectStates(t, open(db, fake.Client()), "1 "+string(test.want))
			})
		}
	}
}

// undecided returns the errors that Settle joins.
func undecided(t *testing.T, err error) (all []*horseracing.UndecidedError) {
	t.Helper()
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		t.Fatalf("Settle: %v", err)
	}
	for _, err := range joined.Unwrap() {
		one, ok := errors.AsType[*horseracing.UndecidedError](err)
		if !ok || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Fatalf("Settle: %v", err)
		}
		all = append(all, one)
	}
	return all
}

func TestSettleReadsEachRaceOnceAtMostEightAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, db, l := newLedger(t, 12)
		lose(t, fake, l, lostResponse, 1)
		lose(t, fake, l, horseracingtest.Fault{TakesEffectAfter: 10 * time.Minute}, 2)
		lose(t, fake, l, lostRequest, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		double.Must(fake.Client().Races.Register(t.Context(), registration(fake, 12)))
		insert(t, db, 12, ledger.Sending) // by a process that was killed
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/", Delay: time.Second, Times: -1})
		fake.ResetLog()
		err := l.Settle(t.Context())
		expectError(t, horseracing.ErrOutcomeUnknown, err, "horse 1 in race 2: ")
		again := undecided(t, err)
		double.Equal(t, "requests, at the same time, undecided", []int{12, 8, 10}, []int{fake.RequestCount(), fake.MaxInFlight(), len(again)})
		paid, held := ledger.Sum(entries(l), time.Time{})
		double.Equal(t, "paid and held", []horseracing.BigInt{tokens(20), tokens(100)}, []horseracing.BigInt{paid, held})
		time.Sleep(time.Until(again[9].RetryAt))
		double.NoError(t, l.Settle(t.Context()))
		expectStates(t, open(db, fake.Client()), "1 entered", "2 entered", "3 absent", "4 absent", "5 absent", "6 absent",
			"7 absent", "8 absent", "9 absent", "10 absent", "11 absent", "12 entered")
		double.Equal(t, "paid", 3, len(fake.Registrations()))
		expectSent(t, fake, 0) // again
	})
}

// A mock of a caller may end the goroutine that reads, as t.Fatal does.
func TestSettleEndsIfItsReadingsEndTheirGoroutine(t *testing.T) {
	fake, db, l := newLedger(t, 0)
	var sending []string
	for race := 1; race <= 9; race++ {
		insert(t, db, race, ledger.Sending)
		sending = append(sending, fmt.Sprint(race, " sending"))
	}
	wrapped := open(db, fake.Client(double.Wrap(func(http.RoundTripper, *http.Request) (*http.Response, error) {
		runtime.Goexit()
		return nil, nil
	})))
	for _, err := range undecided(t, wrapped.Settle(t.Context())) {
		expectParts(t, err.Error(), "goroutine")
		double.Equal(t, "time until another call", time.Minute, time.Until(err.RetryAt).Round(20*time.Second))
	}
	expectStates(t, l, sending...)
}

// While a race is read, others can be registered, and what somebody else records stays, except
// that what the service confirms is always recorded.
func TestAnotherOutcomeThatIsRecordedMeanwhileStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, db, l := newLedger(t, 4)
		lose(t, fake, l, lostRequest, 1, 2)
		time.Sleep(3 * time.Hour)
		addRaces(fake, 3, 4)
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/", Method: "GET", Delay: 10 * time.Second, Times: 2})
		settled := make(chan error)
		go func() { settled <- l.Settle(t.Context()) }() // both are absent
		synctest.Wait()
		other, horse := open(db, fake.Client()), fake.Horses(0)[0]
		double.NoError(t, errors.Join(other.Decide(t.Context(), horse, 1, ledger.Absent, ""), other.Decide(t.Context(), horse, 2, ledger.Entered, "the game shows it")))
		lose(t, fake, l, lostRequest, 1) // once more: the reading is of the earlier one
		var decide func() error
		fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			expectError(t, nil, decide())
			return horseracingtest.Response{}, false
		})
		for i, decided := range []ledger.State{ledger.Absent, ledger.Entered} {
			decide = func() error { return other.Decide(t.Context(), horse, horseracing.RaceID(3+i), decided, "by hand") }
			e := double.Must(register(t, l, fake, 3+i))
			double.Equal(t, "state, and whether the note is that of the decision", []any{ledger.Entered, decided == ledger.Entered}, []any{e.State, e.Note == "by hand"})
			time.Sleep(time.Second)
		}
		double.NoError(t, <-settled)
		expectStates(t, other, "2 entered", "1 unknown", "3 entered", "4 entered")
	})
}

func TestOnlyAHeldEntryCanBeDecided(t *testing.T) {
	fake, db, l := newLedger(t, 0)
	insert(t, db, 1, ledger.Sending)
	insert(t, db, 2, ledger.Unknown)
	for _, test := range []struct {
		race  horseracing.RaceID
		state ledger.State
		want  error
	}{
		{1, ledger.Unknown, horseracing.ErrInvalidArgument}, {1, ledger.Refused, horseracing.ErrInvalidArgument}, {1, "", horseracing.ErrInvalidArgument},
		{1, ledger.Entered, nil}, {1, ledger.Absent, horseracing.ErrInvalidArgument},
		{2, ledger.Absent, nil}, {2, ledger.Entered, horseracing.ErrInvalidArgument}, {3, ledger.Entered, horseracing.ErrInvalidArgument},
	} {
		before := read(t, db)
		expectError(t, test.want, l.Decide(t.Context(), 1, test.race, test.state, "by me"))
		double.Equal(t, fmt.Sprint("the entries change for race ", test.race, " as ", test.state), test.want == nil, !slices.Equal(read(t, db), before))
	}
	expectStates(t, open(db, fake.Client()), "1 entered", "2 absent")
}

// lookingLedger opens a ledger with the default options.
func lookingLedger(t *testing.T, fake *horseracingtest.Server, client *horseracing.Client) *ledger.Ledger {
	t.Helper()
	return double.Must(ledger.Open(t.Context(), create(t, fake.Client()), client))
}

// The race is read just before a registration is noted. Unless it can be entered for the fee, nothing is sent or noted.
func TestRegisterLooksBeforeItPays(t *testing.T) {
	race := func(status int, body string) horseracingtest.Fault {
		return horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/1", Status: status, Body: body, Times: -1}
	}
	none := horseracingtest.Fault{Method: http.MethodGet, Path: "/none", Status: 500}
	for name, test := range map[string]struct {
		entered bool // by somebody else
		fault   horseracingtest.Fault
		want    error
		text    string
	}{
		"it is open":       {false, none, nil, ""},
		"it lists it":      {true, none, ledger.ErrEntered, ""},
		"another fee":      {false, race(200, `[{"main_race_id":1,"entry_fee":11}]`), ledger.ErrFee, "costs 11 now, and not 10"},
		"without a fee":    {false, race(200, `[{"main_race_id":1}]`), ledger.ErrFee, "costs 0 now, and not 10"},
		"there is no race": {false, race(404, ""), horseracing.ErrNotFound, "nothing was sent"},
		"it is unreadable": {false, race(200, `[{"main_race_id":1,"entry_fee":{}}]`), cmpopts.AnyError, "nothing was sent"},
		"it has no id":     {false, race(200, `{"entry_fee":10}`), cmpopts.AnyError, "nothing was sent"},
	} {
		double.Run(t, name, func(t *testing.T) {
			fake := newFake(t, 1)
			l := lookingLedger(t, fake, fake.Client())
			if test.entered {
				double.Must(fake.Client().Races.Register(t.Context(), registration(fake, 1)))
			}
			fake.Inject(test.fault)
			fake.ResetLog()
			e, err := register(t, l, fake, 1)
			expectError(t, test.want, err, test.text)
			sent := 0
			if test.want == nil {
				sent = 1
			}
			expectSent(t, fake, sent)
			double.Equal(t, "noted", sent, len(entries(l)))
			double.Equal(t, "the entry says so", test.entered || sent == 1, e.State == ledger.Entered)
			reads := requests(fake, http.MethodGet)
			double.Equal(t, "reads", 1, len(reads))
			double.Equal(t, "past caches", "no-cache", reads[0].Header.Get("Cache-Control"))
		})
	}
}

// The client itself may wait before it sends, and minutes may pass until it sends again after a 429, or if there was no connection.
func TestRegisterLooksJustBeforeItSendsAndAgainIfThatWasLongAgo(t *testing.T) {
	for name, test := range map[string]struct {
		wait       int    // for a permit, before which the race changes: the registration, the look, the registration again
		retryAfter string // of the first response
		fee        int64  // of the race then
		entered    bool   // by somebody else
		want       error
		text       string
		state      ledger.State
		sent       int
	}{
		"the fee rises while it waits":   {1, "", 90, false, ledger.ErrFee, "costs 90 now, and not 10", "", 0},
		"nothing changes":                {3, "31", 10, false, nil, "", ledger.Entered, 2},
		"the fee rises before the retry": {3, "31", 90, false, horseracing.ErrRateLimited, "it was not sent again: ledger: horse 1 in race 1: fee not allowed", ledger.Refused, 1},
		"it is listed before the retry":  {3, "31", 10, true, nil, "", ledger.Entered, 1},
		"it is sent again soon":          {3, "29", 90, false, nil, "", ledger.Entered, 2}, // as the doc comment says
	} {
		double.Run(t, name, func(t *testing.T) {
			fake, waits := newFake(t, 1), 0
			fake.Inject(horseracingtest.Fault{Path: registerPath, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {test.retryAfter}}})
			limiter := double.WaitFunc(func(context.Context) error {
				closes := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
				race := horseracing.Race{MainRaceID: 1, StartTime: closes, RegistrationDeadline: closes, EntryFee: tokens(test.fee)}
				if test.entered {
					race.Participants = []horseracing.RaceParticipant{{Number: fake.Horses(0)[0]}}
				}
				if waits++; waits == test.wait {
					fake.AddRaces(race)
				}
				return nil
			})
			client := fake.Client(horseracing.WithLimiter(limiter), horseracing.WithRetry(horseracing.Retry{MaxWait: time.Minute}))
			e, err := register(t, lookingLedger(t, fake, client), fake, 1)
			expectError(t, test.want, err, test.text)
			double.Equal(t, "says that nothing was sent", test.sent == 0, errors.Is(err, ledger.ErrFee))
			double.Equal(t, "state", test.state, e.State)
			expectSent(t, fake, test.sent)
		})
	}
}

// In a backoff one request at a time is sent, and it is the look's own registration that is being sent.
func TestALookWaitsForItsOwnRegistrationAtMostFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(t, 1)
		client := fake.Client(double.NoRetries())
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusTooManyRequests})
		_, err := client.Races.Open(t.Context())
		expectError(t, horseracing.ErrRateLimited, err)
		l, began := lookingLedger(t, fake, client), time.Now()
		double.Must(register(t, l, fake, 1))
		double.FailIf(t, time.Since(began) > 6*time.Second, "it took %v", time.Since(began))
	})
}

// What was paid since an older copy was made is not in it, but in the races.
func TestAnOlderCopyPaysAgainOnlyWhatIsNotListedYet(t *testing.T) {
	for name, isListed := range map[string]bool{"listed": true, "not listed yet": false} {
		double.Run(t, name, func(t *testing.T) {
			fake := newFake(t, 1)
			db := create(t, fake.Client())
			double.Must(register(t, open(db, fake.Client()), fake, 1))
			write(t, db, `DELETE FROM horseracing_entries`)
			write(t, db, `UPDATE horseracing_ledger SET writes = 0`)
			if !isListed {
				fake.Inject(horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/1", Status: 200, Body: `[{"main_race_id":1,"entry_fee":10}]`})
			}
			again := double.Must(ledger.Open(t.Context(), db, fake.Client()))
			_, err := register(t, again, fake, 1)
			if isListed {
				expectError(t, ledger.ErrEntered, err)
				expectSent(t, fake, 1)
			} else {
				expectSent(t, fake, 2) // docs/unknowns.md says so
			}
		})
	}
}
