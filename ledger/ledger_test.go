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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
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
		"the request is lost":      {lostRequest, ledger.Unknown, horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled},
		"the service is overtaxed": {horseracingtest.Fault{Status: 503}, ledger.Unknown, horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled},
		"refused":                  {horseracingtest.Fault{Status: 409, Body: `{"error":"too late"}`}, ledger.Refused, nil, nil},
		"the key is refused":       {horseracingtest.Fault{Status: 401}, ledger.Refused, horseracing.ErrUnauthorized, nil},
		"rate limited":             {horseracingtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"600"}}}, ledger.Refused, horseracing.ErrRateLimited, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, path, l := newLedger(t, 2)
				test.fault.Path = registerPath
				fake.Inject(test.fault)
				r := registration(fake, 1)
				sent := time.Now().UTC()
				e, err := l.Register(t.Context(), r, tokens(10))
				if test.is != nil && !errors.Is(err, test.is) || (err == nil) != (test.state == ledger.Entered) || (e.Note == "") != (err == nil) {
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
				before, checked := posts(fake), l.Check(r, tokens(10))
				second, err := l.Register(t.Context(), r, tokens(10))
				if !errors.Is(err, test.second) || fmt.Sprint(checked) != fmt.Sprint(err) || test.second != nil && !cmp.Equal(second, e) {
					t.Errorf("Register again: %v, %v, Check: %v; want %v", second, err, checked, test.second)
				}
				if sent := posts(fake) > before; sent != (test.second == nil) {
					t.Errorf("sent again is %v", sent)
				}
			})
		})
	}
}

func TestALineIsInTheFileBeforeTheRequestIsSent(t *testing.T) {
	fake, path, l := newLedger(t, 1)
	var then string
	fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		then = read(t, path)
		return horseracingtest.Response{}, false
	})
	if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil {
		t.Fatal(err)
	}
	if strings.Count(then, "\n") != 1 || !strings.Contains(then, `"state":"sending"`) {
		t.Errorf("when the request was received the file held %q", then)
	}
	if now := read(t, path); !strings.HasPrefix(now, then) || strings.Count(now, "\n") != 2 || !strings.Contains(now, `"state":"entered"`) {
		t.Errorf("after its outcome the file holds %q", now)
	}
}

// A bot that continues while the service refuses everything for an hour must not fill the
// disk.
func TestWhatIsNotSentIsRefusedAndLeavesNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 50)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err := l.Register(canceled, registration(fake, 1), tokens(10)); e.State != ledger.Refused || e.Note == "" || !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v, %v", e, err)
		}
		fake.Inject(horseracingtest.Fault{Path: "/", Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Times: -1})
		for range 55 {
			for race := 1; race <= 50; race++ {
				e, err := l.Register(t.Context(), registration(fake, race), tokens(10))
				if e.State != ledger.Refused || e.Note == "" || !errors.Is(err, horseracing.ErrRateLimited) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
					t.Fatalf("%v, %v", e, err)
				}
			}
			time.Sleep(time.Minute)
		}
		if lines, sent := strings.Count(read(t, path), "\n"), posts(fake); lines > 2*sent || sent > 55 {
			t.Errorf("%d lines for %d requests", lines, sent)
		}
	})
}

// What is being sent counts for everybody. A call that ends in a panic leaves the same line as a
// process that is killed.
func TestAPairThatIsBeingSentIsUnsettledAndCanBeSettledAndDecided(t *testing.T) {
	fake := newFake(t, 3)
	path := filepath.Join(t.TempDir(), "l")
	killed := open(t, path, fake.Client(horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if _, err := next.RoundTrip(r); err != nil {
				t.Error(err)
			}
			panic("in a wrapper")
		})
	})))
	for race := 1; race <= 2; race++ {
		func() {
			defer func() { _ = recover() }()
			e, err := killed.Register(t.Context(), registration(fake, race), tokens(10))
			t.Errorf("it returned %v, %v", e, err)
		}()
	}
	l := open(t, path, fake.Client(), ledger.WithBudget(tokens(29)))
	expectStates(t, l, "1 sending", "2 sending")
	if e, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) || e.State != ledger.Sending {
		t.Errorf("the same pair: %v, %v", e, err)
	}
	if err := l.Check(registration(fake, 3), tokens(10)); !errors.Is(err, ledger.ErrBudget) {
		t.Errorf("what may be paid does not count: %v", err)
	}
	if paid := l.Paid(time.Time{}); !paid.Equal(tokens(20)) {
		t.Errorf("paid %s", paid)
	}
	if err := l.Decide(fake.Horses(0)[0], 2, ledger.Absent, ""); err != nil {
		t.Error(err)
	}
	if err := l.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	expectStates(t, l, "1 entered", "2 absent")
}

