package horseracingtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestAnAddedHorseHasWhatItWasGiven(t *testing.T) {
	s := start(t)
	later := s.Now().Add(time.Hour)
	given := horseracing.Horse{
		Name: "Quiet Ledger", Image: "https://horses.invalid/q.png", ExternalURL: "https://horses.invalid/q", Number: 5001, Gender: "Gelding",
		Height: 1.7, Weight: 512.5, Level: 42, Appearance: []horseracing.Trait{{Type: "mane_color", Value: "teal"}}, BreedingCooldown: &later,
		Breed: "unheard of", Generation: 3, Tier: "Zeta",
	}
	s.AddHorses(1, given)
	client := s.Client()
	got, err := client.Horses.Get(t.Context(), 5001)
	if diff := cmp.Diff(&given, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	s.Advance(time.Hour)
	if got, err := client.Horses.Get(t.Context(), 5001); err != nil || got.BreedingCooldown != nil {
		t.Errorf("the cooldown is still there: %+v: %v", got, err)
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

func TestBreedingMissionsAndCatalogueCanBeSet(t *testing.T) {
	s := start(t)
	ctx, client := t.Context(), s.Client()
	var price horseracing.Number
	if err := json.Unmarshal([]byte("1.5"), &price); err != nil {
		t.Fatal(err)
	}
	place := 2
	listings := []horseracing.BreedingListing{{Name: "Quiet Ledger", Number: 5001, Gender: "Mare", WinsFirstCount: 3, TotalRaceCount: 9, Price: price, Generation: 1, Tier: "Omega"}}
	missions := horseracing.HorseMissions{Number: 3, Missions: []horseracing.HorseMission{{Type: "weekly", Mission: "hop", Name: "Hop", Count: 3, Progress: []json.RawMessage{json.RawMessage("[1]")}, Completed: true, Place: &place}}}
	catalogue := horseracing.MissionCatalogue{Weekly: []horseracing.MissionTemplate{{Type: "hop", Min: 1, Max: 2, XPBase: -1.5}}}
	s.SetBreeding(listings...)
	s.SetHorseMissions(missions)
	s.SetCatalogue(catalogue)

	nothing := cmpopts.EquateEmpty()
	if got, err := client.Horses.OpenForBreeding(ctx); err != nil || !cmp.Equal(listings, got) {
		t.Errorf("%v: %s", err, cmp.Diff(listings, got))
	}
	if got, err := client.Horses.Missions(ctx, 3); err != nil || !cmp.Equal(&missions, got) {
		t.Errorf("%v: %s", err, cmp.Diff(&missions, got))
	}
	if got, err := client.Missions.Catalogue(ctx); err != nil || !cmp.Equal(&catalogue, got, nothing) {
		t.Errorf("%v: %s", err, cmp.Diff(&catalogue, got, nothing))
	}
	if got, err := client.Horses.Missions(ctx, 4); err != nil || len(got.Missions) < 5 {
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
