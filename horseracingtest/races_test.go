package horseracingtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// raceAt is an open race of that id, an hour before its start if the fake's
// clock is stopped.
func raceAt(s *horseracingtest.Server, id horseracing.RaceID, in time.Duration) horseracing.Race {
	start := s.Now().Add(in)
	return horseracing.Race{MainRaceID: id, StartTime: horseracing.NewTimestamp(start), RegistrationDeadline: horseracing.NewTimestamp(start.Add(-5 * time.Minute))}
}

func idsOf(races []horseracing.Race) []horseracing.RaceID {
	ids := []horseracing.RaceID{}
	for _, r := range races {
		ids = append(ids, r.MainRaceID)
	}
	return ids
}

func openRaces(t *testing.T, s *horseracingtest.Server) []horseracing.Race {
	t.Helper()
	return get[[]horseracing.Race](t, s, openPath, "")
}

// allRaces reads the finished races of the default tier by offset, newest first.
func allRaces(t testing.TB, s *horseracingtest.Server) []horseracing.RaceID {
	t.Helper()
	var all []horseracing.RaceID
	for {
		page := get[[]horseracing.Race](t, s, resultsV1Path, `{"offset":`+itoa(len(all))+`}`)
		if len(page) == 0 {
			return all
		}
		all = append(all, idsOf(page)...)
	}
}

func registration(horse horseracing.HorseNumber, key horseracing.UserKey, id horseracing.RaceID) string {
	return `{"horse_number":` + itoa(horse) + `,"user_key":"` + string(key) + `","main_race_id":` + itoa(id) + `}`
}

func register(t *testing.T, s *horseracingtest.Server, horse horseracing.HorseNumber, key horseracing.UserKey, id horseracing.RaceID) (int, string) {
	t.Helper()
	response, text := do(t, s, newRequest(t, s, http.MethodPost, registerPath, registration(horse, key, id)))
	return response.StatusCode, text
}

func TestARegistrationIsRefusedWithItsReason(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0))
	s.AddHorses(0, horseracing.Horse{Number: 5001, Level: 14}, horseracing.Horse{Number: 5002, Level: 35})
	s.AddHorses(1, horseracing.Horse{Number: 2}) // which was user 0's
	s.AddHorses(-1, horseracing.Horse{Number: 9})
	level := raceAt(s, 1, time.Hour)
	level.MinLevel, level.MaxLevel = 15, 34
	full := raceAt(s, 2, time.Hour)
	full.Places, full.Participants = 1, []horseracing.RaceParticipant{{Number: 99}}
	soon := raceAt(s, 4, 6*time.Minute)
	s.AddRaces(level, full, raceAt(s, 3, time.Hour), soon)
	history := allRaces(t, s)[3]
	mine, key := s.Horses(0), s.UserKey(0)
	double.Equal(t, "horses of user 0", []horseracing.HorseNumber{1, 3, 4, 5, 6, 5001, 5002}, mine)
	for _, id := range []horseracing.RaceID{1, 3} { // race 1 just takes the level 15
		status, body := register(t, s, mine[0], key, id)
		double.Equal(t, body, http.StatusOK, status)
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
		{"level too low", 5001, key, 1, 409, "of level 14, and race 1 takes levels 15 to 34"},
		{"level too high", 5002, key, 1, 409, "of level 35"},
		{"full", mine[0], key, 2, 409, "all of its 1 places are taken"},
		{"twice", mine[0], key, 3, 409, "registered in race 3 already"},
		{"deadline", mine[0], key, 4, 409, "deadline of race 4 has passed"},
		{"of the past", mine[0], key, history, 409, "is over"},
		{"unknown race", mine[0], key, 999, 404, "no race 999"},
		{"unknown horse", 100_000, key, 3, 404, "no horse 100000"},
		{"horse of another user", 2, key, 3, 403, "does not belong to the user"},
		{"horse of an unknown owner", 9, key, 3, 403, "does not belong to the user"},
		{"unknown key", mine[0], "nonsense", 3, 403, "belongs to no user"},
	} {
		status, body := register(t, s, test.horse, test.key, test.race)
		double.Equal(t, test.name, test.status, status)
		double.Equal(t, test.name+": "+body+" contains "+test.words, true, strings.Contains(body, test.words))
	}
	double.Equal(t, "registrations that were accepted", 2, len(s.Registrations()))
}

// worldOfSeed1 is the hash of what the fake with seed 1 shows. It changes only where that
// is changed on purpose.
const worldOfSeed1 = "d48a0577ccd2e0442f493dd6a1adff0cc925adcee77b4d5a31054d079e7b7fc2"

// CI runs this for a 32-bit processor, too.
func TestASeedMakesTheSameWorldOnEveryProcessorHoweverTimePasses(t *testing.T) {
	for _, steps := range []int{1, double.Worlds(480, 480, 24)} {
		s := start(t)
		hash := sha256.New()
		hash.Write([]byte(s.APIKey + string(s.UserKey(3))))
		for _, days := range []int{0, 1, 30} {
			for range steps {
				s.Advance(time.Duration(days) * 24 * time.Hour / time.Duration(steps))
				openRaces(t, s)
			}
			for _, path := range []string{openPath, resultsPath, resultsV1Path, "/api/v1/horses/4000", "/api/v1/races/1500", "/api/v1/tournaments/open", cupResultsPath} {
				_, text := do(t, s, newRequest(t, s, "GET", path, ""))
				hash.Write([]byte(text))
			}
		}
		double.Equal(t, fmt.Sprintf("the hash of the world of seed 1 in %d steps", steps), worldOfSeed1, hex.EncodeToString(hash.Sum(nil)))
	}
}

// A day without races looks as if a crawl had missed them.
func TestTheHistoryHasRacesEveryDay(t *testing.T) {
	shorter := double.Worlds(1, 1, 10)
	s := start(t, horseracingtest.WithHistory(20_000/shorter))
	for tier, most := range map[horseracing.TierID]int{3: 2000 / shorter, 5: 4000 / shorter} {
		races := double.Must(s.Client().Races.Results(horseracing.ResultsQuery{Tier: tier, Concurrency: 8}).Take(t.Context(), most))
		double.Equal(t, "races", most, len(races))
		for i, r := range races[1:] {
			if gap := races[i].StartTime.Sub(r.StartTime.Time); gap > 24*time.Hour {
				t.Errorf("tier %d: none for %v before %v", tier, gap, races[i].StartTime)
			}
		}
	}
}
