package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	t.Cleanup(func() { l.Close() })
	return l
}

// newLedger starts such a fake, and opens a new ledger for it.
func newLedger(t testing.TB, n int, opts ...ledger.Option) (*horseracingtest.Server, string, *ledger.Ledger) {
	t.Helper()
	fake, path := newFake(t, n), filepath.Join(t.TempDir(), "l")
	return fake, path, open(t, path, fake.Client(), opts...)
}

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

var (
	lostRequest  = horseracingtest.Fault{ResetBefore: true}
	lostResponse = horseracingtest.Fault{ResetAfter: true}
)

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

// states returns the state of each race's entry, in the order of the entries.
func states(l *ledger.Ledger) []string {
	var all []string
	for e := range l.Entries() {
		all = append(all, fmt.Sprintf("%d %s", e.Race, e.State))
	}
	return all
}

// expectStates fails the test unless the states of the entries are those.
func expectStates(t *testing.T, l *ledger.Ledger, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, states(l)); diff != "" {
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
		"the response is lost":     {horseracingtest.Fault{ResetAfter: true}, ledger.Unknown, horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled},
		"the request is lost":      {horseracingtest.Fault{ResetBefore: true}, ledger.Unknown, horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled},
		"the service is overtaxed": {horseracingtest.Fault{Status: 503}, ledger.Unknown, horseracing.ErrOutcomeUnknown, ledger.ErrUnsettled},
		"refused":                  {horseracingtest.Fault{Status: 409, Body: `{"error":"too late"}`}, ledger.Refused, nil, nil},
		"the key is refused":       {horseracingtest.Fault{Status: 401}, ledger.Refused, horseracing.ErrUnauthorized, nil},
		"rate limited":             {horseracingtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"3600"}}}, ledger.Refused, horseracing.ErrRateLimited, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, path, l := newLedger(t, 2)
				test.fault.Path = registerPath
				fake.Inject(test.fault)
				r := registration(fake, 1)
				sent := time.Now().UTC()
				e, err := l.Register(t.Context(), r, tokens(10))
				if test.is != nil && !errors.Is(err, test.is) || (err == nil) != (test.state == ledger.Entered) {
					t.Errorf("Register: %v", err)
				}
				want := ledger.Entry{Time: sent, Horse: r.Horse, Race: 1, Fee: tokens(10), State: test.state, Note: e.Note}
				if diff := cmp.Diff(want, e); diff != "" {
					t.Errorf("the entry differs (-want +got):\n%s", diff)
				}
				if (e.Note == "") != (err == nil) {
					t.Errorf("note %q, error %v", e.Note, err)
				}
				if got := slices.Collect(l.Entries()); len(got) != 1 || got[0] != e {
					t.Errorf("Entries: %v, want %v", got, e)
				}
				l.Close()
				l = open(t, path, fake.Client(), ledger.WithBudget(tokens(19)))
				if got := slices.Collect(l.Entries()); len(got) != 1 || !cmp.Equal(got[0], e) {
					t.Errorf("opened again: %v, want %v", got, e)
				}
				counts := test.state != ledger.Refused
				if err := l.Check(registration(fake, 2), tokens(10)); errors.Is(err, ledger.ErrBudget) != counts || l.Paid(time.Time{}).IsZero() == counts {
					t.Errorf("the next: %v; paid %s", err, l.Paid(time.Time{}))
				}
				time.Sleep(time.Hour / 2)
				before := posts(fake)
				checked := l.Check(r, tokens(10))
				second, err := l.Register(t.Context(), r, tokens(10))
				if !errors.Is(err, test.second) || fmt.Sprint(checked) != fmt.Sprint(err) {
					t.Errorf("Register again: %v, Check: %v; want %v", err, checked, test.second)
				}
				if sent := posts(fake) > before; sent != (test.second == nil) {
					t.Errorf("sent again is %v", sent)
				}
				if test.second != nil && !cmp.Equal(second, e) {
					t.Errorf("with the error comes %v, want %v", second, e)
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
	if then = read(t, path); then != "" {
		t.Errorf("a new ledger holds %q", then)
	}
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

func TestARegistrationThatIsNeverSentIsRefused(t *testing.T) {
	fake, _, l := newLedger(t, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := l.Register(ended, registration(fake, 1), tokens(10)); e.State != ledger.Refused || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", e, err)
	}
	var none context.Context
	if e, err := l.Register(none, registration(fake, 1), tokens(10)); e.State != ledger.Refused || !errors.Is(err, horseracing.ErrInvalidArgument) {
		t.Errorf("without a context: %v, %v", e, err)
	}
	if e, err := l.Register(t.Context(), registration(fake, 1), tokens(10), horseracing.AsBackground()); e.State != ledger.Refused || !errors.Is(err, horseracing.ErrInvalidArgument) {
		t.Errorf("%v, %v", e, err)
	}
	if n := posts(fake); n != 0 {
		t.Errorf("%d were sent", n)
	}
	var response horseracing.Response
	if e, err := l.Register(t.Context(), registration(fake, 1), tokens(10), horseracing.CaptureResponse(&response)); e.State != ledger.Entered || err != nil || response.StatusCode != 200 {
		t.Errorf("%v, %v, status %d", e, err, response.StatusCode)
	}
	if got := states(l); len(got) != 1 {
		t.Errorf("one pair has entries %v", got)
	}
}

func TestACallThatDoesNotReturnIsUnknownAndCanBeSettledOrDecided(t *testing.T) {
	for name, end := range map[string]func(){"a panic": func() { panic("in a wrapper") }, "runtime.Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t, 3)
			path := filepath.Join(t.TempDir(), "l")
			client := fake.Client(horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					resp, err := next.RoundTrip(r)
					if r.Method == http.MethodPost {
						end()
					}
					return resp, err
				})
			}))
			l := open(t, path, client, ledger.WithBudget(tokens(29)))
			for race := 1; race <= 2; race++ {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					e, err := l.Register(t.Context(), registration(fake, race), tokens(10))
					if !errors.Is(err, horseracing.ErrOutcomeUnknown) {
						t.Errorf("it returned %v, %v", e, err)
					}
				}()
				<-ended
			}
			expectStates(t, l, []string{"1 unknown", "2 unknown"})
			if err := l.Check(registration(fake, 3), tokens(10)); !errors.Is(err, ledger.ErrBudget) {
				t.Errorf("what may be paid does not count: %v", err)
			}
			if err := l.Decide(fake.Horses(0)[0], 2, ledger.Absent, ""); err != nil {
				t.Error(err)
			}
			if err := l.Settle(t.Context()); err != nil {
				t.Error(err)
			}
			l.Close()
			expectStates(t, open(t, path, client), []string{"1 entered", "2 absent"})
		})
	}
}

