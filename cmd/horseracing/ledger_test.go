package main

import (
	"bufio"
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

func TestALedgerIsShownWhileItIsOpenAndDecidedWhenItIsNot(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithSchedule(0))
	fee, err := horseracing.ParseUnits("2.5", tokenPlaces)
	if err != nil {
		t.Fatal(err)
	}
	horse := fake.Horses(0)[0]
	file := filepath.Join(t.TempDir(), "paid.jsonl")
	l, err := ledger.Open(file, fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1})))
	if err != nil {
		t.Fatal(err)
	}
	for id := range horseracing.RaceID(3) {
		fake.AddRaces(horseracing.Race{MainRaceID: 7 + id, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: fee})
	}
	fake.Inject(horseracingtest.Fault{Method: "POST", ResetBefore: true, Skip: 1})
	for id := range horseracing.RaceID(2) {
		_, _ = l.Register(t.Context(), horseracing.Registration{Horse: horse, Race: 7 + id, UserKey: fake.UserKey(0)}, fee)
	}
	shown := run(t, environment(fake), "ledger", file)
	if shown.status != 0 || strings.Count(shown.stdout, "\n") != 2 || !strings.Contains(shown.stdout, `"fee":2500000000000000000`) {
		t.Errorf("%+v", shown)
	}
	sum := run(t, environment(fake), "ledger", file, "--sum")
	if !strings.HasPrefix(sum.stdout, `{"what":"paid","entries":1,"fees":"2.5"}`+"\n"+`{"what":"perhaps paid","entries":1,"fees":"2.5"}`+"\n") || !strings.Contains(sum.stdout, `{"what":"unknown","entries":1,"fees":"2.5"}`) {
		t.Errorf("%+v", sum)
	}
	decide := []string{"ledger", file, "--decide", "absent", "--horse", fmt.Sprint(horse), "--race", "8", "--note", "seen in the game"}
	if !testing.Short() { // it is waited for
		busy := run(t, environment(fake), append(decide, "--json")...)
		if want := `{"error":{"code":"in_use","message":"` + file + ` is in use by another process: try again when that has ended"}}`; busy.status != 1 || busy.stderr != want+"\n" {
			t.Errorf("while it is open: %+v", busy)
		}
	}
	l.Close()
	if got := run(t, environment(fake), decide...); got.status != 0 || !strings.Contains(got.stdout, `"state":"absent","note":"seen in the game"`) {
		t.Errorf("%+v", got)
	}
	if got := run(t, environment(fake), "ledger", file+"x", "--settle"); got.status != 1 || !strings.Contains(got.stderr, "no such file") {
		t.Errorf("without a file: %+v", got)
	}
	if _, err := os.Stat(file + "x"); err == nil {
		t.Error("it was created")
	}
}

func TestAnInterruptedRegistrationWhoseOutcomeIsUnknownIsStatus7(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithSchedule(0))
	fee := horseracing.NewBigInt(1)
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), RegistrationDeadline: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: fee})
	fake.Inject(horseracingtest.Fault{Method: "POST", ResetBefore: true})
	args := []string{"register", "--race", "7", "--horse", fmt.Sprint(fake.Horses(0)[0]), "--ledger", filepath.Join(t.TempDir(), "l")}
	cmd := prepare(t, environment(fake), append(args, "--yes")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "the outcome is certain at 2025-06-01 15:00:00 (UTC) at the latest") {
		t.Log(lines.Text())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip(err)
	}
	text := ""
	for lines.Scan() {
		text += lines.Text() + "\n"
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 7 {
		t.Errorf("status %d", status)
	}
	if !strings.Contains(text, "the fee may be paid: run the same command again") || strings.Contains(text, "call Settle") {
		t.Errorf("the last sentence is not for a person: %s", text)
	}
	fake.AddRaces(horseracing.Race{MainRaceID: 8, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour)), EntryFee: fee})
	fake.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true})
	if got := run(t, environment(fake), append(args, "--race", "8", "--yes")...); got.status != 0 || !strings.Contains(got.stdout, "entered") {
		t.Errorf("another race, which lists the horse at once: %+v", got)
	}
	want := "horseracing register: the outcome of an earlier registration is unknown, its fee may be paid: --yes settles it\n"
	if got := run(t, environment(fake), args...); got.status != 7 || got.stderr != want {
		t.Errorf("a dry run: %+v", got)
	}
}
