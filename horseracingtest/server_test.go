package horseracingtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestEveryOperationRespondsAsTheAPIReferenceSays(t *testing.T) {
	s := start(t)
	s.AddRaces(raceAt(s, 7, time.Hour))
	drift := func(_ context.Context, d horseracing.Drift) { t.Errorf("%+v", d) }
	everything(t, s, s.UserKey(2), s.Client(horseracing.WithDriftHandler(drift)))
}

func TestStartReportsWhyItCannot(t *testing.T) {
	taken := start(t)
	nameless, timeless := ranAt(0, noon, 1), ranAt(7, noon, 1)
	timeless.StartTime = horseracing.Timestamp{}
	history := func(races ...horseracing.Race) []horseracingtest.Option {
		return []horseracingtest.Option{horseracingtest.WithHistoryOf(slices.Values(races))}
	}
	var limits, readings []horseracingtest.Option
	for _, limit := range []horseracingtest.RequestLimit{
		{}, {PerSecond: 1, InFlight: 1}, {PerSecond: -1}, {PerSecond: 1e9}, {PerWindow: 5}, {Window: time.Second},
		{InFlight: 1, Burst: 2}, {InFlight: 1, Sliding: true}, {InFlight: -1}, {PerSecond: 1, RetryAfter: "minutes"}, {PerSecond: 1, Path: "api"},
	} {
		limits = append(limits, horseracingtest.WithRequestLimit(limit))
	}
	for _, reading := range []horseracingtest.Readings{{Participants: "never"}, {EmptyList: "500"}, {RepeatedAs: 200}, {Members: map[string]string{"tier": "x"}}} {
		readings = append(readings, horseracingtest.WithReadings(reading))
	}
	for words, opts := range map[string][]horseracingtest.Option{
		"address already in use":    {horseracingtest.WithAddr(strings.TrimPrefix(taken.URL, "http://"))},
		"a history of -1 races":     {horseracingtest.WithHistory(-1)},
		"4000 new races an hour":    {horseracingtest.WithSchedule(4000)},
		"latency cannot be":         {horseracingtest.WithLatency(-1)},
		"negative number of reques": {horseracingtest.WithRequestLog(-1)},
		"0 users":                   {horseracingtest.WithUsers(0)},
		"501 users":                 {horseracingtest.WithUsers(501)},
		"request limit":             limits,
		"readings: ":                readings,
		"there is no race":          history(),
		"no MainRaceID":             history(nameless),
		"race 7 has no StartTime":   history(timeless),
	} {
		for i, opt := range opts {
			if s, err := horseracingtest.Start(opt); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("option %d: %v, want %q", i, err, words)
				if s != nil {
					s.Close()
				}
			}
		}
	}
}

// A base URL without a host of its own would be refused by the client.
func TestAServerThatListensEverywhereIsReachedOnThisMachine(t *testing.T) {
	s := start(t, horseracingtest.WithAddr(":0"))
	if !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
		t.Errorf("the URL is %s", s.URL)
	}
	if _, err := s.Client().Races.Open(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAFakeThatIsResetIsAsNew(t *testing.T) {
	limit := horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{PerSecond: 1, Burst: 10})
	paths := []string{openPath, "/api/v1/horses/3", "/api/v1/horses/missions/3", "/api/v1/horses/breeding/open", "/api/v1/missions", resultsPath, "/api/v1/tournaments/open", "/api/v1/races/7"}
	look := func(s *horseracingtest.Server) []string {
		seen := []string{s.Now().String(), fmt.Sprint(s.Registrations(), s.RequestCount(), s.Horses(0))}
		for _, path := range paths {
			response, body := do(t, s, newRequest(t, s, "GET", path, ""))
			seen = append(seen, fmt.Sprintf("%s: %d %s", path, response.StatusCode, body))
		}
		return seen
	}
	want := look(start(t, limit))

	s := start(t, limit)
	url := s.URL
	s.SetRequestLimit()
	s.AddRaces(raceAt(s, 7, time.Hour))
	s.AddHorses(0, horseracing.Horse{Number: 3, Name: "Comet"}, horseracing.Horse{Number: 5000})
	s.AddTournaments(horseracing.Tournament{ID: "cup", StartTime: horseracing.NewTimestamp(s.Now())})
	s.SetBreeding()
	s.SetCatalogue(horseracing.MissionCatalogue{})
	s.SetHorseMissions(horseracing.HorseMissions{Number: 3})
	if _, err := s.Client().Races.Register(t.Context(), horseracing.Registration{Horse: 2, Race: 7, UserKey: s.UserKey(0)}); err != nil {
		t.Fatal(err)
	}
	s.Advance(100 * time.Hour)
	look(s)
	s.Handle("GET "+openPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{}, true
	})
	s.Inject(horseracingtest.Fault{Status: 500, Times: -1}, horseracingtest.Fault{Method: "POST", TakesEffectAfter: time.Hour})
	s.SetRequestLimit(horseracingtest.RequestLimit{PerSecond: 1})
	s.Reset()
	if diff := cmp.Diff(want, look(s)); diff != "" || s.URL != url {
		t.Errorf("-new +reset:\n%s", diff)
	}
}