func TestACallThatEndsBeforeItIsSentIsRefused(t *testing.T) {
	fake := newFake(t, 1)
	path := filepath.Join(t.TempDir(), "l")
	l := open(t, path, fake.Client(horseracing.WithLimiter(limiter(func(context.Context) error { panic("in a limiter") }))))
	func() {
		defer func() { _ = recover() }()
		l.Register(t.Context(), registration(fake, 1), tokens(10))
	}()
	if got := states(l); len(got) != 1 || got[0] != "1 refused" || posts(fake) != 0 || read(t, path) != "" {
		t.Errorf("entries %v, %d sent, the file holds %q", got, posts(fake), read(t, path))
	}
}

type limiter func(context.Context) error

func (f limiter) Wait(ctx context.Context) error { return f(ctx) }

// A bot that continues while the service refuses everything for an hour must not fill the
// disk.
func TestWhatIsNotSentLeavesNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 50)
		fake.Inject(horseracingtest.Fault{Path: "/", Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Times: -1})
		if e, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); e.State != ledger.Refused || !errors.Is(err, horseracing.ErrRateLimited) {
			t.Fatalf("%v, %v", e, err)
		}
		texts := map[string]bool{}
		for range 55 {
			for race := 1; race <= 50; race++ {
				e, err := l.Register(t.Context(), registration(fake, race), tokens(10))
				if e.State != ledger.Refused || e.Note == "" || !errors.Is(err, horseracing.ErrRateLimited) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
					t.Fatalf("%v, %v", e, err)
				}
				texts[e.Note] = true
			}
			time.Sleep(time.Minute)
		}
		if len(texts) > 1 {
			t.Errorf("the same refusal has %d texts, one of which is %q", len(texts), slices.Collect(maps.Keys(texts))[0])
		}
		if lines, sent := strings.Count(read(t, path), "\n"), posts(fake); lines > 2*sent || sent > 55 {
			t.Errorf("%d lines for %d requests", lines, sent)
		}
		fake.ClearFaults()
		time.Sleep(10 * time.Minute)
		addRaces(fake, 1, 50)
		if e, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); err != nil {
			t.Errorf("afterwards: %v, %v", e, err)
		}
	})
}

