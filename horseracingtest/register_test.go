package horseracingtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func register(t *testing.T, s *horseracingtest.Server, horse horseracing.HorseNumber, key horseracing.UserKey, id horseracing.RaceID) (int, string) {
	t.Helper()
	body := `{"horse_number":` + itoa(horse) + `,"user_key":"` + string(key) + `","main_race_id":` + itoa(id) + `}`
	response, text := do(t, s, newRequest(t, s, http.MethodPost, registerPath, body))
	return response.StatusCode, text
}

func TestARegistrationIsRefusedWithItsReason(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0))
	level := raceAt(s, 1, time.Hour)
	level.MinLevel, level.MaxLevel = 15, 34
	full := raceAt(s, 2, time.Hour)
	full.Places, full.Participants = 1, []horseracing.RaceParticipant{{Number: 99}}
	soon := raceAt(s, 4, 6*time.Minute)
	s.AddRaces(level, full, raceAt(s, 3, time.Hour), soon, raceAt(s, 5, -time.Hour))
	history := allRaces(t, s)[3]
	mine, key := s.Horses(0), s.UserKey(0)
	for _, id := range []horseracing.RaceID{1, 3} { // race 1 just takes the level 15
		if status, body := register(t, s, mine[0], key, id); status != http.StatusOK {
			t.Fatalf("race %d: status %d: %s", id, status, body)
		}
	}
	s.Advance(time.Minute)
	for _, test := range []struct {
		name   string
		horse  horseracing.HorseNumber
		key    horseracing.UserKey
		race   horseracing.RaceID
		status int
		words  string
	}{
		{"level too low", mine[3], key, 1, 409, "of level 5, and race 1 takes levels 15 to 34"},
		{"level too high", mine[1], key, 1, 409, "of level 35"},
		{"full", mine[0], key, 2, 409, "all of its 1 places are taken"},
		{"twice", mine[0], key, 3, 409, "registered in race 3 already"},
		{"deadline", mine[0], key, 4, 409, "deadline of race 4 has passed"},
		{"over", mine[0], key, 5, 409, "race 5 is over"},
		{"of the past", mine[0], key, history, 409, "is over"},
		{"unknown race", mine[0], key, 999, 404, "no race 999"},
		{"unknown horse", 100_000, key, 3, 404, "no horse 100000"},
		{"horse of another user", s.Horses(1)[0], key, 3, 403, "does not belong to the user"},
		{"horse of an unknown owner", 4000, key, 3, 403, "does not belong to the user"},
		{"unknown key", mine[0], "nonsense", 3, 403, "belongs to no user"},
		{"API key", mine[0], horseracing.UserKey(s.APIKey), 3, 403, "belongs to no user"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := register(t, s, test.horse, test.key, test.race)
			if status != test.status || !strings.Contains(body, test.words) {
				t.Errorf("status %d: %s\nwant %d and %q", status, body, test.status, test.words)
			}
		})
	}
	if got := len(s.Registrations()); got != 2 {
		t.Errorf("%d registrations were accepted, want 2", got)
	}
}
