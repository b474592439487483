package horseracingtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

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
		owned := get[[]horseracing.Horse](t, s, "/api/v1/horses/user", `{"user_key":"`+string(s.UserKey(user))+`"}`)
		for _, h := range owned {
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