func TestAPairThatIsBeingSentIsUnsettledForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, _, l := newLedger(t, 2, ledger.WithBudget(tokens(15)))
		fake.Inject(horseracingtest.Fault{Path: registerPath, Delay: time.Second})
		done := make(chan error)
		go func() {
			_, err := l.Register(t.Context(), registration(fake, 1), tokens(10))
			done <- err
		}()
		synctest.Wait()
		if e, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) || e.State != ledger.Sending {
			t.Errorf("the same pair: %v, %v", e, err)
		}
		if err := l.Check(registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) {
			t.Errorf("Check of the same pair: %v", err)
		}
		if _, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); !errors.Is(err, ledger.ErrBudget) {
			t.Errorf("what is being sent does not count against the budget: %v", err)
		}
		if err := l.Decide(fake.Horses(0)[0], 1, ledger.Absent, ""); !errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Errorf("Decide: %v", err)
		}
		if paid := l.Paid(time.Time{}); !paid.IsZero() {
			t.Errorf("%s paid while it is being sent", paid)
		}
		if err := l.Settle(t.Context()); err != nil {
			t.Errorf("Settle: %v", err)
		}
		if err := <-done; err != nil || posts(fake) != 1 {
			t.Errorf("the first: %v; %d sent", err, posts(fake))
		}
	})
}

