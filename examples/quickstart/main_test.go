package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestLookShowsTheOpenRacesTheResultsAndTheNewestWinner(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(30))
	defer fake.Close()
	start := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	fake.AddRaces(horseracing.Race{
		MainRaceID: 9001, StartTime: start, RegistrationDeadline: start, Info: horseracing.RaceInfo{Name: "Late\x1b[2J Bloom"},
		EntryFee: horseracing.NewBigInt(2_500_000_000_000_000_001),
	}, horseracing.Race{
		MainRaceID: 9002, StartTime: start, RegistrationDeadline: horseracing.NewTimestamp(fake.Now().Add(-time.Minute)),
	}, horseracing.Race{
		MainRaceID: 9000, StartTime: horseracing.NewTimestamp(fake.Now().Add(-time.Minute)), Info: horseracing.RaceInfo{Name: "Early Bird"},
		Participants: []horseracing.RaceParticipant{{Number: 40, Total: 33.5}, {Number: 41, Total: 31.25}}, FinalOrder: []int{1, 0},
	})
	var out strings.Builder
	double.Error(t, "look", nil, "", look(t.Context(), fake.Client(), &out))
	for _, line := range []string{
		`^It is 2025-06-01 12:00:00 \+0000 UTC for the service\. Open races:\n`,
		`\nclosed    9002 "" closes at 2025-06-01 11:59:00`,
		`\nin 1h0m0s 9001 "Late\\x1b\[2J Bloom" closes at 2025-06-01 13:00:00 \+0000 UTC, fee 2.500000000000000001 tokens\n`,
		`9000 "Early Bird" at 2025-06-01 11:59:00 \+0000 UTC, won by horse 41\n`,
		`\nHorse 41, ".+", level \d+, has these missions:\nmonthly `,
	} {
		double.FailIf(t, !regexp.MustCompile(line).MatchString(out.String()), "no line %s in\n%s", line, &out)
	}
	double.Equal(t, "results", 20, strings.Count(out.String(), "won by"))
}
