package horseracing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

func TestRaceFinishersFollowTheFinalOrder(t *testing.T) {
	three := []horseracing.RaceParticipant{{Number: 10}, {Number: 20}, {Number: 30}}
	for _, test := range []struct {
		name    string
		order   []int
		want    []horseracing.HorseNumber
		problem bool
	}{
		{name: "every place", order: []int{2, 0, 1}, want: []horseracing.HorseNumber{30, 10, 20}},
		{name: "the first only", order: []int{1}, want: []horseracing.HorseNumber{20}},
		{name: "none yet", order: nil},
		{name: "beyond the last", order: []int{0, 3}, problem: true},
		{name: "before the first", order: []int{-1}, problem: true},
		{name: "twice the same", order: []int{1, 1}, problem: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			race := horseracing.Race{Participants: three, FinalOrder: test.order}
			finishers, err := race.Finishers()
			if (err != nil) != test.problem {
				t.Fatalf("error %v", err)
			}
			winner, ok := race.Winner()
			if wins := len(test.want) > 0; ok != wins || wins && winner.Number != test.want[0] || !wins && winner != (horseracing.RaceParticipant{}) {
				t.Errorf("Winner is %+v, %t", winner, ok)
			}
			var got []horseracing.HorseNumber
			for _, p := range finishers {
				got = append(got, p.Number)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRaceMethods(t *testing.T) {
	deadline := time.UnixMilli(1767311700000)
	open := horseracing.Race{RegistrationDeadline: at(1767311700000), Places: 2, MinLevel: 10, MaxLevel: 20}
	finished := open
	finished.FinalOrder = []int{0}
	crowded := horseracing.Race{Places: 1, Participants: make([]horseracing.RaceParticipant, 3)}
	unbounded := horseracing.Race{MinLevel: 10}
	entered := horseracing.Race{Participants: []horseracing.RaceParticipant{{Number: 9}, {Number: 7}}}
	for name, ok := range map[string]bool{
		"open just before the deadline":         open.RegistrationOpenAt(deadline.Add(-time.Millisecond)),
		"closed at the deadline":                !open.RegistrationOpenAt(deadline),
		"closed when it has finished":           !finished.RegistrationOpenAt(deadline.Add(-time.Hour)),
		"closed without a deadline":             !new(horseracing.Race).RegistrationOpenAt(deadline),
		"two places free":                       open.FreePlaces() == 2,
		"never less than none free":             crowded.FreePlaces() == 0,
		"both bounds of the level belong to it": open.AcceptsLevel(10) && open.AcceptsLevel(20),
		"too low and too high a level":          !open.AcceptsLevel(9) && !open.AcceptsLevel(21),
		"has who is in it, and nobody else":     entered.Has(7) && !entered.Has(8) && !entered.Has(0) && !open.Has(7),
		"an absent bound does not bind":         unbounded.AcceptsLevel(999) && !unbounded.AcceptsLevel(9),
	} {
		if !ok {
			t.Errorf("does not hold: %s", name)
		}
	}
}

func TestRaceCheckEntryNamesAllThatKeepsAHorseOut(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	open := horseracing.Race{
		MainRaceID: 4711, RegistrationDeadline: horseracing.NewTimestamp(now.Add(time.Minute)), Places: 2, MinLevel: 10, MaxLevel: 20,
		Participants: []horseracing.RaceParticipant{{Number: 8}},
	}
	horse := &horseracing.Horse{Number: 7, Level: 10, Tier: horseracing.TierNameOmega}
	for name, test := range map[string]struct {
		change func(*horseracing.Race)
		horse  *horseracing.Horse
		want   []string // parts of the text, or none for no error
	}{
		"nothing":                  {nil, horse, nil},
		"nothing, without a horse": {nil, nil, nil},
		"the deadline":             {func(r *horseracing.Race) { r.RegistrationDeadline = horseracing.NewTimestamp(now) }, horse, []string{"registration closed at 2026-01-02T15:00:00.000Z"}},
		"no deadline":              {func(r *horseracing.Race) { r.RegistrationDeadline = horseracing.Timestamp{} }, horse, []string{"no registration deadline"}},
		"finished":                 {func(r *horseracing.Race) { r.FinalOrder = []int{0} }, horse, []string{"has finished"}},
		"full":                     {func(r *horseracing.Race) { r.Places = 1 }, nil, []string{"none of its 1 places is free"}},
		"too low a level":          {nil, &horseracing.Horse{Number: 7, Level: 9}, []string{"level 9 of horse 7", "10 to 20"}},
		"too high a level":         {nil, &horseracing.Horse{Number: 7, Level: 21}, []string{"level 21 of horse 7"}},
		"no upper bound":           {func(r *horseracing.Race) { r.MaxLevel = 0 }, &horseracing.Horse{Number: 7, Level: 9}, []string{"10 or above"}},
		"it is in":                 {nil, &horseracing.Horse{Number: 8, Level: 10}, []string{"horse 8 is already in it"}},
		"everything": {func(r *horseracing.Race) { r.Places, r.RegistrationDeadline = 1, horseracing.NewTimestamp(now) }, &horseracing.Horse{Number: 8, Level: 9},
			[]string{"registration closed", "places", "level 9", "already in it"}},
	} {
		race := open
		if test.change != nil {
			test.change(&race)
		}
		err := race.CheckEntry(test.horse, now)
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range append(test.want, "race 4711") {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not contain %q", name, err, part)
			}
		}
	}
}