func TestFeesThatAreNotAllowed(t *testing.T) {
	huge := tokens(10)
	if err := huge.UnmarshalText([]byte("1" + strings.Repeat("0", 99))); err != nil {
		t.Fatal(err)
	}
	limited := ledger.WithMaxFee(tokens(10))
	for name, test := range map[string]struct {
		fee  horseracing.BigInt
		opts []ledger.Option
		is   error
	}{
		"left out":                        {tokens(0), nil, ledger.ErrFee},
		"negative":                        {tokens(-1), nil, ledger.ErrFee},
		"negative and free":               {tokens(-1), []ledger.Option{ledger.WithFreeRaces()}, nil},
		"free":                            {tokens(0), []ledger.Option{ledger.WithFreeRaces()}, nil},
		"free with a budget of zero":      {tokens(0), []ledger.Option{ledger.WithFreeRaces(), ledger.WithBudget(tokens(0))}, nil},
		"the highest":                     {tokens(10), []ledger.Option{limited}, nil},
		"too high":                        {tokens(11), []ledger.Option{limited}, ledger.ErrFee},
		"of 100 digits":                   {huge, nil, nil},
		"with a budget of zero":           {tokens(1), []ledger.Option{ledger.WithBudget(tokens(0))}, ledger.ErrBudget},
		"with a budget of zero for a day": {tokens(1), []ledger.Option{ledger.WithDailyBudget(tokens(0), time.UTC)}, ledger.ErrBudget},
		"the whole budget":                {tokens(10), []ledger.Option{ledger.WithBudget(tokens(10)), ledger.WithDailyBudget(tokens(10), time.UTC)}, nil},
		"more than the budget":            {tokens(11), []ledger.Option{ledger.WithBudget(tokens(10))}, ledger.ErrBudget},
	} {
		t.Run(name, func(t *testing.T) {
			fake, path, l := newLedger(t, 1, test.opts...)
			checked := l.Check(registration(fake, 1), test.fee)
			e, err := l.Register(t.Context(), registration(fake, 1), test.fee)
			if !errors.Is(err, test.is) || fmt.Sprint(checked) != fmt.Sprint(err) {
				t.Fatalf("Register: %v, Check: %v; want %v", err, checked, test.is)
			}
			if sent := posts(fake) == 1; sent != (test.is == nil) {
				t.Errorf("sent is %v", sent)
			}
			if err != nil && (!strings.Contains(err.Error(), path) || read(t, path) != "") {
				t.Errorf("%v; the file holds %q", err, read(t, path))
			}
			l.Close()
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

func TestALimitErrorHasTheAmountAndTheLimit(t *testing.T) {
	for name, test := range map[string]struct {
		opt  ledger.Option
		want ledger.LimitError
	}{
		"the fee":          {ledger.WithMaxFee(tokens(9)), ledger.LimitError{Err: ledger.ErrFee, Amount: tokens(10), Limit: tokens(9)}},
		"the budget":       {ledger.WithBudget(tokens(19)), ledger.LimitError{Err: ledger.ErrBudget, Amount: tokens(20), Limit: tokens(19)}},
		"that of the day":  {ledger.WithDailyBudget(tokens(18), time.UTC), ledger.LimitError{Err: ledger.ErrBudget, Amount: tokens(20), Limit: tokens(18)}},
		"a budget of zero": {ledger.WithBudget(tokens(0)), ledger.LimitError{Err: ledger.ErrBudget, Amount: tokens(20), Limit: tokens(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			fake, path, l := newLedger(t, 2)
			if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil {
				t.Fatal(err)
			}
			l.Close()
			_, err := open(t, path, fake.Client(), test.opt).Register(t.Context(), registration(fake, 2), tokens(10))
			limit, ok := errors.AsType[*ledger.LimitError](err)
			if !ok || !errors.Is(err, test.want.Err) || !limit.Amount.Equal(test.want.Amount) || !limit.Limit.Equal(test.want.Limit) || posts(fake) != 1 {
				t.Errorf("%v (%+v), want %v; %d sent", err, limit, &test.want, posts(fake))
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
	other := r
	other.Race = 2
	invalid := r
	invalid.UserKey = ""
	for _, test := range []struct {
		r   horseracing.Registration
		fee int64
		is  error
	}{
		{r, 21, ledger.ErrFee},
		{r, 10, ledger.ErrEntered},
		{other, 1, ledger.ErrBudget},
		{invalid, 10, horseracing.ErrInvalidArgument},
		{horseracing.Registration{Race: 1, UserKey: "k"}, 10, horseracing.ErrInvalidArgument},
	} {
		if err := l.Check(test.r, tokens(test.fee)); !errors.Is(err, test.is) {
			t.Errorf("race %d for %d: %v, want %v", test.r.Race, test.fee, err, test.is)
		}
	}
}

func TestTheDayOfABudgetIsThatOfTheSendingInItsLocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight, UTC
		fake := newFake(t, 9)
		east := time.FixedZone("east", 3*60*60)
		l := open(t, filepath.Join(t.TempDir(), "l"), fake.Client(), ledger.WithDailyBudget(tokens(10), east))
		register := func(race int) error {
			_, err := l.Register(t.Context(), registration(fake, race), tokens(10))
			return err
		}
		fake.Inject(horseracingtest.Fault{Path: registerPath, Delay: 25 * time.Second, ResetAfter: true})
		time.Sleep(21*time.Hour - 20*time.Second) // 20 seconds before the day ends in the east
		addRaces(fake, 1, 9)
		start := time.Now()
		if err := register(1); !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Fatal(err)
		}
		if time.Since(start) < 20*time.Second {
			t.Fatal("the outcome came before the day ended")
		}
		if err := l.Settle(t.Context()); err != nil { // its line is of the next day
			t.Fatal(err)
		}
		if err := register(2); err != nil {
			t.Errorf("on the next day: %v", err)
		}
		if err := register(3); !errors.Is(err, ledger.ErrBudget) {
			t.Errorf("a second one on a day: %v", err)
		}
		if today := l.Paid(start.Add(20 * time.Second)); !today.Equal(tokens(10)) {
			t.Errorf("since the day began %s were paid", today)
		}
	})
}

func TestARegistrationThatWaitsPastMidnightIsOfTheNewDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight, UTC
		fake := newFake(t, 0)
		wait := func(context.Context) error { time.Sleep(time.Minute); return nil }
		path := filepath.Join(t.TempDir(), "l")
		l := open(t, path, fake.Client(horseracing.WithLimiter(limiter(wait))), ledger.WithDailyBudget(tokens(10), time.UTC))
		var all sync.WaitGroup
		var refused atomic.Int64
		register := func(race int) {
			all.Go(func() {
				switch e, err := l.Register(t.Context(), registration(fake, race), tokens(10)); {
				case err == nil && e.Time.Equal(time.Now()):
				case errors.Is(err, ledger.ErrBudget) && e.State == ledger.Refused && !errors.Is(err, horseracing.ErrOutcomeUnknown):
					refused.Add(1)
				default:
					t.Errorf("race %d: %v, %v", race, e, err)
				}
			})
		}
		time.Sleep(24*time.Hour - 30*time.Second)
		addRaces(fake, 1, 2)
		register(1) // sent on the second day, as is the other one
		time.Sleep(30 * time.Second)
		register(2)
		all.Wait()
		if lines := strings.Count(read(t, path), "\n"); refused.Load() != 1 || posts(fake) != 1 || lines != 2 {
			t.Errorf("%d refused, %d sent, %d lines", refused.Load(), posts(fake), lines)
		}
		time.Sleep(48*time.Hour - 90*time.Second)
		addRaces(fake, 3, 3)
		register(3) // alone
		all.Wait()
	})
}

// What a clock sent that was ahead may have been paid on any day.
func TestAnEntryFromTheFutureCountsOnEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(t, 2)
		path := filepath.Join(t.TempDir(), "l")
		text := fmt.Sprintf(`{"v":1,"service":%q,"time":"2000-06-01T00:00:00Z","horse":1,"race":99,"fee":10,"state":"sending"}`+"\n", fake.URL)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, path, fake.Client(), ledger.WithDailyBudget(tokens(20), time.UTC))
		for day := range 3 {
			addRaces(fake, 10*day+1, 10*day+2)
			if e, err := l.Register(t.Context(), registration(fake, 10*day+1), tokens(10)); err != nil || !e.Time.Equal(time.Now()) {
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
	var entered, refused atomic.Int64
	var all sync.WaitGroup
	for race := 1; race <= 100; race++ {
		all.Go(func() {
			switch e, err := l.Register(t.Context(), registration(fake, race), tokens(10)); {
			case err == nil && e.State == ledger.Entered:
				entered.Add(1)
			case errors.Is(err, ledger.ErrBudget):
				refused.Add(1)
			default:
				t.Errorf("race %d: %v, %v", race, e, err)
			}
		})
	}
	all.Wait()
	if entered.Load() != 10 || refused.Load() != 90 || posts(fake) != 10 || len(fake.Registrations()) != 10 {
		t.Errorf("%d entered, %d refused, %d sent, %d paid", entered.Load(), refused.Load(), posts(fake), len(fake.Registrations()))
	}
}

func TestEntriesAreOrderedByWhenTheyWereLastSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 4)
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400})
		for _, race := range []int{2, 3, 2, 1} {
			time.Sleep(time.Second)
			l.Register(t.Context(), registration(fake, race), tokens(10))
		}
		want := []string{"3 entered", "2 entered", "1 entered"}
		expectStates(t, l, want)
		time.Sleep(time.Second)
		for e := range l.Entries() { // within which it can be registered
			if _, err := l.Register(t.Context(), registration(fake, 4), tokens(10)); err != nil || e.Race != 3 {
				t.Errorf("race %d: %v", e.Race, err)
			}
			break
		}
		l.Close()
		expectStates(t, open(t, path, fake.Client()), append(want, "4 entered"))
	})
}

