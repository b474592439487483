package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

const registerPath = "/api/v1/races/register"

// newFake starts a fake with races 1 to n, which cost 10 each and close in an hour.
func newFake(t testing.TB, n int) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now),
		horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
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

func open(t testing.TB, path string, client *horseracing.Client, opts ...ledger.Option) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(path, client, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newLedger starts such a fake, and opens a new ledger for it.
func newLedger(t testing.TB, n int, opts ...ledger.Option) (*horseracingtest.Server, string, *ledger.Ledger) {
	t.Helper()
	fake, path := newFake(t, n), filepath.Join(t.TempDir(), "l")
	return fake, path, open(t, path, fake.Client(), opts...)
}

var (
	lostRequest  = horseracingtest.Fault{ResetBefore: true}
	lostResponse = horseracingtest.Fault{ResetAfter: true}
)

// lose registers for races with a fault that leaves the outcome unknown.
func lose(t testing.TB, fake *horseracingtest.Server, l *ledger.Ledger, fault horseracingtest.Fault, races ...int) {
	t.Helper()
	fault.Path, fault.Times = registerPath, len(races)
	fake.Inject(fault)
	for _, race := range races {
		if e, err := l.Register(t.Context(), registration(fake, race), tokens(10)); e.State != ledger.Unknown || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Fatalf("%v, %v", e, err)
		}
	}
}

// posts returns how many registrations were sent.
func posts(fake *horseracingtest.Server) int {
	n := 0
	for _, r := range fake.Requests() {
		if r.Method == http.MethodPost {
			n++
		}
	}
	return n
}

// expectStates fails the test unless the states of the entries are those: "1 entered".
func expectStates(t *testing.T, l *ledger.Ledger, want ...string) {
	t.Helper()
	var got []string
	for e := range l.Entries() {
		got = append(got, fmt.Sprintf("%d %s", e.Race, e.State))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("states differ (-want +got):\n%s", diff)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAnOutcomeDecidesWhatCountsAndWhatMayFollow(t *testing.T) {
	for name, test := range map[string]struct {
		fault  horseracingtest.Fault
		state  ledger.State
		is     error // of Register
		second error // of a second Register
	}{
		"accepted":                 {horseracingtest.Fault{Delay: time.Second}, ledger.Entered, nil, ledger.ErrEntered},
		"the response is lost":     {lostResponse, ledger.Unknown, horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled},
		"the service is overtaxed": {horseracingtest.Fault{Status: 503}, ledger.Unknown, horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled},
		"the key is refused":       {horseracingtest.Fault{Status: 401}, ledger.Refused, horseracing.ErrUnauthorized, nil},
		"rate limited":             {horseracingtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"600"}}}, ledger.Refused, horseracing.ErrRateLimited, nil},
	} {
		double.Run(t, name, func(t *testing.T) {
			fake, path, l := newLedger(t, 2)
			test.fault.Path = registerPath
			fake.Inject(test.fault)
			r := registration(fake, 1)
			sent := time.Now().UTC()
			e, err := l.Register(t.Context(), r, tokens(10))
			if !errors.Is(err, test.is) || (e.Note == "") != (err == nil) || strings.Contains(e.Note, "call ") {
				t.Errorf("Register: %v, note %q", err, e.Note)
			}
			want := ledger.Entry{Time: sent, Horse: r.Horse, Race: 1, Fee: tokens(10), State: test.state, Note: e.Note}
			for _, got := range []ledger.Entry{e, slices.Collect(l.Entries())[0], slices.Collect(open(t, path, fake.Client()).Entries())[0]} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the entry differs (-want +got):\n%s", diff)
				}
			}
			limited, counts := open(t, path, fake.Client(), ledger.WithBudget(tokens(19))), test.state != ledger.Refused
			if err := limited.Check(registration(fake, 2), tokens(10)); errors.Is(err, ledger.ErrBudget) != counts || l.Paid(time.Time{}).IsZero() == counts {
				t.Errorf("the next: %v; paid %s", err, l.Paid(time.Time{}))
			}
			time.Sleep(time.Hour / 2)
			before := posts(fake)
			second, err := l.Register(t.Context(), r, tokens(10))
			if sent := posts(fake) > before; !errors.Is(err, test.second) || test.second != nil && !cmp.Equal(second, e) || sent != (test.second == nil) {
				t.Errorf("Register again: %v, %v; want %v; sent is %v", second, err, test.second, sent)
			}
		})
	}
}

