package horseracingtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func openRaces(t *testing.T, s *horseracingtest.Server) []horseracing.Race {
	t.Helper()
	return get[[]horseracing.Race](t, s, openPath, "")
}

func TestALongAdvanceEndsWhereManySmallOnesDo(t *testing.T) {
	slow, fast := start(t), start(t)
	for range 24 * 4 {
		slow.Advance(15 * time.Minute)
		openRaces(t, slow)
	}
	fast.Advance(24 * time.Hour)
	for _, path := range []string{openPath, resultsPath, "/api/v1/tournaments/open", "/api/v1/tournaments/results"} {
		_, a := do(t, slow, newRequest(t, slow, "GET", path, ""))
		_, b := do(t, fast, newRequest(t, fast, "GET", path, ""))
		if a != b {
			t.Errorf("%s differs:\n%s\n%s", path, a, b)
		}
	}
	if diff := cmp.Diff(allRaces(t, slow), allRaces(t, fast)); diff != "" {
		t.Errorf("results (-slow +fast):\n%s", diff)
	}
}

func TestAnAddedRaceTakesThePlaceOfTheOneWithItsID(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(20))
	old := allRaces(t, s)[5]
	moved := raceAt(s, 7, 2*time.Hour)
	s.AddRaces(raceAt(s, 7, time.Hour), raceAt(s, 8, time.Hour), raceAt(s, old, 3*time.Hour), moved)
	open := openRaces(t, s)
	if diff := cmp.Diff([]horseracing.RaceID{7, 8, old}, idsOf(open)); diff != "" || !open[0].StartTime.Equal(moved.StartTime.Time) {
		t.Fatalf("open %v (-want +got):\n%s", open, diff)
	}
	s.Advance(4 * time.Hour)
	s.AddRaces(raceAt(s, 8, -48*time.Hour))
	if all := allRaces(t, s); len(all) != 22 || !slices.Equal(all[:2], []horseracing.RaceID{old, 7}) {
		t.Errorf("results %v", all)
	}
}

func TestAnAddedRaceWithAFinalOrderIsFinishedWheneverItStarts(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	early := raceAt(s, 7, time.Hour)
	early.Participants, early.FinalOrder = []horseracing.RaceParticipant{{Number: 1, Total: 60, Lane: 1}}, []int{0}
	s.AddRaces(early)
	if open := openRaces(t, s); len(open) != 0 {
		t.Errorf("open: %+v", open)
	}
	if got := get[[]horseracing.Race](t, s, resultsPath, ""); len(got) != 0 {
		t.Errorf("before now: %v", idsOf(got))
	}
	s.Advance(time.Hour + time.Millisecond)
	if got := get[[]horseracing.Race](t, s, resultsPath, ""); len(got) != 1 {
		t.Errorf("an hour later: %v", idsOf(got))
	}
}

func TestRemovedRacesAreGone(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(40))
	all := allRaces(t, s)
	open := idsOf(openRaces(t, s))
	s.RemoveRaces(all[0], all[7], all[39], open[1], 123456789)
	want := slices.Delete(slices.Clone(all[1:39]), 6, 7)
	if diff := cmp.Diff(want, allRaces(t, s)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Delete(slices.Clone(open), 1, 2), idsOf(openRaces(t, s))); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeAddedPanics(t *testing.T) {
	s := start(t)
	when := horseracing.NewTimestamp(s.Now())
	for name, add := range map[string]func(){
		"race without id":           func() { s.AddRaces(horseracing.Race{StartTime: when}) },
		"race without start":        func() { s.AddRaces(horseracing.Race{MainRaceID: 1}) },
		"race of no tier":           func() { s.AddRaces(horseracing.Race{MainRaceID: 1, StartTime: when, Tier: "Zeta"}) },
		"tournament without id":     func() { s.AddTournaments(horseracing.Tournament{StartTime: when}) },
		"tournament without start":  func() { s.AddTournaments(horseracing.Tournament{ID: "x"}) },
		"tournament of no tier":     func() { s.AddTournaments(horseracing.Tournament{ID: "x", StartTime: when, Tier: 9}) },
		"clock put back":            func() { s.Advance(-1) },
		"key of an unknown user":    func() { s.UserKey(s.NumUsers()) },
		"horses of an unknown user": func() { s.Horses(-1) },
		"horse without number":      func() { s.AddHorses(0, horseracing.Horse{}) },
		"horse of an unknown user":  func() { s.AddHorses(s.NumUsers(), horseracing.Horse{Number: 5001}) },
		"missions of no horse":      func() { s.SetHorseMissions(horseracing.HorseMissions{Number: 5001}) },
		"handler without a path":    func() { s.Handle("GET", nil) },
		"negative history":          func() { horseracingtest.NewServer(horseracingtest.WithHistory(-1)) },
	} {
		if !panics(add) {
			t.Errorf("%s: no panic", name)
		}
	}
	// None of them may leave the fake locked.
	openRaces(t, s)
}

