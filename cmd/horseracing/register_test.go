package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestRegisterPaysOnceAndOnlyWithYes(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithSchedule(0))
	for id := range horseracing.RaceID(3) {
		fee, err := horseracing.ParseUnits("2.5", tokenPlaces)
		if err != nil {
			t.Fatal(err)
		}
		fake.AddRaces(horseracing.Race{MainRaceID: 7 + id, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: fee})
	}
	fake.AddRaces(
		horseracing.Race{MainRaceID: 10, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), RegistrationDeadline: horseracing.NewTimestamp(fake.Now().Add(-time.Minute))},
		horseracing.Race{MainRaceID: 11, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), Participants: []horseracing.RaceParticipant{{Number: fake.Horses(0)[0]}}},
		horseracing.Race{MainRaceID: 12, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), MinLevel: 99},
	)
	folder, opened := t.TempDir(), false
	file := filepath.Join(folder, "paid.jsonl")
	horse := fmt.Sprint(fake.Horses(0)[0])
	for _, test := range []struct {
		args   string
		fault  horseracingtest.Fault
		status int
		state  ledger.State // none was printed if empty
		note   string
		plan   string // of a dry run
		stderr string
		paid   int // registrations so far
	}{
		{args: "--race 7", plan: `{"dry_run":true,"horse":1,"race":7,"fee":2500000000000000000}`},
		{args: "--race 7 --budget 5 --daily 4", plan: `{"dry_run":true,"horse":1,"race":7,"fee":2500000000000000000,"left":2500000000000000000,"left_today":1500000000000000000}`},
		{args: "--race 99", status: 3, stderr: "not found"},
		{args: "--race 7 --horse 4000", status: 6, stderr: "not one of the"},
		{args: "--race 7 --horse 4000 --yes", status: 6, stderr: "not one of the 6 horses"},
		{args: "--race 7 --max-fee 2", status: 6, stderr: "2.5 tokens are above the limit of 2 tokens"},
		{args: "--race 10", status: 6, stderr: "registration closed"},
		{args: "--race 99 --yes", status: 3, stderr: "not found"},
		{args: "--race 11 --yes", status: 6, stderr: "horse 1 is already in it"},
		{args: "--race 10 --yes", status: 6, stderr: "registration closed"},
		{args: "--race 12 --yes", status: 6, stderr: "level"},
		{args: "--race 7 --budget 2 --yes", status: 6, stderr: "budget"},
		{args: "--race 7 --budget 5 --yes", state: ledger.Entered, paid: 1},
		{args: "--race 7 --budget 5 --yes", state: ledger.Entered, note: "nothing was sent", paid: 1},
		{args: "--race 7", stderr: "nothing to do", paid: 1},
		{args: "--race 8 --budget 5 --yes", fault: horseracingtest.Fault{Method: "POST", ResetAfter: true}, state: ledger.Entered, note: "settled", paid: 2},
		{args: "--race 9 --budget 5", status: 6, stderr: "7.5 tokens are above the limit of 5 tokens", paid: 2},
		{args: "--race 9 --yes", fault: horseracingtest.Fault{Method: "POST", Status: 400}, status: 6, state: ledger.Refused, stderr: "status 400", paid: 2},
		{args: "--race 9 --budget x --yes", status: 2, stderr: "--budget", paid: 2},
		{args: "--yes", status: 2, stderr: "--horse, --race and --ledger are needed", paid: 2},
	} {
		opened = opened || strings.Contains(test.args, "--yes")
		if test.fault.Method != "" {
			fake.Inject(test.fault)
		}
		got := run(t, environment(fake), append([]string{"register", "--horse", horse, "--ledger", file}, strings.Fields(test.args)...)...)
		var entry ledger.Entry
		if test.state != "" {
			if err := json.Unmarshal([]byte(got.stdout), &entry); err != nil {
				t.Error(err)
			}
		}
		if got.status != test.status || entry.State != test.state || !strings.Contains(entry.Note, test.note) || !strings.Contains(got.stderr, test.stderr) || (test.stderr == "") != (got.stderr == "") {
			t.Errorf("%s: %+v", test.args, got)
		}
		if paid := len(fake.Registrations()); paid != test.paid {
			t.Errorf("%s: %d registrations, want %d", test.args, paid, test.paid)
		}
		if test.plan != "" && strings.TrimSpace(got.stdout) != test.plan {
			t.Errorf("%s: %s", test.args, got.stdout)
		}
		if files, _ := os.ReadDir(folder); !opened && len(files) > 0 {
			t.Errorf("%s: a dry run created %v", test.args, files)
		}
	}
}

func TestAKilledRegistrationIsSettledByTheNext(t *testing.T) {
	t.Parallel()
	fake, args, _ := newRegistration(t)
	fake.Inject(horseracingtest.Fault{Method: "POST", Drip: time.Hour}) // the response never ends
	cmd, _ := start(t, environment(fake), args...)
	waitFor(t, func() bool { return len(fake.Registrations()) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	got := run(t, environment(fake), args...)
	if got.status != 0 || !strings.Contains(got.stdout, `"state":"entered"`) || len(fake.Registrations()) != 1 {
		t.Errorf("%+v, %d registrations", got, len(fake.Registrations()))
	}
}

// With the last line of each ledger goes what it knows of a payment.
func TestWhatIsPaidAndCannotBeRecordedIsStatus7(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 500, 400} {
		fake, args, file := newRegistration(t)
		fake.Handle("POST /api/v1/races/register", func(horseracingtest.Request) (horseracingtest.Response, bool) {
			if err := os.Truncate(file, 0); err != nil {
				t.Error(err)
			}
			return horseracingtest.Response{Status: status, Body: "{}"}, true
		})
		want, state := 7, `"state":"entered"`
		switch status {
		case 500:
			state = `"state":"unknown"`
		case 400: // a refusal is one, whether or not it is recorded
			want, state = 6, `"state":"refused"`
		}
		if got := run(t, environment(fake), args...); got.status != want || !strings.Contains(got.stdout, state) || !strings.Contains(got.stderr, file) {
			t.Errorf("a response with %d: %+v", status, got)
		}
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

// Another process pays while this one reads the race and the horse.
func TestWhatAnotherProcessPaysMeanwhileIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"GET /api/v1/races/{id}", "GET /api/v1/horses/{number}"} {
		for _, isLost := range []bool{false, true} {
			fake, args, file := newRegistration(t)
			if isLost {
				fake.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true})
			}
			var once sync.Once
			fake.Handle(path, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				once.Do(func() {
					l, err := ledger.Open(file, fake.Client())
					if err != nil {
						t.Error(err)
						return
					}
					defer l.Close()
					_, _ = l.Register(t.Context(), horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}, horseracing.NewBigInt(1))
				})
				return horseracingtest.Response{}, false
			})
			got := run(t, environment(fake), args...)
			if got.status != 0 || !strings.Contains(got.stdout, `"state":"entered"`) || len(fake.Registrations()) != 1 {
				t.Errorf("%s, lost %t: %+v, %d registrations", path, isLost, got, len(fake.Registrations()))
			}
		}
	}
}

// newRegistration starts a fake with race 7, and returns the arguments that register a
// horse in it, and the file of the ledger.
func newRegistration(t *testing.T) (fake *horseracingtest.Server, args []string, file string) {
	t.Helper()
	fake, file = newFake(t, horseracingtest.WithSchedule(0)), filepath.Join(t.TempDir(), "paid.jsonl")
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: horseracing.NewBigInt(1)})
	return fake, []string{"register", "--yes", "--race", "7", "--horse", fmt.Sprint(fake.Horses(0)[0]), "--ledger", file}, file
}