func TestANoteQuotesWhatTheServiceSaidAndNoKeyIsInTheFile(t *testing.T) {
	fake, path, l := newLedger(t, 4)
	words := `{"error":"too late\u001b[2J for ` + fake.APIKey + " of " + string(fake.UserKey(0)) + strings.Repeat(" and more", 100) + `"}`
	fake.Inject(
		horseracingtest.Fault{Path: registerPath, Status: 400, Body: words},
		horseracingtest.Fault{Path: registerPath, Status: 409, Body: `{"error":"already in"}`},
		horseracingtest.Fault{Path: registerPath, Status: 500, Body: words},
	)
	for race, want := range []string{`status 400: "too late`, `status 409: "already in"`, `status 500: "too late`, ""} {
		e, _ := l.Register(t.Context(), registration(fake, race+1), tokens(10))
		if !strings.HasPrefix(e.Note, want) || len(e.Note) > 300 || strings.Contains(e.Note, "\x1b") {
			t.Errorf("%q", e.Note)
		}
	}
	expectStates(t, l, []string{"1 refused", "2 refused", "3 unknown", "4 entered"})
	for _, key := range []string{fake.APIKey, string(fake.UserKey(0))} {
		if text := read(t, path); strings.Contains(text, key) {
			t.Errorf("the file holds a key:\n%s", text)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
