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

// race is a race whose registration ends after some time, and which starts five minutes later.
func race(id horseracing.RaceID, name string, left time.Duration) horseracing.Race {
	closes := horseracing.NewTimestamp(time.Now().Add(left))
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
		test(t, fake, func() string { return show(last) })
		stop()
		watching.Wait()
	})
}

// show returns the page that a visitor sees.
func show(last *atomic.Pointer[poll]) string {
	response := httptest.NewRecorder()
	handler(last).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	return response.Body.String()
}

func expect(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			t.Errorf("%q is not in the page:\n%s", part, page[strings.Index(page, "<main>"):])
		}
	}
}

func TestBeforeThePageHasDataItDoesNotSayThatNoRaceIsOpen(t *testing.T) {
	last := new(atomic.Pointer[poll])
	last.Store(&poll{err: io.ErrUnexpectedEOF})
	expect(t, show(last), "The service does not respond; no data yet</p>", "No races are known yet.")
}

func TestAllVisitorsSeeTheRacesOfOnePollAndPlayersNamesAsText(t *testing.T) {
	try(t, func(t *testing.T, fake *horseracingtest.Server, get func() string) {
		full := race(4, "Crowd", time.Minute)
		full.Places, full.Participants = 1, []horseracing.RaceParticipant{{Number: 8}}
		fake.AddRaces(full, race(3, "Over", -time.Minute), race(2, `<script>alert("owned")</script>`, time.Hour), race(1, "Dawn", time.Hour))
		time.Sleep(15 * time.Second)
		for range 1000 {
			expect(t, get(), `role="status">as of 00:00:`, "<caption>2 can be entered, 1 full, 1 closed</caption>", "&lt;script&gt;alert",
				`<td>59 min</td><td>Dawn</td><td data-label="Fee">2.5</td><td data-label="Free">4 of 4</td><td data-label="Levels">5–9</td>`)
		}
		if page := get(); strings.Index(page, "Dawn") > strings.Index(page, "Crowd") || strings.Index(page, "Crowd") > strings.Index(page, "Over") {
			t.Error("a race that is full, or has closed, is before one that can be entered")
		}
		one := race(1, "Dawn", time.Hour)
		one.Participants = []horseracing.RaceParticipant{{Number: 7}}
		fake.AddRaces(one)
		fake.RemoveRaces(3)
		time.Sleep(10 * time.Second)
		expect(t, get(), "<caption>2 can be entered, 1 full, 0 closed</caption>", "3 of 4")
		if n := fake.RequestCount(); n > 4 {
			t.Errorf("%d requests in 25 seconds, want one every ten seconds", n)
		}
	})
}

func TestTroubleIsShownBesideTheLastRacesUntilItEnds(t *testing.T) {
	fail := func(fault horseracingtest.Fault) func(*horseracingtest.Server) {
		return func(fake *horseracingtest.Server) { fake.Inject(fault) }
	}
	for want, spoil := range map[string]func(*horseracingtest.Server){
		"The service does not respond":            fail(horseracingtest.Fault{ResetBefore: true, Times: -1}),
		"The service does not accept the API key": fail(horseracingtest.Fault{Status: http.StatusUnauthorized, Times: -1}),
		"The service shows an old list: every race in it has closed": func(fake *horseracingtest.Server) {
			fake.AddRaces(race(1, "Dawn", -time.Minute))
		},
	} {
		try(t, func(t *testing.T, fake *horseracingtest.Server, get func() string) {
			fake.AddRaces(race(1, "Dawn", time.Hour))
			time.Sleep(15 * time.Second)
			spoil(fake)
			time.Sleep(time.Minute)
			page := get()
			expect(t, page, `class="trouble">`+want+"; as of 00:0", "Dawn")
			if strings.Contains(page, fake.URL) || strings.Contains(page, fake.APIKey) {
				t.Errorf("visitors see too much:\n%s", page)
			}
			fake.ClearFaults()
			fake.AddRaces(race(1, "Dawn", time.Hour))
			time.Sleep(10 * time.Minute) // the longest backoff, and more
			expect(t, get(), `role="status">as of 00:1`)
		})
	}
}
