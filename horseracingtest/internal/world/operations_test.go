package world

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/horseracing-go/horseracing"
)

// small is a world with one open race of two places for levels 1 to 20, number 7, whose
// registration closes in an hour.
func small(t *testing.T) *World {
	t.Helper()
	w := new(World)
	w.Reset(Settings{Seed: 1, Users: 2}, noon)
	w.Advance(noon)
	start := horseracing.NewTimestamp(time.UnixMilli(noon + hourMillis))
	if err := w.AddRaces(noon, horseracing.Race{MainRaceID: 7, StartTime: start, Places: 2, MaxLevel: 20}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddHorses(0, horseracing.Horse{Number: 5000, Level: 20}, horseracing.Horse{Number: 5001, Level: 20}, horseracing.Horse{Number: 5002, Level: 20}); err != nil {
		t.Fatal(err)
	}
	return w
}

func enter(w *World, user int, horse, race, now int64) (status int, code string) {
	status, body := w.Do(Register, Argument{}, Body{Horse: horse, Race: race, UserKey: w.UserKey(user)}, now)
	var refusal struct{ Error struct{ Code string } }
	if err := json.Unmarshal(body, &refusal); err != nil {
		return status, err.Error()
	}
	return status, refusal.Error.Code
}

func TestRegisteringTakesAHorseOfTheUserThatFitsOnceUntilTheDeadline(t *testing.T) {
	for _, test := range []struct {
		name        string
		before      []int64 // horses that are in
		user        int
		horse, race int64
		after       int64 // milliseconds
		want        string
	}{
		{"fits", nil, 0, 5000, 7, 0, "200 "},
		{"last moment", nil, 0, 5000, 7, hourMillis - 1, "200 "},
		{"deadline", nil, 0, 5000, 7, hourMillis, "409 registration_closed"},
		{"twice", []int64{5000}, 0, 5000, 7, 0, "409 already_registered"},
		{"full", []int64{5000, 5001}, 0, 5002, 7, 0, "409 race_full"},
		{"another user's", nil, 1, 5000, 7, 0, "403 not_the_owner"},
		{"level", nil, 0, 2, 7, 0, "409 level_out_of_range"},
		{"no horse", nil, 0, 6000, 7, 0, "404 unknown_horse"},
		{"no race", nil, 0, 5000, 8, 0, "404 unknown_race"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := small(t)
			for _, horse := range test.before {
				enter(w, 0, horse, 7, noon)
			}
			w.Advance(noon + test.after)
			status, code := enter(w, test.user, test.horse, test.race, noon+test.after)
			if diff := cmp.Diff(test.want, fmt.Sprint(status, " ", code)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARaceIsOpenThenRunsUnlistedThenIsInTheResults(t *testing.T) {
	w := small(t)
	enter(w, 0, 5000, 7, noon)
	for _, test := range []struct {
		after                  time.Duration
		open, results, another int
	}{
		{0, 1, 0, 0},
		{time.Hour - time.Millisecond, 1, 0, 0},
		{time.Hour, 0, 0, 0},
		{time.Hour + 35*time.Minute, 0, 1, 0},
	} {
		now := noon + test.after.Milliseconds()
		w.Advance(now)
		later, other := DefaultBody(now+1), DefaultBody(now+1)
		other.Tier = 2
		for _, listing := range []struct {
			operation Operation
			body      Body
			want      int
		}{{OpenRaces, later, test.open}, {RaceResults, later, test.results}, {RaceResultsV1, later, test.results}, {RaceResults, other, test.another}} {
			status, body := w.Do(listing.operation, Argument{}, listing.body, now)
			var races []horseracing.Race
			if err := json.Unmarshal(body, &races); err != nil || status != 200 || len(races) != listing.want {
				t.Errorf("after %v, operation %d: status %d, %d races, %v; want %d", test.after, listing.operation, status, len(races), err, listing.want)
			}
		}
	}
}
