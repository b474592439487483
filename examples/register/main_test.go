package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
	"github.com/horseracing-go/horseracing/ledger/sqlite"
)

const asProgram = "REGISTER_AS_PROGRAM" // the test binary is the program

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const registerPath = "/api/v1/races/register"

// try runs a test of a bot of horse 1, under a virtual clock, with a fake in memory whose races
// 1 to 3 close in an hour and cost a token each.
func try(t *testing.T, test func(t *testing.T, fake *horseracingtest.Server, b *bot)) {
	t.Helper()
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		addRaces(fake, tokens("1"), 1, 2, 3)
		db := double.Must(sqlite.Open(filepath.Join(t.TempDir(), "l.db")))
		defer db.Close()
		database = db
		double.NoError(t, ledger.Create(t.Context(), db, fake.Client()))
		l := double.Must(ledger.Open(t.Context(), db, fake.Client(), ledger.WithBudget(tokens("3"))))
		test(t, fake, &bot{
			client: fake.Client(), ledger: l, horse: 1, userKey: fake.UserKey(0), pays: true, atOnce: 3, out: new(strings.Builder),
			refused: map[horseracing.RaceID]bool{}, printed: map[horseracing.RaceID]string{},
		})
	}, horseracingtest.WithSchedule(0))
}

var database *sql.DB // of the test that runs

// addRaces adds races that close in an hour.
func addRaces(fake *horseracingtest.Server, fee horseracing.BigInt, ids ...horseracing.RaceID) {
	closes := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	for _, id := range ids {
		fake.AddRaces(horseracing.Race{MainRaceID: id, StartTime: closes, RegistrationDeadline: closes, EntryFee: fee, Participants: []horseracing.RaceParticipant{{Number: 9999}}})
	}
}

func tokens(text string) horseracing.BigInt { return double.Must(horseracing.ParseUnits(text, 18)) }

// runFor runs the bot until it is interrupted.
func runFor(t *testing.T, b *bot, d time.Duration) {
	t.Helper()
	double.Error(t, "run", nil, "", b.run(double.Within(t, d)))
}

// expectPaid fails the test unless the service has taken the fee of each of these races once.
func expectPaid(t *testing.T, fake *horseracingtest.Server, b *bot, races ...horseracing.RaceID) {
	t.Helper()
	var paid []horseracing.RaceID
	for _, r := range fake.Registrations() {
		paid = append(paid, r.Race)
	}
	slices.Sort(paid)
	double.Equal(t, fmt.Sprintf("races whose fees are paid, with the output\n%s\n", b.out), races, paid)
}

func expectPrinted(t *testing.T, b *bot, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if text := b.out.(*strings.Builder).String(); !strings.Contains(text, part) {
			t.Errorf("it does not print %q:\n%s", part, text)
		}
	}
}

func TestTheBotSendsNothingWithoutYesAndElseEntersEachRaceOnce(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, b *bot) {
		b.pays, b.atOnce = false, 2
		runFor(t, b, time.Hour)
		expectPaid(t, fake, b)
		expectPrinted(t, b, "race 1: fits: ", "Nothing was sent.")
		b.pays = true
		runFor(t, b, 30*time.Minute)
		expectPaid(t, fake, b, 1, 2)
		expectPrinted(t, b, "race 1: entered: ", "race 3: skipped: the horse is in enough races\n")
		expectPrinted(t, b, "Tokens paid in all: 2; perhaps paid: 0\n")
		if lines := strings.Count(b.out.(*strings.Builder).String(), "\n"); lines > 10 {
			t.Errorf("thirty rounds without news print %d lines:\n%s", lines, b.out)
		}
	})
}