func TestFeesThatAreNotAllowed(t *testing.T) {
	power := func(of int64) horseracing.BigInt {
		return horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(of), nil))
	}
	free, highest := ledger.WithFreeRaces(), ledger.WithMaxFee(tokens(10))
	day := func(n int64) ledger.Option { return ledger.WithDailyBudget(tokens(n), time.UTC) }
	for name, test := range map[string]struct {
		fee   horseracing.BigInt
		opts  []ledger.Option
		is    error
		limit int64 // of the LimitError, if there is one
	}{
		"left out":                        {tokens(0), nil, ledger.ErrFee, 0},
		"negative":                        {tokens(-1), nil, ledger.ErrFee, 0},
		"negative and free":               {tokens(-1), []ledger.Option{free}, nil, 0},
		"free with a budget of zero":      {tokens(0), []ledger.Option{free, ledger.WithBudget(tokens(0))}, nil, 0},
		"the highest":                     {tokens(10), []ledger.Option{highest}, nil, 0},
		"too high":                        {tokens(11), []ledger.Option{highest}, ledger.ErrFee, 10},
		"of 100 digits":                   {power(99), nil, nil, 0},
		"of 101 digits":                   {power(100), nil, ledger.ErrFee, 0}, // its line could not be read again
		"with a budget of zero for a day": {tokens(1), []ledger.Option{day(0)}, ledger.ErrBudget, 0},
		"the whole budget":                {tokens(10), []ledger.Option{ledger.WithBudget(tokens(10)), day(10)}, nil, 0},
		"more than the budget":            {tokens(11), []ledger.Option{ledger.WithBudget(tokens(10))}, ledger.ErrBudget, 10},
		"more than the budget of a day":   {tokens(11), []ledger.Option{day(10)}, ledger.ErrBudget, 10},
	} {
		t.Run(name, func(t *testing.T) {
			fake, path, l := newLedger(t, 1, test.opts...)
			checked := l.Check(registration(fake, 1), test.fee)
			e, err := l.Register(t.Context(), registration(fake, 1), test.fee)
			if !errors.Is(err, test.is) || fmt.Sprint(checked) != fmt.Sprint(err) || (posts(fake) == 1) != (test.is == nil) {
				t.Fatalf("Register: %v, Check: %v; want %v; %d sent", err, checked, test.is, posts(fake))
			}
			if err != nil && (!strings.Contains(err.Error(), path) || read(t, path) != "" || e != ledger.Entry{}) {
				t.Errorf("%v, %v; the file holds %q", e, err, read(t, path))
			}
			if limit, ok := errors.AsType[*ledger.LimitError](err); test.limit > 0 && !(ok && limit.Amount.Equal(test.fee) && limit.Limit.Equal(tokens(test.limit))) {
				t.Errorf("%+v", limit)
			}
			l = open(t, path, fake.Client())
			if got := slices.Collect(l.Entries()); err == nil && !(len(got) == 1 && cmp.Equal(got[0], e)) {
				t.Errorf("opened again: %v, want %v", got, e)
			}
			if paid := l.Paid(time.Time{}); err == nil && test.fee.Cmp(tokens(0)) > 0 && !paid.Equal(test.fee) || paid.Cmp(tokens(0)) < 0 {
				t.Errorf("paid %s for %s", paid, test.fee)
			}
		})
	}
}

func TestTheFeeIsCheckedBeforeThePairAndThePairBeforeTheBudget(t *testing.T) {
	fake, _, l := newLedger(t, 1, ledger.WithBudget(tokens(10)), ledger.WithMaxFee(tokens(20)))
	r := registration(fake, 1)
	if _, err := l.Register(t.Context(), r, tokens(10)); err != nil {
		t.Fatal(err)
	}
	other, keyless := r, r
	other.Race, keyless.UserKey = 2, ""
	for _, test := range []struct {
		r   horseracing.Registration
		fee int64
		is  error
	}{
		{r, 21, ledger.ErrFee},
		{r, 10, ledger.ErrEntered},
		{other, 1, ledger.ErrBudget},
		{keyless, 10, horseracing.ErrInvalidArgument},
		{horseracing.Registration{Race: 1, UserKey: "k"}, 10, horseracing.ErrInvalidArgument},
		{horseracing.Registration{Horse: 1, UserKey: "k"}, 10, horseracing.ErrInvalidArgument},
	} {
		if err := l.Check(test.r, tokens(test.fee)); !errors.Is(err, test.is) {
			t.Errorf("race %d for %d: %v, want %v", test.r.Race, test.fee, err, test.is)
		}
	}
}

