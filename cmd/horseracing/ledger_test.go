package main

import (
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

// A registration whose outcome is unknown ends with status 7, and the next run settles its own
// pair alone.
func TestARegistrationWhoseOutcomeIsUnknownIsStatus7(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithSchedule(0))
	fee, start := horseracing.NewBigInt(1), horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	fake.AddRaces(
		horseracing.Race{MainRaceID: 7, StartTime: start, RegistrationDeadline: start, EntryFee: fee},
		horseracing.Race{MainRaceID: 8, StartTime: start, RegistrationDeadline: start, EntryFee: fee},
	)
	args := []string{"register", "--race", "7", "--horse", fmt.Sprint(fake.Horses(0)[0]), "--ledger", filepath.Join(t.TempDir(), "l")}
	for _, isLost := range []bool{true, false} { // the second run sends nothing
		if isLost {
			fake.Inject(horseracingtest.Fault{Method: "POST", ResetBefore: true})
		}
		got := run(t, environment(fake), append(args, "--yes")...)
		const words = "the fee may be paid: run the same command again"
		if got.status != 7 || !strings.Contains(got.stderr, words) || !strings.Contains(got.stderr, "read the race again from 2025-06-01T14:00:00Z on") || strings.Contains(got.stderr, "call Settle") {
			t.Errorf("lost %t: %+v", isLost, got)
		}
	}
	fake.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true})
	if got := run(t, environment(fake), append(args, "--race", "8", "--yes")...); got.status != 0 || !strings.Contains(got.stdout, "entered") {
		t.Errorf("another race, which lists the horse at once: %+v", got)
	}
	want := "horseracing register: the outcome of an earlier registration is unknown, so its fee may be paid: run the command with --yes to find out\n"
	if got := run(t, environment(fake), args...); got.status != 7 || got.stderr != want {
		t.Errorf("a dry run: %+v", got)
	}
	fake.Advance(3 * time.Hour) // others ran
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: start, RegistrationDeadline: start, EntryFee: fee, Participants: []horseracing.RaceParticipant{{Number: 99}}})
	if got := run(t, environment(fake), append(args, "--yes")...); got.status != 6 || !strings.Contains(got.stdout, `"state":"absent"`) {
		t.Errorf("after the race: %+v", got)
	}
}
