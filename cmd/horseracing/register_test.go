package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
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
		fee, err := horseracing.ParseDecimal("2.5", tokenPlaces)
		if err != nil {
			t.Fatal(err)
		}
		fake.AddRaces(horseracing.Race{MainRaceID: 7 + id, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: fee})
	}
	file := filepath.Join(t.TempDir(), "paid.jsonl")
	horse := fmt.Sprint(fake.Horses(0)[0])
	for _, test := range []struct {
		args   string
		fault  horseracingtest.Fault
		status int
		state  ledger.State // none was printed if empty
		stderr string
		paid   int // registrations so far
	}{
		{args: "-race 7", state: "dry run"},
		{args: "-race 99", status: 1, stderr: "not found"},
		{args: "-race 7 -budget 2 -yes", status: 1, stderr: "budget"},
		{args: "-race 7 -budget 5 -yes", state: ledger.Entered, paid: 1},
		{args: "-race 7 -budget 5 -yes", status: 1, state: ledger.Entered, stderr: "already entered", paid: 1},
		{args: "-race 8 -budget 5 -yes", fault: horseracingtest.Fault{Method: "POST", ResetAfter: true}, state: ledger.Entered, stderr: "the outcome is unknown", paid: 2},
		{args: "-race 9 -budget 5", status: 1, state: "dry run", stderr: "budget", paid: 2},
		{args: "-race 9 -yes", fault: horseracingtest.Fault{Method: "POST", Status: 400}, status: 1, state: ledger.Refused, stderr: "status 400", paid: 2},
		{args: "-race 9 -budget x -yes", status: 2, stderr: "-budget", paid: 2},
		{args: "-yes", status: 2, stderr: "-horse, -race and -ledger are needed", paid: 2},
	} {
		if test.fault.Method != "" {
			fake.Inject(test.fault)
		}
		got := run(t, environment(fake), append(strings.Fields(test.args), "register", "-horse", horse, "-ledger", file)...)
		var entry ledger.Entry
		if test.state != "" {
			if err := json.Unmarshal([]byte(got.stdout), &entry); err != nil {
				t.Error(err)
			}
		}
		if got.status != test.status || entry.State != test.state || !strings.Contains(got.stderr, test.stderr) || (test.stderr == "") != (got.stderr == "") {
			t.Errorf("%s: %+v", test.args, got)
		}
		if paid := len(fake.Registrations()); paid != test.paid {
			t.Errorf("%s: %d registrations, want %d", test.args, paid, test.paid)
		}
	}
}

func TestAKilledRegistrationIsSettledByTheNext(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithSchedule(0))
	fee, err := horseracing.ParseDecimal("1", tokenPlaces)
	if err != nil {
		t.Fatal(err)
	}
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: fee})
	fake.Inject(horseracingtest.Fault{Method: "POST", Drip: time.Hour}) // the response never ends
	args := []string{"register", "-yes", "-race", "7", "-horse", fmt.Sprint(fake.Horses(0)[0]), "-ledger", filepath.Join(t.TempDir(), "paid.jsonl")}
	cmd := prepare(t, environment(fake), args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