func TestAFeeThatIsPerhapsPaidCountsAndTheBotEntersOtherRaces(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, b *bot) {
		addRaces(fake, tokens("1.5"), 4)
		b.atOnce = 4
		fake.Inject(horseracingtest.Fault{Path: registerPath, TakesEffectAfter: 10 * time.Minute})
		runFor(t, b, 5*time.Minute)
		expectPaid(t, fake, b, 2, 3)
		expectPrinted(t, b, "race 1: perhaps paid", "race 4: skipped: ", ledger.ErrBudget.Error())
		expectPrinted(t, b, "Tokens paid in all: 2; perhaps paid: 1\n")
		runFor(t, b, 20*time.Minute) // the race lists the horse meanwhile
		expectPaid(t, fake, b, 1, 2, 3)
		expectPrinted(t, b, "race 1: the horse is in it", "Tokens paid in all: 3; perhaps paid: 0\n")
	})
}

func TestTheBotSurvivesAnOutageAndRetriesNoRefusal(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, b *bot) {
		fake.Inject(
			horseracingtest.Fault{Path: registerPath, Status: http.StatusForbidden, Body: `{"error":"too tired"}`},
			horseracingtest.Fault{Path: registerPath, Status: http.StatusTooManyRequests, Times: 5, Header: http.Header{"Retry-After": {"60"}}},
			horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusBadGateway, Times: 10},
		)
		runFor(t, b, 30*time.Minute)
		expectPaid(t, fake, b, 2, 3)
		expectPrinted(t, b, " this round ended early: ", "502", "race 1: refused: ", "too tired")
	})
}

// Signals arrive while a registration is on its way.
func TestASignalLosesNoOutcomeOfARegistration(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	for _, test := range []struct {
		signals []os.Signal
		times   int // before the response, as a slow machine may be late with the first
		status  int
		state   ledger.State
	}{
		{[]os.Signal{syscall.SIGTERM, hangup}, 1, 0, ledger.Entered},
		{[]os.Signal{os.Interrupt}, 100, 7, ledger.Sending},
	} {
		fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
		defer fake.Close()
		addRaces(fake, tokens("1"), 1)
		path := filepath.Join(t.TempDir(), "l")
		program := exec.Command(os.Args[0], "-create", "-yes", "-horse", "1", "-ledger", path)
		program.Env = append(os.Environ(), asProgram+"=1", "HORSERACING_BASE_URL="+fake.URL, "HORSERACING_API_KEY="+fake.APIKey, "HORSERACING_USER_KEY="+string(fake.UserKey(0)))
		started, ended := make(chan *os.Process, 1), make(chan struct{})
		fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			process := <-started
			for range test.times {
				for _, s := range test.signals {
					process.Signal(s)
				}
				select {
				case <-ended:
				case <-time.After(600 * time.Millisecond): // until that has an effect
				}
			}
			return horseracingtest.Response{}, false
		})
		var output strings.Builder
		program.Stdout, program.Stderr = &output, &output
		double.Error(t, "start", nil, "", program.Start())
		started <- program.Process
		_ = program.Wait() // its status counts
		close(ended)
		var states []ledger.State
		for _, e := range double.Must(ledger.Read(t.Context(), double.Must(sqlite.Open(path)))) {
			states = append(states, e.State)
		}
		double.Equal(t, output.String()+"status", test.status, program.ProcessState.ExitCode())
		double.Equal(t, output.String()+"states", []ledger.State{test.state}, states)
	}
}

func TestTheBotEndsIfTheKeyIsWrongOrTheLedgerIsGone(t *testing.T) {
	for want, spoil := range map[error]func(*horseracingtest.Server, *bot){ // the database is closed, or whatever it is
		horseracing.ErrUnauthorized: func(fake *horseracingtest.Server, _ *bot) {
			fake.Inject(horseracingtest.Fault{Status: http.StatusUnauthorized, Times: -1})
		},
		errLedger: func(_ *horseracingtest.Server, b *bot) { database.Close() },
	} {
		try(t, func(t *testing.T, fake *horseracingtest.Server, b *bot) {
			spoil(fake, b)
			double.Error(t, "run", want, "", b.run(t.Context()))
			expectPaid(t, fake, b)
		})
	}
}
