package horseracingtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
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

// CI runs this for a 32-bit processor, too.
func TestASeedMakesTheSameWorldOnEveryProcessorHoweverTimePasses(t *testing.T) {
	var hashes []string
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
		hashes = append(hashes, hex.EncodeToString(hash.Sum(nil))+"\n")
	}
	double.Equal(t, "in many steps", hashes[0], hashes[1])
	double.Golden(t, "testdata/world", hashes[0]) // of what the fake with seed 1 shows
}

// A day without races looks as if a crawl had missed them.
func TestTheHistoryHasRacesEveryDay(t *testing.T) {
	shorter := double.Worlds(1, 1, 10)
	s := start(t, horseracingtest.WithHistory(20_000/shorter))
	for tier, most := range map[horseracing.TierID]int{3: 2000 / shorter, 5: 4000 / shorter} {
		races := double.Must(s.Client().Races.Results(horseracing.ResultsQuery{Tier: tier, Concurrency: 8}).Take(t.Context(), most))
		double.Equal(t, "races", most, len(races))
		for i, r := range races[1:] {
			gap := races[i].StartTime.Sub(r.StartTime.Time)
			double.FailIf(t, gap > 24*time.Hour, "tier %d: none for %v before %v", tier, gap, races[i].StartTime)
		}
	}
}

func TestAnAddedRaceTakesThePlaceOfTheOneWithItsIDUntilItIsRemoved(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(20))
	old := allRaces(t, s)[5]
	moved, known := raceAt(s, 7, 2*time.Hour), raceAt(s, 9, time.Hour)
	known.Participants, known.FinalOrder = []horseracing.RaceParticipant{{Number: 1, Total: 60, Lane: 1}}, []int{0}
	s.AddRaces(raceAt(s, 7, time.Hour), raceAt(s, 8, time.Hour), raceAt(s, old, 3*time.Hour), moved, raceAt(s, 10, time.Hour), known)
	s.RemoveRaces(10, 123456789)
	open := openRaces(t, s)
	double.Equal(t, "open", []horseracing.RaceID{7, 8, old}, idsOf(open)) // what has a final order never is
	double.Equal(t, "the start of race 7", moved.StartTime, open[0].StartTime)
	s.Advance(time.Hour + time.Millisecond)
	double.Equal(t, "first results", []horseracing.RaceID{9}, allRaces(t, s)[:1])
	s.Advance(3 * time.Hour)
	s.AddRaces(raceAt(s, 8, -48*time.Hour))
	s.RemoveRaces(9)
	all := allRaces(t, s)
	double.Equal(t, "results", 22, len(all))
	double.Equal(t, "the newest results", []horseracing.RaceID{old, 7}, all[:2])
}

const cupResultsPath = "/api/v1/tournaments/results"

type cup struct {
	ID horseracing.TournamentID `json:"_id"`
}

func TestAddedTournamentsAreShownAsTheyAre(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	open := horseracing.Tournament{ID: "o/pen", StartTime: horseracing.NewTimestamp(s.Now().Add(time.Hour)), Status: 2}
	over := open
	over.ID, over.Status = "over", 0
	s.AddTournaments(open, over)
	open.Status, over.Status = 0, 2
	s.AddTournaments(open, over) // in their place
	s.Advance(2000 * time.Hour)  // which changes neither
	for path, want := range map[string]horseracing.TournamentID{"/api/v1/tournaments/open": open.ID, cupResultsPath: over.ID} {
		double.Equal(t, path, []cup{{want}}, get[[]cup](t, s, path, ""))
	}
	double.Must(s.Client().Tournaments.Get(t.Context(), open.ID))
}

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

func TestARecordedRaceIsPlayedAsALiveOne(t *testing.T) {
	recorded := ranAt(7, noon, 9001, 9002, 3000, 9003)
	s := start(t, horseracingtest.WithHistoryOf(slices.Values([]horseracing.Race{recorded, ranAt(8, noon.Add(48*time.Hour), 5000)})))
	for _, test := range []struct {
		at                     time.Duration
		open, finished, horses int
	}{
		{-63 * time.Minute, 1, 0, 0}, // the clock begins where the first race opens
		{-30 * time.Minute, 1, 0, 2},
		{-time.Millisecond, 1, 0, 4},
		{5*time.Minute - time.Millisecond, 0, 0, 4},
		{5 * time.Minute, 0, 1, 4},
	} {
		s.Advance(noon.Add(test.at).Sub(s.Now()))
		race := get[[]horseracing.Race](t, s, "/api/v1/races/7", "")[0]
		double.Equal(t, test.at.String()+": open, finished, horses", []int{test.open, test.finished, test.horses}, []int{len(openRaces(t, s)), len(allRaces(t, s)), len(race.Participants)})
		isKnown := len(race.FinalOrder) > 0 || slices.ContainsFunc(race.Participants, func(p horseracing.RaceParticipant) bool { return p.Total > 0 })
		double.Equal(t, test.at.String()+": the result is known", test.finished > 0, isKnown)
	}
	played := get[[]horseracing.Race](t, s, resultsPath, `{"start_time_from":`+itoa(s.Now().UnixMilli())+`}`)
	double.Equal(t, "the result", []horseracing.Race{recorded}, played)
}

func TestOnlyHorsesThatReallyRanHaveAPlace(t *testing.T) {
	recorded := ranAt(7, noon, 9001, 9002, 3000, 9003)
	recorded.MinLevel = 90
	s := start(t, horseracingtest.WithHistoryOf(slices.Values([]horseracing.Race{recorded})))
	s.AddHorses(0, horseracing.Horse{Number: 9003, Level: 1}, horseracing.Horse{Number: 700, Level: 95}, horseracing.Horse{Number: 701, Level: 1})
	s.Advance(59 * time.Minute) // nearly full
	for horse, want := range map[horseracing.HorseNumber]int{9003: 200, 700: 200, 701: 409, 9002: 403} {
		status, body := register(t, s, horse, s.UserKey(0), 7)
		double.Equal(t, body, want, status)
	}
	s.Advance(2 * time.Hour)
	race := get[[]horseracing.Race](t, s, "/api/v1/races/7", "")[0]
	finishers := double.Must(race.Finishers())
	double.Equal(t, "finishers", 4, len(finishers))
	double.Equal(t, "the first", horseracing.HorseNumber(9003), finishers[0].Number)
	double.Equal(t, "participants", append(recorded.Participants, horseracing.RaceParticipant{Number: 700}), race.Participants)
}