func TestABudgetOfADayCountsTheDayOfTheLineInItsLocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight, UTC
		fake := newFake(t, 0)
		limiter := limiter(func(context.Context) error { time.Sleep(time.Minute); return nil })
		east := ledger.WithDailyBudget(tokens(10), time.FixedZone("east", 3*60*60))
		l := open(t, filepath.Join(t.TempDir(), "l"), fake.Client(horseracing.WithLimiter(limiter)), east)
		register := func(race int) (ledger.Entry, error) {
			return l.Register(t.Context(), registration(fake, race), tokens(10))
		}
		time.Sleep(21*time.Hour - 65*time.Second) // the day ends in the east 5 seconds after the first line
		addRaces(fake, 1, 9)
		fake.Inject(horseracingtest.Fault{Path: registerPath, Delay: 25 * time.Second})
		if e, err := register(1); err != nil || e.Time.Equal(time.Now()) {
			t.Fatalf("%v, %v", e, err)
		}
		if e, err := register(2); err != nil || !e.Time.Equal(time.Now()) {
			t.Errorf("on the next day: %v, %v", e, err)
		}
		if _, err := register(3); !errors.Is(err, ledger.ErrBudget) {
			t.Errorf("a second one on a day: %v", err)
		}
		time.Sleep(24*time.Hour - 2*time.Minute - 30*time.Second)
		addRaces(fake, 1, 9)
		if _, err := register(4); !errors.Is(err, ledger.ErrBudget) {
			t.Errorf("before the next day: %v", err)
		}
	})
}

// What a clock sent that was ahead may have been paid on any day.
func TestAnEntryFromTheFutureCountsOnEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path := newFake(t, 0), filepath.Join(t.TempDir(), "l")
		text := fmt.Sprintf(`{"v":1,"service":%q,"time":"2000-06-01T00:00:00Z","horse":1,"race":99,"fee":10,"state":"sending"}`+"\n", fake.URL)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, path, fake.Client(), ledger.WithDailyBudget(tokens(20), time.UTC))
		for day := range 3 {
			addRaces(fake, 10*day+1, 10*day+2)
			if e, err := l.Register(t.Context(), registration(fake, 10*day+1), tokens(10)); err != nil {
				t.Errorf("%v, %v", e, err)
			}
			_, err := l.Register(t.Context(), registration(fake, 10*day+2), tokens(10))
			if !errors.Is(err, ledger.ErrBudget) || !strings.Contains(err.Error(), time.Now().UTC().Format(time.DateOnly)) {
				t.Errorf("a third one on a day: %v", err)
			}
			time.Sleep(24 * time.Hour)
		}
	})
}

func TestOfAHundredAtOnceUnderABudgetForTenTenAreSent(t *testing.T) {
	fake, _, l := newLedger(t, 100, ledger.WithBudget(tokens(109)))
	errs := make([]error, 100)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = l.Register(t.Context(), registration(fake, 1+i), tokens(10)) })
	}
	all.Wait()
	entered := 0
	for _, err := range errs {
		if err == nil {
			entered++
		} else if !errors.Is(err, ledger.ErrBudget) {
			t.Error(err)
		}
	}
	if entered != 10 || posts(fake) != 10 || len(fake.Registrations()) != 10 {
		t.Errorf("%d entered, %d sent, %d paid", entered, posts(fake), len(fake.Registrations()))
	}
}

func TestEntriesAreOrderedByWhenTheyWereLastSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 4)
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 404})
		for _, race := range []int{2, 3, 2, 1} {
			time.Sleep(time.Second)
			l.Register(t.Context(), registration(fake, race), tokens(10))
		}
		time.Sleep(time.Second)
		for e := range l.Entries() { // within which another one can be registered
			if _, err := l.Register(t.Context(), registration(fake, 4), tokens(10)); err != nil || e.Race != 3 {
				t.Errorf("race %d: %v", e.Race, err)
			}
			break
		}
		for _, l := range []*ledger.Ledger{l, open(t, path, fake.Client())} {
			expectStates(t, l, "3 entered", "2 entered", "1 entered", "4 entered")
		}
	})
}

func TestANoteSaysWhatTheServiceSaidAndNoKeyIsInTheFile(t *testing.T) {
	fake, path, l := newLedger(t, 2)
	words := `{"error":"too late\u001b[2J for ` + fake.APIKey + " of " + string(fake.UserKey(0)) + strings.Repeat(" and more", 1000) + `"}`
	for race, status := range []int{403, 500} {
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: status, Body: words})
		e, _ := l.Register(t.Context(), registration(fake, race+1), tokens(10))
		if !strings.Contains(e.Note, fmt.Sprint("status ", status)) || !strings.Contains(e.Note, "too late") || len(e.Note) > 1000 || strings.Contains(e.Note, "\x1b") {
			t.Errorf("%q", e.Note)
		}
	}
	for _, key := range []string{fake.APIKey, string(fake.UserKey(0))} {
		if text := read(t, path); strings.Contains(text, key) {
			t.Errorf("the file holds a key:\n%s", text)
		}
	}
}

type limiter func(context.Context) error

func (f limiter) Wait(ctx context.Context) error { return f(ctx) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