func TestTheCooldownOfAnAddedHorseEnds(t *testing.T) {
	s := start(t)
	later := s.Now().Add(time.Hour)
	s.AddHorses(1, horseracing.Horse{Number: 5001, BreedingCooldown: &later})
	for _, resting := range []bool{true, false} {
		if got, err := s.Client().Horses.Get(t.Context(), 5001); err != nil || (got.BreedingCooldown != nil) != resting {
			t.Errorf("at %v: %+v: %v", s.Now(), got, err)
		}
		s.Advance(time.Hour)
	}
}

func TestAnAddedHorseBelongsToItsUserAndRacesAtItsLevel(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0))
	s.AddHorses(1, horseracing.Horse{Number: 5001, Level: 42}, horseracing.Horse{Number: 2, Level: 7}) // 2 was user 0's
	s.AddHorses(-1, horseracing.Horse{Number: 9})
	for user, want := range [][]horseracing.HorseNumber{{1, 3, 4, 5, 6}, {2, 7, 8, 10, 11, 12, 5001}} {
		owned, err := s.Client().Horses.Owned(t.Context(), s.UserKey(user))
		if diff := cmp.Diff(want, s.Horses(user)); diff != "" || err != nil || len(owned) != len(want) {
			t.Errorf("user %d has %v: %v (-want +got):\n%s", user, owned, err, diff)
		}
	}
	narrow := raceAt(s, 7, time.Hour)
	narrow.MinLevel, narrow.MaxLevel = 40, 45
	s.AddRaces(narrow)
	for _, test := range []struct {
		user  int
		horse horseracing.HorseNumber
		want  int
	}{{0, 5001, 403}, {0, 2, 403}, {1, 9, 403}, {1, 2, 409}, {1, 5001, 200}} {
		if status, body := register(t, s, test.horse, s.UserKey(test.user), 7); status != test.want {
			t.Errorf("user %d, horse %d: status %d, want %d: %s", test.user, test.horse, status, test.want, body)
		}
	}
}

// What is set of a listing, a horse and its missions is shown by TestTypesKeepEveryMemberThroughTheFake.
func TestBreedingMissionsAndCatalogueCanBeSet(t *testing.T) {
	s := start(t)
	catalogue := horseracing.MissionCatalogue{Weekly: []horseracing.MissionTemplate{{Type: "hop", Min: 1, Max: 2, XPBase: -1.5}}}
	s.SetCatalogue(catalogue)
	if got, err := s.Client().Missions.Catalogue(t.Context()); err != nil || !cmp.Equal(&catalogue, got, cmpopts.EquateEmpty()) {
		t.Errorf("%+v, %v", got, err)
	}
	s.SetHorseMissions(horseracing.HorseMissions{Number: 3})
	if got, err := s.Client().Horses.Missions(t.Context(), 4); err != nil || len(got.Missions) < 5 {
		t.Errorf("the missions of another horse: %+v: %v", got, err)
	}
	s.SetBreeding()
	if _, body := do(t, s, newRequest(t, s, "GET", "/api/v1/horses/breeding/open", "")); body != "[]" {
		t.Errorf("no listings: %s", body)
	}
}

func TestThereCanBeMoreUsers(t *testing.T) {
	s := start(t, horseracingtest.WithUsers(50))
	if s.NumUsers() != 50 || start(t).NumUsers() != 4 {
		t.Errorf("%d users", s.NumUsers())
	}
	seen := map[horseracing.HorseNumber]bool{}
	for user := range s.NumUsers() {
		for _, h := range get[[]horseracing.Horse](t, s, "/api/v1/horses/user", `{"user_key":"`+string(s.UserKey(user))+`"}`) {
			seen[h.Number] = true
		}
	}
	if len(seen) != 50*6 {
		t.Errorf("50 users own %d horses", len(seen))
	}
	// The four that every fake has are the same ones.
	if few := start(t); few.UserKey(3) != s.UserKey(3) || !cmp.Equal(few.Horses(3), s.Horses(3)) {
		t.Error("user 3 is somebody else")
	}
}

func TestHandlersMatchByMethodAndSegments(t *testing.T) {
	s := start(t)
	named := func(body string) func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return func(horseracingtest.Request) (horseracingtest.Response, bool) {
			return horseracingtest.Response{Body: body}, true
		}
	}
	s.Handle("GET /api/v1/horses/{n}", named("horse"))
	s.Handle("/api/v9/{a}/x/{b}", named("new"))
	s.Handle("GET /api/v1/horses/5", named("five")) // the newest wins
	s.Handle("POST "+registerPath, func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{Body: string(r.Body)}, true
	})
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/horses/5", "", "five"},
		{"GET", "/api/v1/horses/6", "", "horse"},
		{"PUT", "/api/v9/1/x/2", "{}", "new"},
		{"POST", registerPath, "anything", "anything"},
		{"GET", "/api/v9/1/x", "", "unknown_path"},
		{"POST", "/api/v1/horses/6", "", "wrong_method"},
	} {
		if _, body := do(t, s, newRequest(t, s, test.method, test.path, test.body)); body != test.want && !strings.Contains(body, `"code":"`+test.want+`"`) {
			t.Errorf("%s %s: %s, want %s", test.method, test.path, body, test.want)
		}
	}
	r := newRequest(t, s, "GET", "/api/v1/horses/6", "")
	r.Header.Set("x-api-key", "wrong")
	if response, body := do(t, s, r); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a handler saw a request without a valid key: %s", body)
	}
}