func TestALineIsInTheFileBeforeTheRequestIsSent(t *testing.T) {
	fake, path, l := newLedger(t, 1)
	var then string
	fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		then = read(t, path)
		return horseracingtest.Response{Status: 403, Body: `{"error":"of ` + fake.APIKey + " and " + string(fake.UserKey(0)) + `"}`}, true
	})
	e, _ := l.Register(t.Context(), registration(fake, 1), tokens(10))
	if strings.Count(then, "\n") != 1 || !strings.Contains(then, `"state":"sending"`) {
		t.Errorf("when the request was received the file held %q", then)
	}
	now := read(t, path)
	if !strings.HasPrefix(now, then) || strings.Count(now, "\n") != 2 || !strings.Contains(now, `"state":"refused"`) || !strings.Contains(e.Note, "status 403") {
		t.Errorf("after its outcome the file holds %q", now)
	}
	if strings.Contains(now, fake.APIKey) || strings.Contains(now, string(fake.UserKey(0))) {
		t.Errorf("a key is in the file: %q", now)
	}
}

// A bot that continues while the service refuses everything for an hour must not fill the disk.
func TestWhatIsNotSentIsRefusedAndLeavesNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 2)
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Times: -1})
		for race := 1; race <= 2; race++ {
			e, err := l.Register(t.Context(), registration(fake, race), tokens(10))
			if e.State != ledger.Refused || e.Note == "" || !errors.Is(err, horseracing.ErrRateLimited) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
				t.Errorf("%v, %v", e, err)
			}
		}
		var none context.Context
		if e, err := l.Register(none, registration(fake, 2), tokens(10)); e.State != ledger.Refused || !errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Errorf("without a context: %v, %v", e, err)
		}
		if lines := strings.Count(read(t, path), "\n"); lines != 2 || posts(fake) != 1 {
			t.Errorf("%d lines for %d requests", lines, posts(fake))
		}
	})
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
	keyless, nobody, nowhere := horseracing.Registration{Horse: 1, Race: 2}, horseracing.Registration{Race: 2, UserKey: "k"}, horseracing.Registration{Horse: 1, UserKey: "k"}
	future := `{"v":1,"service":%q,"time":"2000-06-01T00:00:00Z","horse":1,"race":99,"fee":10,"state":"sending"}` + "\n"
	past := strings.Replace(future, "2000-06-01T00:00:00Z", "1999-12-31T20:59:59Z", 1) // a second before the day in the east
	today := strings.Replace(future, "2000-06-01T00:00:00Z", "1999-12-31T21:00:00Z", 1)
	sending := strings.Replace(today, `"race":99`, `"race":2`, 1)
	entered, absent := strings.Replace(sending, "sending", "entered", 1), strings.Replace(sending, "sending", "absent", 1)
	for name, test := range map[string]struct {
		file  string
		r     horseracing.Registration // of horse 1 in race 2 if zero
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
		"without a key":                     {r: keyless, fee: tokens(10), is: horseracing.ErrInvalidArgument},
		"without a horse":                   {r: nobody, fee: tokens(10), is: horseracing.ErrInvalidArgument},
		"without a race":                    {r: nowhere, fee: tokens(10), is: horseracing.ErrInvalidArgument},
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
			fake, path := newFake(t, 2), filepath.Join(t.TempDir(), "l")
			file := ""
			if test.file != "" {
				file = fmt.Sprintf(test.file, fake.URL)
			}
			write(t, path, file)
			l, r := open(t, path, fake.Client(), test.opts...), test.r
			if r == (horseracing.Registration{}) {
				r = registration(fake, 2)
			}
			checked := l.Check(r, test.fee)
			e, err := l.Register(t.Context(), r, test.fee)
			if !errors.Is(err, test.is) || fmt.Sprint(checked) != fmt.Sprint(err) || (posts(fake) == 1) != (test.is == nil) {
				t.Fatalf("Register: %v, Check: %v; want %v; %d sent", err, checked, test.is, posts(fake))
			}
			if err != nil && (!strings.Contains(err.Error(), path) || read(t, path) != file || (e != ledger.Entry{}) != (test.is == ledger.ErrEntered || test.is == ledger.ErrUnsettled)) {
				t.Errorf("%v, %v; the file holds %q", e, err, read(t, path))
			}
			if limit, ok := errors.AsType[*ledger.LimitError](err); ok != (test.limit > 0) || ok && !limit.Limit.Equal(tokens(test.limit)) {
				t.Errorf("%+v", limit)
			}
			if got := slices.Collect(open(t, path, fake.Client()).Entries()); err == nil && !slices.Contains(got, e) {
				t.Errorf("opened again: %v, want %v", got, e)
			}
		})
	}
}

// A registration can wait from one day into the next before it is sent.
func TestABudgetOfADayCountsTheDayOnWhichTheLineWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(24*time.Hour - 30*time.Second)
		fake := newFake(t, 2)
		limiter := double.WaitFunc(func(context.Context) error { time.Sleep(time.Minute); return nil })
		l := open(t, filepath.Join(t.TempDir(), "l"), fake.Client(horseracing.WithLimiter(limiter)), ledger.WithDailyBudget(tokens(10), time.UTC))
		if e, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil || e.Time.Day() != 2 {
			t.Errorf("%v, %v", e, err)
		}
		if err := l.Check(registration(fake, 2), tokens(10)); !errors.Is(err, ledger.ErrBudget) {
			t.Errorf("the next on that day: %v", err)
		}
	})
}
