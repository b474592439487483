package main

import (
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

func TestPickTakesOnlyWhatTheRulesAllow(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	horse := &horseracing.Horse{Number: 5, Level: 20}
	tokens := func(text string) horseracing.BigInt {
		amount, err := program.ParseTokens(text)
		if err != nil {
			t.Fatal(err)
		}
		return amount
	}
	race := func(change func(*horseracing.Race)) horseracing.Race {
		r := horseracing.Race{
			MainRaceID: 1, Length: 8, EntryFee: tokens("2"), Places: 2, MinLevel: 10, MaxLevel: 30,
			StartTime:            horseracing.NewTimestamp(now.Add(10 * time.Minute)),
			RegistrationDeadline: horseracing.NewTimestamp(now.Add(5 * time.Minute)),
			Info:                 horseracing.RaceInfo{HippodromeName: "Elm Park", HippodromeType: "Oval"},
			Participants:         []horseracing.RaceParticipant{{Number: 6}},
		}
		change(&r)
		return r
	}
	asItIs := func(*horseracing.Race) {}
	for _, test := range []struct {
		name  string
		race  horseracing.Race
		rules func(*rules)
		want  bool
	}{
		{"a race that fits", race(asItIs), func(*rules) {}, true},
		{"closed", race(func(r *horseracing.Race) { r.RegistrationDeadline = horseracing.NewTimestamp(now) }), func(*rules) {}, false},
		{"full", race(func(r *horseracing.Race) { r.Places = 1 }), func(*rules) {}, false},
		{"the horse is in already", race(func(r *horseracing.Race) { r.Participants[0].Number = 5 }), func(*rules) {}, false},
		{"the horse's level is too low", race(func(r *horseracing.Race) { r.MinLevel = 21 }), func(*rules) {}, false},
		{"the horse's level is too high", race(func(r *horseracing.Race) { r.MaxLevel = 19 }), func(*rules) {}, false},
		{"a level besides the horse's own", race(asItIs), func(r *rules) { r.level = 30 }, true},
		{"such a level that it does not take", race(asItIs), func(r *rules) { r.level = 31 }, false},
		{"as dear as allowed", race(asItIs), func(r *rules) { r.maxFee = tokens("2") }, true},
		{"too dear by the least amount", race(asItIs), func(r *rules) { r.maxFee = tokens("1.999999999999999999") }, false},
		{"too short", race(asItIs), func(r *rules) { r.minLength, r.maxLength = 9, 15 }, false},
		{"too long", race(asItIs), func(r *rules) { r.minLength, r.maxLength = 2, 7 }, false},
		{"both bounds of the length belong to it", race(asItIs), func(r *rules) { r.minLength, r.maxLength = 8, 8 }, true},
		{"the hippodrome by name", race(asItIs), func(r *rules) { r.hippodrome = "elm park" }, true},
		{"the hippodrome by type", race(asItIs), func(r *rules) { r.hippodrome = "OVAL" }, true},
		{"another hippodrome", race(asItIs), func(r *rules) { r.hippodrome = "Elm" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rules{maxFee: tokens("5")}
			test.rules(&r)
			if got := r.pick([]horseracing.Race{test.race}, horse, now) != nil; got != test.want {
				t.Errorf("picked: %t", got)
			}
		})
	}
}

func TestPickPrefersTheCheapestThenTheEarliest(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	race := func(id horseracing.RaceID, fee string, start time.Duration) horseracing.Race {
		amount, _ := program.ParseTokens(fee)
		at := horseracing.NewTimestamp(now.Add(start))
		return horseracing.Race{MainRaceID: id, EntryFee: amount, StartTime: at, RegistrationDeadline: at, Places: 1}
	}
	// 10 is less than 9 to whoever compares the text.
	races := []horseracing.Race{race(1, "10", time.Minute), race(2, "9", 2*time.Hour), race(4, "9", time.Hour), race(3, "9", time.Hour)}
	limit, _ := program.ParseTokens("100")
	r := rules{maxFee: limit}
	if got := r.pick(races, &horseracing.Horse{Number: 5}, now); got.MainRaceID != 3 {
		t.Errorf("picked race %d", got.MainRaceID)
	}
}

func TestSetLengthReadsALengthAndARange(t *testing.T) {
	for _, test := range []struct {
		text      string
		low, high int
	}{
		{"6", 6, 6}, {"6-10", 6, 10}, {"2-2", 2, 2},
		{"", 0, 0}, {"0", 0, 0}, {"-6", 0, 0}, {"6-", 0, 0}, {"10-6", 0, 0}, {"6-8-10", 0, 0}, {"six", 0, 0},
	} {
		var r rules
		err := r.setLength(test.text)
		if (err == nil) != (test.low > 0) || err == nil && (r.minLength != test.low || r.maxLength != test.high) {
			t.Errorf("%q: %d to %d, %v", test.text, r.minLength, r.maxLength, err)
		}
	}
}
