package main

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func TestItRunsOnTheEmbeddedFake(t *testing.T) {
	r := programtest.Run(t, nil)
	if r.Status != 0 || !strings.HasPrefix(r.Stderr, "Service: an embedded fake") {
		t.Fatalf("status %d: %s", r.Status, r.Stderr)
	}
	for _, part := range []string{"\nOpen races\n", "\nThe last twenty results of tier Omega\n", "\nHorse #", "\nmonthly "} {
		if !strings.Contains(r.Stdout, part) {
			t.Errorf("%q is missing in\n%s", part, r.Stdout)
		}
	}
}

func TestItShowsWhatTheServiceHolds(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	defer fake.Close()
	fee, _ := new(big.Int).SetString("2500000000000000000000", 10)
	start := time.Now().Add(90*time.Minute + 30*time.Second)
	fake.AddRaces(
		horseracing.Race{
			MainRaceID: 9001, StartTime: horseracing.NewTimestamp(start), RegistrationDeadline: horseracing.NewTimestamp(start),
			Length: 7, EntryFee: horseracing.BigIntFrom(fee), Places: 8, MinLevel: 2, MaxLevel: 30,
			Info:         horseracing.RaceInfo{Name: "Late Bloom", HippodromeName: "Elm Park"},
			Participants: []horseracing.RaceParticipant{{Number: 40}, {Number: 41}},
		},
		horseracing.Race{
			MainRaceID: 9000, StartTime: horseracing.NewTimestamp(time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC)), Length: 3,
			Info: horseracing.RaceInfo{Name: "Early\x1b[2J Bird"},
			Participants: []horseracing.RaceParticipant{
				{Number: 40, Total: 33.5, Lane: 1}, {Number: 41, Total: 31.25, Lane: 2}, {Number: 42, Total: 32, Lane: 3}, {Number: 43, Total: 40, Lane: 4},
			},
			FinalOrder: []int{1, 2, 0, 3}, Winners: []int{1, 2, 0},
		},
	)
	for id, start := range map[horseracing.RaceID]time.Time{8001: start, 8002: start.Add(-3 * time.Hour)} { // one open, one finished
		fake.AddRaces(horseracing.Race{
			MainRaceID: id, StartTime: horseracing.NewTimestamp(start), RegistrationDeadline: horseracing.NewTimestamp(start),
			Participants: []horseracing.RaceParticipant{{Number: 40}},
			EntryFee:     horseracing.BigIntFrom(new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil)), // beyond what is read
		})
	}
	r := programtest.Run(t, programtest.Environment(fake))
	if r.Status != 0 || !strings.HasPrefix(r.Stderr, "Service: "+fake.URL+"\n") || strings.Count(r.Stderr, "left out: ") != 2 {
		t.Fatalf("status %d: %s", r.Status, r.Stderr)
	}
	for _, row := range []string{
		`9001 +[-0-9]+ [:0-9]+ +"Late Bloom" +7 +6 of 8 free +2,500\n`,
		`9000 +2026-02-03 04:05:00 +"Early\\x1b\[2J Bird" +3 +#41\n`,
		`Horse #41: `, // the newest winner
	} {
		if !regexp.MustCompile(row).MatchString(r.Stdout) {
			t.Errorf("no row %s in\n%s", row, r.Stdout)
		}
	}

	fake.RemoveRaces(8001, 8002)
	if r := programtest.Run(t, programtest.Environment(fake), "-horse", "12"); !strings.Contains(r.Stdout, "Horse #12: ") {
		t.Errorf("-horse 12 shows\n%s", r.Stdout)
	}
	programtest.Run(t, programtest.Environment(fake), "-horse", "5000").ExpectSentence(t, 1, "404", "/api/v1/horses/5000")
}

func TestItStartsAndEndsAsEveryExample(t *testing.T) {
	programtest.ExpectUsage(t)
	programtest.ExpectErrors(t)
}
