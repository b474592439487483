package main

import (
	"encoding/json"
	"fmt"
	"os"
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
		plan   string       // of a dry run
		stderr string
		paid   int // registrations so far
	}{
		{args: "--race 7", plan: `{"horse":1,"race":7,"fee":"2.5"}`},
		{args: "--race 7 --budget 5 --daily 4", plan: `{"horse":1,"race":7,"fee":"2.5","left":"2.5","left_today":"1.5"}`},
		{args: "--race 99", status: 3, stderr: "not found"},
		{args: "--race 7 --max-fee 2", status: 6, stderr: "2.5 tokens, and the limit is 2"},
		{args: "--race 10", status: 6, stderr: "registration closed"},
		{args: "--race 99 --yes", status: 6, stderr: "not found"},
		{args: "--race 11 --yes", status: 6, stderr: "lists horse 1 already"},
		{args: "--race 10 --yes", status: 6, stderr: "registration closed"},
		{args: "--race 12 --yes", status: 6, stderr: "level"},
		{args: "--race 7 --budget 2 --yes", status: 6, stderr: "budget"},
		{args: "--race 7 --budget 5 --yes", state: ledger.Entered, paid: 1},
		{args: "--race 7 --budget 5 --yes", state: ledger.Entered, paid: 1},
		{args: "--race 7", stderr: "nothing to do", paid: 1},
		{args: "--race 8 --budget 5 --yes", fault: horseracingtest.Fault{Method: "POST", ResetAfter: true}, state: ledger.Entered, stderr: "the outcome is unknown", paid: 2},
		{args: "--race 9 --budget 5", status: 6, stderr: "7.5 tokens, and the limit is 5", paid: 2},
		{args: "--race 9 --yes", fault: horseracingtest.Fault{Method: "POST", Status: 400}, status: 6, state: ledger.Refused, stderr: "status 400", paid: 2},
		{args: "--race 9 --budget x --yes", status: 2, stderr: "--budget", paid: 2},
		{args: "--yes", status: 2, stderr: "--horse, --race and --ledger are needed", paid: 2},
	} {
		opened = opened || strings.Contains(test.args, "--yes")
		if test.fault.Method != "" {
			fake.Inject(test.fault)
		}
		got := run(t, environment(fake), append(strings.Fields(test.args), "register", "--horse", horse, "--ledger", file)...)
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
	fake := newFake(t, horseracingtest.WithSchedule(0))
	fee, err := horseracing.ParseUnits("1", tokenPlaces)
	if err != nil {
		t.Fatal(err)
	}
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: fee})
	fake.Inject(horseracingtest.Fault{Method: "POST", Drip: time.Hour}) // the response never ends
	args := []string{"register", "--yes", "--race", "7", "--horse", fmt.Sprint(fake.Horses(0)[0]), "--ledger", filepath.Join(t.TempDir(), "paid.jsonl")}
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
