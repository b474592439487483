package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// race is an open race that closes in an hour.
func race(id horseracing.RaceID, name string) horseracing.Race {
	closes := horseracing.NewTimestamp(time.Now().Add(time.Hour))
	fee, _ := horseracing.ParseUnits("2.5", 18)
	return horseracing.Race{
		MainRaceID: id, StartTime: horseracing.NewTimestamp(closes.Add(5 * time.Minute)), RegistrationDeadline: closes, Tier: horseracing.TierNameOmega,
		Length: 8, Places: 4, MinLevel: 5, MaxLevel: 9, EntryFee: fee, Info: horseracing.RaceInfo{Name: name, HippodromeName: "Larkspur Downs"},
	}
}

// try runs a test of the page of a fake in memory, under a virtual clock, with a poll every ten seconds.
func try(t *testing.T, test func(t *testing.T, fake *horseracingtest.Server, get func() string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
		defer fake.Close()
		ctx, stop := context.WithCancel(t.Context())
		last := new(atomic.Pointer[poll])
		last.Store(&poll{})
		var watching sync.WaitGroup
		watching.Go(func() { watch(ctx, fake.Client(), 10*time.Second, last) })
		test(t, fake, func() string {
			response := httptest.NewRecorder()
			handler(last).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
			return response.Body.String()
		})
		stop()
		watching.Wait()
	})
}

func expect(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			t.Errorf("%q is not in the page:\n%s", part, page[strings.Index(page, "<main>"):])
		}
	}
}

func TestThePageShowsTheOpenRacesAndPlayersNamesAsText(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, get func() string) {
		closed := race(3, "Over")
		closed.RegistrationDeadline = horseracing.NewTimestamp(time.Now().Add(-time.Minute))
		fake.AddRaces(closed, race(2, `<script>alert("owned")</script>`), race(1, "Dawn"))
		time.Sleep(15 * time.Second)
		page := get()
		expect(t, page, `role="status">as of 00:00:`, "<caption>3 races</caption>", "&lt;script&gt;alert",
			`<td>59 min</td><td>Dawn</td><td data-label="Fee">2.5</td><td data-label="Free">4 of 4</td><td data-label="Levels">5–9</td>`)
		if dawn, over := strings.Index(page, "Dawn"), strings.Index(page, "Over"); dawn > over {
			t.Error("a race that has closed is before one that is open")
		}
		one := race(1, "Dawn")
		one.Participants = []horseracing.RaceParticipant{{Number: 7}}
		fake.AddRaces(one)
		fake.RemoveRaces(3)
		time.Sleep(10 * time.Second)
		expect(t, get(), "<caption>2 races</caption>", "3 of 4")
	})
}

func TestBeforeTheFirstSnapshotThePageDoesNotSayThatNoRaceIsOpen(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, get func() string) {
		fake.Inject(horseracingtest.Fault{Status: http.StatusServiceUnavailable, Times: -1})
		time.Sleep(time.Minute)
		expect(t, get(), "The service does not respond; no data yet</p>", "No races are known yet.")
	})
}

func TestAServiceThatFailsIsShownAsSuchBesideTheLastRaces(t *testing.T) {
	for want, fault := range map[string]horseracingtest.Fault{
		"The service does not respond":            {ResetBefore: true, Times: -1},
		"The service does not accept the API key": {Status: http.StatusUnauthorized, Times: -1},
	} {
		try(t, func(t *testing.T, fake *horseracingtest.Server, get func() string) {
			fake.AddRaces(race(1, "Dawn"))
			time.Sleep(15 * time.Second)
			fake.Inject(fault)
			time.Sleep(time.Minute)
			page := get()
			expect(t, page, `class="trouble">`+want+"; as of 00:00:", "Dawn")
			if strings.Contains(page, fake.URL) || strings.Contains(page, fake.APIKey) {
				t.Errorf("visitors see too much:\n%s", page)
			}
			fake.ClearFaults()
			time.Sleep(10 * time.Minute) // the longest backoff, and more
			expect(t, get(), `role="status">as of 00:1`)
		})
	}
}

func TestAListInWhichEveryRaceHasClosedIsShownAsOld(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, get func() string) {
		fake.AddRaces(race(1, "Dawn"))
		old, err := fake.HTTPClient().Do(request(t, fake))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(old.Body)
		if err != nil {
			t.Fatal(err)
		}
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusOK, Body: string(body), Times: -1})
		time.Sleep(15 * time.Second)
		expect(t, get(), `role="status">as of`)
		time.Sleep(2 * time.Hour) // a replica shows the same list
		expect(t, get(), "The service shows an old list: every race in it has closed; as of 0", "Dawn")
	})
}

func request(t *testing.T, fake *horseracingtest.Server) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fake.URL+"/api/v1/races/open", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", fake.APIKey)
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestVisitorsCostTheServiceNothing(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, get func() string) {
		fake.AddRaces(race(1, "Dawn"))
		time.Sleep(time.Minute)
		for range 1000 {
			expect(t, get(), "Dawn")
		}
		if n := fake.RequestCount(); n > 8 {
			t.Errorf("%d requests in a minute, want one every ten seconds", n)
		}
	})
}
