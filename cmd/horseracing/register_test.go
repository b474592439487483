package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/database"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

// newRegistration starts a fake with the open races 7, 8 and 9, and returns the arguments that
// register a horse in race 7, and the file of the ledger.
func newRegistration(t *testing.T) (fake *horseracingtest.Server, args []string, file string) {
	t.Helper()
	fake, file = newFake(t, horseracingtest.WithSchedule(0)), filepath.Join(t.TempDir(), "paid.jsonl")
	fake.AddRaces(openRace(fake, 7), openRace(fake, 8), openRace(fake, 9))
	double.NoError(t, database.Create(t.Context(), file, fake.Client()))
	return fake, []string{"register", "--ledger", file, "--horse", fmt.Sprint(fake.Horses(0)[0]), "--race", "7", "--yes"}, file
}

// registrations is a transcript with such a fake.
func registrations(t *testing.T, name string) {
	t.Helper()
	t.Parallel()
	fake, _, _ := newRegistration(t)
	transcript(t, fake, name, nil)
}

func TestRegisterPaysOnceAndOnlyWithYes(t *testing.T) { registrations(t, "register") }

// A registration whose outcome is unknown ends with status 7, and the next run settles its own
// pair alone.
func TestARegistrationWhoseOutcomeIsUnknownIsStatus7(t *testing.T) { registrations(t, "unknown") }

func TestALedgerIsDecidedOrSettled(t *testing.T) { registrations(t, "ledger") }

func TestA403IsNotAlwaysAboutTheKey(t *testing.T) { registrations(t, "forbidden") }

// Signals arrive while a request is on its way. One that registers is awaited, and its
// response decides.
func TestASignalLosesNoOutcomeOfARegistration(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	const read, post, hangup = "GET /api/v1/races/{id}", "POST /api/v1/races/register", syscall.Signal(1)
	for name, test := range map[string]struct {
		at      string
		signals []os.Signal // the last one repeated after a second if the response does not come
		status  int         // of the response to the registration; 0 enters the horse
		want    result
	}{
		"TERM and HUP at once": {post, []os.Signal{syscall.SIGTERM, hangup}, 0, result{stdout: `"state":"entered"`}},
		"INT, and a refusal":   {post, []os.Signal{os.Interrupt}, 400, result{`"state":"refused"`, "status 400", 6}},
		"INT, and no outcome":  {post, []os.Signal{os.Interrupt}, 500, result{`"state":"unknown"`, "run the same command again", 7}},
		"nothing is sent yet":  {read, []os.Signal{hangup}, 0, result{status: 129}},
		"HUP behind nohup":     {read, []os.Signal{hangup}, 0, result{stdout: `"state":"entered"`}},
		"INT, and again":       {post, []os.Signal{os.Interrupt}, -1, result{stderr: "the fee may be paid", status: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, args, file := newRegistration(t)
			arrived, goOn := make(chan struct{}), make(chan struct{})
			wait := sync.OnceFunc(func() { close(arrived); <-goOn })
			fake.Handle(test.at, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				wait()
				return horseracingtest.Response{Status: test.status}, test.status > 0
			})
			cmd := prepare(t, environment(fake), args...)
			if strings.Contains(name, "nohup") {
				nohup, err := exec.LookPath("nohup")
				if err != nil {
					t.Skip(err)
				}
				cmd.Path, cmd.Args = nohup, append([]string{nohup}, cmd.Args...)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			double.NoError(t, cmd.Start())
			<-arrived
			send := func() {
				for _, s := range test.signals {
					if err := cmd.Process.Signal(s); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(200 * time.Millisecond) // until they have an effect
			}
			send()
			if test.status < 0 {
				time.Sleep(2 * time.Second) // a slow machine may be late with the first one
				send()
				_ = cmd.Wait() // it ends without the response
			}
			close(goOn)
			_ = cmd.Wait() // its status counts
			got := result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
			double.FailIf(t, got.status != test.want.status || !strings.Contains(got.stdout, test.want.stdout) || !strings.Contains(got.stderr, test.want.stderr), "%+v, want %+v", got, test.want)
			if test.status < 0 { // the next run settles what this one left
				double.Equal(t, "it says what it waits for", true, strings.Contains(got.stderr, "waiting for the response to the registration"))
				if entries, err := database.Read(t.Context(), file); err != nil || len(entries) != 1 || entries[0].State != ledger.Sending {
					t.Errorf("%v, %v", entries, err)
				}
				waitFor(t, func() bool { return len(fake.Registrations()) == 1 })
				expect(t, environment(fake), result{stdout: `"state":"entered"`}, args...)
				double.Equal(t, "registrations", 1, len(fake.Registrations()))
			}
		})
	}
}

// With the last line of each ledger goes what it knows of a payment.
func TestWhatIsPaidAndCannotBeRecordedIsStatus7(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]result{
		200: {status: 7, stdout: `"state":"entered"`},
		500: {status: 7, stdout: `"state":"unknown"`},
		400: {status: 6, stdout: `"state":"refused"`}, // which it is, whether or not it is recorded
	} {
		if testing.Short() && status != 500 {
			continue
		}
		t.Run(strconv.Itoa(status), func(t *testing.T) { // each tries for twenty seconds to record the outcome
			t.Parallel()
			fake, args, file := newRegistration(t)
			fake.Handle("POST /api/v1/races/register", func(horseracingtest.Request) (horseracingtest.Response, bool) {
				_ = os.Truncate(file, 0)
				return horseracingtest.Response{Status: status, Body: "{}"}, true
			})
			want.stderr = file
			expect(t, environment(fake), want, args...)
		})
	}
}