func TestAHandlerCanUseTheServer(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0))
	s.Handle("GET "+openPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		s.AddRaces(raceAt(s, 7, time.Hour))
		return horseracingtest.Response{}, false
	})
	if got := idsOf(openRaces(t, s)); !cmp.Equal(got, []horseracing.RaceID{7}) {
		t.Errorf("%v", got)
	}
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

const (
	cupResultsPath = "/api/v1/tournaments/results"
	cupOpenPath    = "/api/v1/tournaments/open"
)

func cupIDs(tournaments []horseracing.Tournament) []horseracing.TournamentID {
	var ids []horseracing.TournamentID
	for _, t := range tournaments {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestAddedTournamentsAreShownAsTheyAre(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	open := horseracing.Tournament{ID: "o/pen", Name: "n", StartTime: horseracing.NewTimestamp(s.Now().Add(time.Hour)), Tier: 5}
	over := open
	over.ID, over.Status, over.StartTime = "over", 2, horseracing.NewTimestamp(s.Now().Add(-time.Hour))
	s.AddTournaments(open, over)
	s.Advance(48 * time.Hour)
	if open, over := cupIDs(get[[]horseracing.Tournament](t, s, cupOpenPath, "")), cupIDs(get[[]horseracing.Tournament](t, s, cupResultsPath, "")); !slices.Equal(open, []horseracing.TournamentID{"o/pen"}) || !slices.Equal(over, []horseracing.TournamentID{"over"}) {
		t.Errorf("open %v, results %v", open, over)
	}
	if got, err := s.Client().Tournaments.Get(t.Context(), "o/pen"); err != nil || got.Name != "n" {
		t.Errorf("by its id: %+v, %v", got, err)
	}
	open.Status = 2
	s.AddTournaments(open)
	if got := cupIDs(get[[]horseracing.Tournament](t, s, cupResultsPath, "")); !slices.Equal(got, []horseracing.TournamentID{"o/pen", "over"}) {
		t.Errorf("results %v", got)
	}
	if got := get[[]horseracing.Tournament](t, s, cupOpenPath, ""); len(got) != 0 {
		t.Errorf("open %v", got)
	}
}

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
			_, err := s.Client().Races.Register(t.Context(), horseracing.Registration{Horse: test.horse, Race: test.race, UserKey: test.key})
			if isUnknown := errors.Is(err, horseracing.ErrOutcomeUnknown); err == nil || isUnknown {
				t.Errorf("the client says: %v", err)
			}
		})
	}
	if got := len(s.Registrations()); got != 2 {
		t.Errorf("%d registrations were accepted, want 2", got)
	}
}

// worldOfSeed1 is the hash of a sample of what the fake with seed 1 responds.
// It changes only where the world is changed on purpose.
const worldOfSeed1 = "3cd7cdddd95b91dbbfd38cf6006ed3f17c8d00d14569230d8c8baf0a09d79a88"

// CI runs this for a 32-bit processor too.
func TestASeedMakesTheSameWorldOnEveryProcessor(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(20_000))
	hash := sha256.New()
	look := func(path, body string) {
		response, text := do(t, s, newRequest(t, s, "GET", path, body))
		hash.Write([]byte(path + body + response.Status + text))
	}
	hash.Write([]byte(s.APIKey + string(s.UserKey(3))))
	look("/api/v1/horses/user", `{"user_key":"`+string(s.UserKey(2))+`"}`)
	for number := 1; number < 4096; number += 97 {
		look("/api/v1/horses/"+itoa(number), "")
		look("/api/v1/horses/missions/"+itoa(number), "")
	}
	for range 3 {
		look("/api/v1/horses/breeding/open", "")
		look(openPath, "")
		look("/api/v1/tournaments/open", "")
		look("/api/v1/missions", "")
		for tier := 1; tier <= 5; tier++ {
			for _, days := range []int{0, 30, 300, 3000} {
				before := `{"tier":` + itoa(tier) + `,"start_time_from":` + itoa(s.Now().Add(time.Duration(-24*days)*time.Hour).UnixMilli()) + `}`
				look(resultsPath, before)
				look("/api/v1/tournaments/results", before)
			}
			for _, offset := range []string{"0", "12345", "19995", "5000000000"} {
				look(resultsV1Path, `{"tier":`+itoa(tier)+`,"offset":`+offset+`}`)
			}
		}
		for id := 1001; id < 28_000; id += 1_703 {
			look("/api/v1/races/"+itoa(id), "")
		}
		s.Advance(7 * time.Hour)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != worldOfSeed1 {
		t.Errorf("the world of seed 1 has the hash %s, want %s", got, worldOfSeed1)
	}
}
