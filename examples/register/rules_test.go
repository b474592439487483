package main

import (
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
)

func amount(t *testing.T, text string) horseracing.BigInt {
	t.Helper()
	a, err := horseracing.ParseUnits(text, 18)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheRulesReportWhyARaceIsSkipped(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	horse := &horseracing.Horse{Number: 5, Level: 20}
	for _, test := range []struct {
		name   string
		race   func(*horseracing.Race)
		atOnce int
		others int
		want   string // a part of the reason, or empty if it fits
	}{
		{name: "a race that fits"},
		{name: "closed", race: func(r *horseracing.Race) { r.RegistrationDeadline = horseracing.NewTimestamp(now) }, want: "closed"},
		{name: "full", race: func(r *horseracing.Race) { r.Places = 1 }, want: "full"},
		{name: "the horse is in already", race: func(r *horseracing.Race) { r.Participants[0].Number = 5 }, want: "in it already"},
		{name: "the horse's level is too low", race: func(r *horseracing.Race) { r.MinLevel = 21 }, want: "level 20"},
		{name: "the horse's level is too high", race: func(r *horseracing.Race) { r.MaxLevel = 19 }, want: "level 20"},
		{name: "in one other race", others: 1, want: "in 1 other race (-at-once 1)"},
		{name: "in as many as allowed", others: 2, atOnce: 2, want: "in 2 other races (-at-once 2)"},
		{name: "in fewer than allowed", others: 1, atOnce: 2},
	} {
		race := horseracing.Race{
			MainRaceID: 1, Length: 8, EntryFee: amount(t, "2"), Places: 2, MinLevel: 10, MaxLevel: 30,
			StartTime:            horseracing.NewTimestamp(now.Add(10 * time.Minute)),
			RegistrationDeadline: horseracing.NewTimestamp(now.Add(5 * time.Minute)),
			Participants:         []horseracing.RaceParticipant{{Number: 6}},
		}
		if test.race != nil {
			test.race(&race)
		}
		got := against(&race, horse, test.others, max(1, test.atOnce), now)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestTheCheapestComesFirstThenTheFirstToStart(t *testing.T) {
	at := func(minutes int) horseracing.Timestamp {
		return horseracing.NewTimestamp(time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute))
	}
	cheap := horseracing.Race{MainRaceID: 3, EntryFee: amount(t, "1"), StartTime: at(9)}
	soon := horseracing.Race{MainRaceID: 2, EntryFee: amount(t, "2"), StartTime: at(1)}
	late := horseracing.Race{MainRaceID: 1, EntryFee: amount(t, "2"), StartTime: at(2)}
	other := horseracing.Race{MainRaceID: 4, EntryFee: amount(t, "2"), StartTime: at(2)}
	for _, pair := range [][2]horseracing.Race{{cheap, soon}, {soon, late}, {late, other}} {
		if compare(pair[0], pair[1]) >= 0 || compare(pair[1], pair[0]) <= 0 {
			t.Errorf("race %d does not come before race %d", pair[0].MainRaceID, pair[1].MainRaceID)
		}
	}
}
