package horseracingtest_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestTheClientsOfTheFakeReachItOnEveryTransport(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *horseracingtest.Server, proto int) {
		response, _ := do(t, s, newRequest(t, s, "GET", openPath, ""))
		if response.StatusCode != http.StatusOK || response.ProtoMajor != proto {
			t.Errorf("status %d by HTTP/%d", response.StatusCode, response.ProtoMajor)
		}
		if strings.HasSuffix(s.URL, "/") || strings.HasPrefix(s.URL, "https:") != (proto == 2) {
			t.Errorf("URL %s", s.URL)
		}
		horse, err := s.Client().Horses.Get(t.Context(), 5)
		if err != nil || horse.Number != 5 {
			t.Errorf("horse %v: %v", horse, err)
		}
	})
}

func TestEveryOperationRespondsToTheSDK(t *testing.T) {
	s := start(t)
	s.AddRaces(raceAt(s, 7, time.Hour))
	drift := func(_ context.Context, d horseracing.Drift) {
		t.Errorf("the fake differs from the API reference: %+v", d)
	}
	ctx, c, user := t.Context(), s.Client(horseracing.WithDriftHandler(drift)), s.UserKey(0)
	tournaments := get[[]horseracing.Tournament](t, s, "/api/v1/tournaments/results", "")
	for name, call := range map[string]func() (any, error){
		"horse":       func() (any, error) { return c.Horses.Get(ctx, 3) },
		"user horses": func() (any, error) { return c.Horses.Owned(ctx, user) },
		"missions":    func() (any, error) { return c.Horses.Missions(ctx, 3) },
		"breeding":    func() (any, error) { return c.Horses.OpenForBreeding(ctx) },
		"open races":  func() (any, error) { return c.Races.Open(ctx) },
		"race":        func() (any, error) { return c.Races.Get(ctx, 7) },
		"register": func() (any, error) {
			return c.Races.Register(ctx, horseracing.Registration{Horse: 2, Race: 7, UserKey: user})
		},
		"results":            func() (any, error) { return c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 200) },
		"results by offset":  func() (any, error) { return c.Races.ResultsV1(horseracing.OffsetQuery{}).Take(ctx, 200) },
		"tournament results": func() (any, error) { return c.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, 50) },
		"open tournaments":   func() (any, error) { return c.Tournaments.Open(ctx) },
		"open tournament": func() (any, error) {
			return c.Tournaments.Get(ctx, get[[]horseracing.Tournament](t, s, "/api/v1/tournaments/open", "")[0].ID)
		},
		"finished tournament": func() (any, error) { return c.Tournaments.Get(ctx, tournaments[2].ID) },
		"catalogue":           func() (any, error) { return c.Missions.Catalogue(ctx) },
	} {
		if got, err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if text := fmt.Sprintf("%+v", got); len(text) < 20 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			s := horseracingtest.NewServer(transport.opts...)
			for range 3 {
				do(t, s, newRequest(t, s, "GET", resultsPath, ""))
			}
			s.Inject(horseracingtest.Fault{ResetAfter: true})
			attempt(t, s, "POST", openPath, "{}")
			s.Close()
			s.Close()
			// The client's own goroutines notice the end of their connections by
			// themselves.
			for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if after := runtime.NumGoroutine(); after > before {
				t.Errorf("%d goroutines before, %d after", before, after)
			}
			if _, err := s.HTTPClient().Get(s.URL); err == nil {
				t.Error("a closed fake responds")
			}
		})
	}
}

func TestABubbleEndsWhenTheFakeIsClosed(t *testing.T) {
	for _, transport := range transports[2:] {
		t.Run(transport.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := horseracingtest.NewServer(append(transport.opts, horseracingtest.WithClock(time.Now))...)
				if _, err := s.Client().Races.Open(t.Context()); err != nil {
					t.Error(err)
				}
				s.AddRaces(raceAt(s, 7, time.Hour))
				if _, err := s.Client().Races.Register(t.Context(), horseracing.Registration{Horse: 1, Race: 7, UserKey: s.UserKey(0)}); err != nil {
					t.Error(err)
				}
				s.Inject(horseracingtest.Fault{ResetBefore: true, Times: 1})
				if _, err := s.Client().Races.Open(t.Context()); err != nil {
					t.Errorf("the client did not retry: %v", err)
				}
				s.Close()
				s.Close()
			})
		})
	}
}

func TestStartReportsWhyItCannot(t *testing.T) {
	taken := start(t)
	for words, opt := range map[string]horseracingtest.Option{
		"address already in use":    horseracingtest.WithAddr(strings.TrimPrefix(taken.URL, "http://")),
		"a history of -1 races":     horseracingtest.WithHistory(-1),
		"4000 new races an hour":    horseracingtest.WithSchedule(4000),
		"latency cannot be":         horseracingtest.WithLatency(-1),
		"negative number of reques": horseracingtest.WithRequestLog(-1),
		"0 users":                   horseracingtest.WithUsers(0),
		"501 users":                 horseracingtest.WithUsers(501),
	} {
		if s, err := horseracingtest.Start(opt); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
			if s != nil {
				s.Close()
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

func TestAStrangerDoesNotTrustTheCertificate(t *testing.T) {
	s := start(t, horseracingtest.WithTLS())
	stranger := &http.Client{Transport: &http.Transport{}}
	if _, err := stranger.Get(s.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
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

func TestAFakeCanBeResetWhileItResponds(t *testing.T) {
	s := start(t)
	done := make(chan error)
	for range 4 {
		go func() {
			var err error
			for range 20 {
				if _, e := s.Client().Races.Open(t.Context()); e != nil {
					err = e
				}
			}
			done <- err
		}()
	}
	for range 20 {
		s.Advance(time.Hour)
		s.Reset()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
