package main

import (
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// A registration whose outcome is unknown ends with status 7, and the next run settles its own
// pair alone.
func TestARegistrationWhoseOutcomeIsUnknownIsStatus7(t *testing.T) {
	t.Parallel()
	fake, args, file := newRegistration(t)
	for _, isLost := range []bool{true, false} { // the second run sends nothing
		if isLost {
			fake.Inject(horseracingtest.Fault{Method: "POST", ResetBefore: true})
		}
		got := run(t, environment(fake), args...)
		const again, at, call = "run the same command again", "read the race again from 2025-06-01T14:00:00Z on", "call Settle"
		if got.status != 7 || !strings.Contains(got.stderr, again) || !strings.Contains(got.stderr, at) || strings.Contains(got.stderr, call) {
			t.Errorf("lost %t: %+v", isLost, got)
		}
	}
	fake.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true})
	expect(t, environment(fake), result{stdout: `"state":"entered"`}, append(args, "--race", "8")...) // which lists the horse at once
	const dry = "the outcome of an earlier registration is unknown, so its fee may be paid: run the command with --yes to find out\n"
	expect(t, environment(fake), result{status: 7, stderr: dry}, append(args, "--yes=false")...)
	expect(t, nil, result{stdout: `"race":7,"fee":2500000000000000000,"state":"unknown"`}, "ledger", file)
	const sums = `{"what":"paid","entries":1,"fees":"2.5"}` + "\n" + `{"what":"perhaps paid","entries":1,"fees":"2.5"}` + "\n"
	expect(t, nil, result{stdout: sums}, "ledger", file, "--sum")
	ran := openRace(fake, 7)
	ran.Participants = []horseracing.RaceParticipant{{Number: 99}}
	fake.AddRaces(ran)
	fake.Advance(3 * time.Hour)
	expect(t, environment(fake), result{`"state":"absent"`, "the horse is not in the race", 6}, args...)
}

func TestALedgerIsDecidedOrSettled(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"--decide absent --note seen --race 7 --horse 1": `"state":"absent","note":"seen"`,
		"--settle": `"state":"entered"`,
	} {
		fake, args, file := newRegistration(t)
		lost := horseracingtest.Fault{Method: "POST", ResetAfter: true}
		fake.Inject(lost, horseracingtest.Fault{Path: "/api/v1/races/7", Status: 400, Skip: 1})
		expect(t, environment(fake), result{`"state":"unknown","note":"POST `, file + " --horse 1 --race 7 --decide entered", 7}, args...)
		expect(t, nil, result{stdout: `"state":"unknown","note":"POST `}, "ledger", file)
		expect(t, environment(fake), result{stdout: want}, append([]string{"ledger", file}, strings.Fields(change)...)...)
	}
}
