package horseracingtest_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// ranAt is a recorded race of four horses, of which the last wins.
func ranAt(id horseracing.RaceID, start time.Time, horses ...horseracing.HorseNumber) horseracing.Race {
	race := horseracing.Race{
		MainRaceID: id, StartTime: horseracing.NewTimestamp(start), RegistrationDeadline: horseracing.NewTimestamp(start.Add(-3 * time.Minute)),
		Type: horseracing.RaceTypeBestTime, Length: 8, V2: true, EntryFee: horseracing.NewBigInt(5), Prizes: []horseracing.Number{},
		Tier: "Omega", Places: 4, MinLevel: 1, MaxLevel: 100, FinalOrder: []int{}, Winners: []int{},
	}
	for i, horse := range horses {
		race.Participants = append(race.Participants, horseracing.RaceParticipant{Number: horse, Total: 99.5 - float64(i), Lane: i + 1})
		race.FinalOrder = append(race.FinalOrder, len(horses)-1-i)
	}
	race.Winners = race.FinalOrder[:1]
	return race
}

func play(t *testing.T, races []horseracing.Race, opts ...horseracingtest.Option) *horseracingtest.Server {
	t.Helper()
	return start(t, append([]horseracingtest.Option{horseracingtest.WithHistoryOf(slices.Values(races))}, opts...)...)
}

func TestARecordedRaceIsPlayedAsALiveOne(t *testing.T) {
	recorded := ranAt(7, noon, 9001, 9002, 3000, 9003)
	s := play(t, []horseracing.Race{recorded, ranAt(8, noon.Add(48*time.Hour), 5000)})
	ctx, client := t.Context(), s.Client()
	look := func(at time.Duration) (open int, finished []horseracing.Race, race *horseracing.Race) {
		t.Helper()
		s.Advance(noon.Add(at).Sub(s.Now()))
		listed := openRaces(t, s)
		finished, err := client.Races.Results(horseracing.ResultsQuery{Before: s.Now()}).Take(ctx, 9)
		if err != nil {
			t.Fatal(err)
		}
		race, err = client.Races.Get(ctx, 7)
		if err != nil {
			t.Fatal(err)
		}
		return len(listed), finished, race
	}
	if want := noon.Add(-63 * time.Minute); !s.Now().Equal(want) {
		t.Errorf("the clock stands at %v, want %v, where the first race opens", s.Now(), want)
	}
	for _, test := range []struct {
		at           time.Duration
		open, in     int
		participants int
	}{
		{-63 * time.Minute, 1, 0, 0},
		{-30 * time.Minute, 1, 0, 2},
		{-time.Millisecond, 1, 0, 4},
		{0, 0, 0, 4},
		{5*time.Minute - time.Millisecond, 0, 0, 4},
		{5 * time.Minute, 0, 1, 4},
	} {
		open, finished, race := look(test.at)
		if open != test.open || len(finished) != test.in || len(race.Participants) != test.participants || (len(race.FinalOrder) > 0) != (test.in > 0) {
			t.Errorf("at %v: %d open, %d finished, race %+v", test.at, open, len(finished), race)
		}
		for _, p := range race.Participants {
			if test.in == 0 && p.Total != 0 {
				t.Errorf("at %v the result is known: %+v", test.at, race)
			}
		}
	}
	_, finished, race := look(time.Hour)
	if diff := cmp.Diff([]horseracing.Race{recorded}, finished); diff != "" {
		t.Errorf("the result (-recorded +played):\n%s", diff)
	}
	recorded.ObjectID = race.ObjectID
	if diff := cmp.Diff(&recorded, race); diff != "" {
		t.Errorf("by its id (-recorded +played):\n%s", diff)
	}
	if _, err := client.Races.Get(ctx, 8); !errors.Is(err, horseracing.ErrNotFound) {
		t.Errorf("a race of the future: %v", err)
	}
}

func TestOnlyHorsesThatReallyRanHaveAPlace(t *testing.T) {
	recorded := ranAt(7, noon, 9001, 9002, 3000, 9003)
	recorded.MinLevel = 90
	s := play(t, []horseracing.Race{recorded})
	s.AddHorses(0, horseracing.Horse{Number: 9003, Level: 1}, horseracing.Horse{Number: 700, Level: 95}, horseracing.Horse{Number: 701, Level: 1})
	s.AddHorses(1, horseracing.Horse{Number: 9001})
	s.Advance(59 * time.Minute) // nearly full
	for _, test := range []struct {
		horse horseracing.HorseNumber
		want  int
	}{{9003, 200}, {700, 200}, {9003, 409}, {701, 409}, {9001, 403}, {9002, 403}} {
		if status, body := register(t, s, test.horse, s.UserKey(0), 7); status != test.want {
			t.Errorf("horse %d: status %d, want %d: %s", test.horse, status, test.want, body)
		}
	}
	s.Advance(2 * time.Hour)
	race, err := s.Client().Races.Get(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	finishers, err := race.Finishers()
	if err != nil || len(finishers) != 4 || finishers[0].Number != 9003 {
		t.Errorf("%v: %v", finishers, err)
	}
	want := append(recorded.Participants, horseracing.RaceParticipant{Number: 700})
	if diff := cmp.Diff(want, race.Participants); diff != "" {
		t.Errorf("participants (-want +got):\n%s", diff)
	}
}