// runHere runs the program in this process, and returns its exit status.
func runHere(t *testing.T, ctx context.Context, fake *horseracingtest.Server, p *program, args ...string) int {
	t.Helper()
	for _, variable := range environment(fake) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return p.exit(ctx, p.run(ctx, args))
}

// writer is standard output in this process.
type writer func(text []byte) error

func (w writer) Write(text []byte) (int, error) { return len(text), w(text) }

// Neither a full disk nor an interruption hides a payment. Nobody may take a refusal for one, not even in a
// pipeline whose reader has ended.
func TestNoOutputHidesWhatBecameOfAFee(t *testing.T) {
	closed := &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.EPIPE}
	for name, test := range map[string]struct {
		response int   // to the registration; 0 enters the horse
		output   error // while the program is interrupted
		status   int
		saysPaid bool
	}{
		"paid":                          {},
		"paid, and the disk is full":    {output: syscall.ENOSPC, saysPaid: true},
		"refused, and the pipe is shut": {response: http.StatusForbidden, output: closed, status: 6},
		"unknown, and the pipe is shut": {response: http.StatusInternalServerError, output: closed, status: 7},
	} {
		fake, args, _ := newRegistration(t)
		if test.response != 0 {
			fake.Inject(horseracingtest.Fault{Method: http.MethodPost, Status: test.response})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var stderr bytes.Buffer
		p := &program{stderr: &stderr, stdout: writer(func([]byte) error {
			cancel()
			return test.output
		})}
		status := runHere(t, ctx, fake, p, args...)
		double.FailIf(t, status != test.status || strings.Contains(stderr.String(), "the fee is paid") != test.saysPaid, "%s: status %d, %s", name, status, &stderr)
	}
}

// Another process pays while this one reads the race.
func TestWhatAnotherProcessPaysMeanwhileIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, isLost := range []bool{false, true} {
		fake, args, file := newRegistration(t)
		if isLost {
			fake.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true})
		}
		other := sync.OnceFunc(func() {
			db, err := database.Open(t.Context(), file)
			if err != nil {
				return
			}
			defer db.Close()
			if l, err := ledger.Open(t.Context(), db, fake.Client(), ledger.WithoutLook()); err == nil {
				r := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
				_, _ = l.Register(t.Context(), r, openRace(fake, 7).EntryFee)
			}
		})
		fake.Handle("GET /api/v1/races/{id}", func(horseracingtest.Request) (horseracingtest.Response, bool) {
			other()
			return horseracingtest.Response{}, false
		})
		expect(t, environment(fake), result{stdout: `"state":"entered"`}, args...)
		double.Equal(t, "registrations", 1, len(fake.Registrations()))
	}
}
