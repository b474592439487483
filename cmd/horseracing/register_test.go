package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

// newRegistration starts a fake with the open races 7, 8 and 9, and returns the arguments that
// register a horse in race 7, and the file of the ledger.
func newRegistration(t *testing.T) (fake *horseracingtest.Server, args []string, file string) {
	t.Helper()
	fake, file = newFake(t, horseracingtest.WithSchedule(0)), filepath.Join(t.TempDir(), "paid.jsonl")
	fake.AddRaces(openRace(fake, 7), openRace(fake, 8), openRace(fake, 9))
	return fake, []string{"register", "--ledger", file, "--horse", fmt.Sprint(fake.Horses(0)[0]), "--race", "7", "--yes"}, file
}

func TestRegisterPaysOnceAndOnlyWithYes(t *testing.T) {
	t.Parallel()
	fake, command, file := newRegistration(t)
	closed, joined, high := openRace(fake, 10), openRace(fake, 11), openRace(fake, 12)
	closed.RegistrationDeadline = horseracing.NewTimestamp(fake.Now().Add(-time.Minute))
	joined.Participants, high.MinLevel = []horseracing.RaceParticipant{{Number: fake.Horses(0)[0]}}, 99
	fake.AddRaces(closed, joined, high, openRace(fake, 13), openRace(fake, 14))
	const owned = "/api/v1/horses/user" // whose body a proxy refuses, or drops
	const zeros = "00000000000000000"
	const plan = `{"dry_run":true,"horse":1,"race":7,"fee":25` + zeros
	type fault = horseracingtest.Fault
	opened := false
	for _, test := range []struct {
		args  string
		fault fault
		want  result
		paid  int // registrations so far
	}{
		{args: "--race 7", want: result{stdout: plan + "}"}},
		{args: "--race 7 --budget 5 --daily 4", want: result{stdout: plan + `,"left":25` + zeros + `,"left_today":15` + zeros}},
		{args: "--race 7 --max-fee 2", want: result{stderr: file + ": horse 1 in race 7: fee not allowed: 2.5 tokens are above the limit of 2 tokens\n", status: 6}},
		{args: "--race 99 --yes", want: result{stderr: "not found", status: 3}},
		{args: "--race 7 --horse 4000 --yes", want: result{stderr: "not one of the 6 horses", status: 6}},
		{args: "--race 10 --yes", want: result{stderr: "registration closed", status: 6}},
		{args: "--race 11 --yes", want: result{stderr: "horse 1 is already in it", status: 6}},
		{args: "--race 12 --yes", want: result{stderr: "level", status: 6}},
		{args: "--race 7 --budget 2 --yes", want: result{stderr: "budget", status: 6}},
		{args: "--race 7 --budget 5 --yes", want: result{stdout: `"state":"entered"`}, paid: 1},
		{args: "--race 7 --budget 5 --yes", want: result{stdout: "nothing was sent"}, paid: 1},
		{args: "--race 7", want: result{stderr: "nothing to do"}, paid: 1},
		{args: "--race 8 --budget 5 --yes", fault: fault{Method: "POST", ResetAfter: true}, want: result{stdout: "settled"}, paid: 2},
		{args: "--race 9 --budget 5", want: result{stderr: "7.5 tokens are above the limit of 5 tokens", status: 6}, paid: 2},
		{args: "--race 9 --yes", fault: fault{Method: "POST", Status: 400}, want: result{`"refused"`, "status 400", 6}, paid: 2},
		{args: "--race 13 --yes", fault: fault{Path: owned, Status: 400}, want: result{stdout: `"state":"entered"`}, paid: 3},
		{args: "--race 14 --yes", fault: fault{Path: owned, Status: 200, Body: "[]"}, want: result{stdout: `"state":"entered"`}, paid: 4},
		{args: "--race 0 --yes", want: result{stderr: "what is missing: --race NUMBER (see", status: 2}, paid: 4},
	} {
		opened = opened || strings.Contains(test.args, "--yes")
		if test.fault.Status != 0 || test.fault.ResetAfter {
			fake.Inject(test.fault)
		}
		nowhere := append(environment(fake), "TMPDIR=/nowhere")
		expect(t, nowhere, test.want, append(command[:5:5], strings.Fields(test.args)...)...)
		if paid := len(fake.Registrations()); paid != test.paid {
			t.Errorf("%s: %d registrations, want %d", test.args, paid, test.paid)
		}
		if files, _ := os.ReadDir(filepath.Dir(file)); !opened && len(files) > 0 {
			t.Errorf("%s: a dry run created %v", test.args, files)
		}
	}
}

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
		"TERM":                 {post, []os.Signal{syscall.SIGTERM}, 0, result{stdout: `"state":"entered"`}},
		"HUP":                  {post, []os.Signal{hangup}, 0, result{stdout: `"state":"entered"`}},
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
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
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
			}
			close(goOn)
			_ = cmd.Wait() // its status counts
			got := result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
			if got.status != test.want.status || !strings.Contains(got.stdout, test.want.stdout) || !strings.Contains(got.stderr, test.want.stderr) {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			if test.status < 0 { // the next run settles what this one left
				if entries, err := ledger.Read(file); err != nil || len(entries) != 1 || entries[0].State != ledger.Sending {
					t.Errorf("%v, %v", entries, err)
				}
				waitFor(t, func() bool { return len(fake.Registrations()) == 1 })
				expect(t, environment(fake), result{stdout: `"state":"entered"`}, args...)
				if n := len(fake.Registrations()); n != 1 {
					t.Errorf("%d registrations", n)
				}
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
		fake, args, file := newRegistration(t)
		fake.Handle("POST /api/v1/races/register", func(horseracingtest.Request) (horseracingtest.Response, bool) {
			_ = os.Truncate(file, 0)
			return horseracingtest.Response{Status: status, Body: "{}"}, true
		})
		want.stderr = file
		expect(t, environment(fake), want, args...)
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

func TestNeitherAFullDiskNorAnInterruptionHidesAPayment(t *testing.T) {
	for _, full := range []error{nil, syscall.ENOSPC} {
		fake, args, _ := newRegistration(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var stderr bytes.Buffer
		p := &program{stderr: &stderr, stdout: writer(func([]byte) error {
			cancel()
			return full
		})}
		if status := runHere(t, ctx, fake, p, args...); status != 0 || (full != nil) != strings.Contains(stderr.String(), "the fee is paid") {
			t.Errorf("%v: status %d, %s", full, status, &stderr)
		}
	}
}

// Nobody may take a refusal for a payment, not even in a pipeline whose reader has ended.
func TestAClosedPipeHidesNoRefusal(t *testing.T) {
	closed := writer(func([]byte) error {
		return &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.EPIPE}
	})
	for answer, want := range map[int]int{http.StatusForbidden: 6, http.StatusInternalServerError: 7} {
		fake, args, _ := newRegistration(t)
		fake.Inject(horseracingtest.Fault{Method: http.MethodPost, Status: answer})
		p := &program{stdout: closed, stderr: io.Discard}
		if got := runHere(t, t.Context(), fake, p, args...); got != want {
			t.Errorf("status %d of the service: the exit status is %d, want %d", answer, got, want)
		}
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
			if l, err := ledger.Open(file, fake.Client()); err == nil {
				r := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
				_, _ = l.Register(t.Context(), r, openRace(fake, 7).EntryFee)
				l.Close()
			}
		})
		fake.Handle("GET /api/v1/races/{id}", func(horseracingtest.Request) (horseracingtest.Response, bool) {
			other()
			return horseracingtest.Response{}, false
		})
		expect(t, environment(fake), result{stdout: `"state":"entered"`}, args...)
		if n := len(fake.Registrations()); n != 1 {
			t.Errorf("lost %t: %d registrations", isLost, n)
		}
	}
}
