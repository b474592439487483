package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"

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
		last := store(&poll{})
		var watching sync.WaitGroup
		watching.Go(func() { watch(ctx, fake.Client(), 10*time.Second, last) })
		test(t, fake, func() string { return show(last) })
		stop()
		watching.Wait()
	})
}

func store(p *poll) *atomic.Pointer[poll] {
	last := new(atomic.Pointer[poll])
	last.Store(p)
	return last
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
	expect(t, show(store(&poll{err: io.ErrUnexpectedEOF})), "The service does not respond; no data yet</p>", "No races are known yet.")
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

// open opens a page in a headless Chromium. Without one the test is skipped, or fails with REQUIRE_SERVERS.
func open(t *testing.T, url string) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case testing.Short():
		t.Skip("it needs a browser")
	case err != nil && os.Getenv("REQUIRE_SERVERS") != "":
		t.Fatal("chromium is not installed, and REQUIRE_SERVERS is set")
	case err != nil:
		t.Skip("chromium is not installed (Debian: apt-get install chromium)")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 860), chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// until waits until an expression is true in the page.
func until(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		isTrue, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("not true: %s: %v", expression, err)
		}
		if isTrue {
			return
		}
	}
}

func TestInABrowserThePageFitsUpdatesItselfAndSaysThatItsServerIsGone(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	long := race(1, strings.Repeat("Wordwithoutanyspaces", 12), time.Hour)
	long.EntryFee, _ = horseracing.ParseUnits("1"+strings.Repeat("0", 40)+".000000000000000001", 18)
	fake.AddRaces(race(2, "Dawn", time.Hour), long)
	last := store(&poll{})
	go watch(t.Context(), fake.Client(), 100*time.Millisecond, last)
	server := httptest.NewServer(handler(last))
	defer server.Close()

	ctx := open(t, server.URL)
	until(ctx, t, `document.body.innerText.includes("Dawn") && (window.notReloaded = true)`)
	for _, width := range []int64{320, 390, 768, 1280} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800)); err != nil {
			t.Fatal(err)
		}
		until(ctx, t, fmt.Sprintf("document.documentElement.scrollWidth <= %d", width))
	}
	order := `[...document.querySelectorAll("tbody tr")].map((row) => row.cells[8].textContent).join() === `
	until(ctx, t, order+`"1,2"`)
	for _, want := range []string{`"2,1"`, `"1,2"`} { // by the fee, once and again
		if err := chromedp.Do(ctx, chromedp.Click("th:nth-child(3) button")); err != nil {
			t.Fatal(err)
		}
		until(ctx, t, order+want)
	}
	until(ctx, t, `document.querySelector("th:nth-child(3)").ariaSort === "descending"`)
	fake.AddRaces(race(3, `<img src=x onerror="document.title='owned'">`, time.Hour))
	until(ctx, t, `document.body.innerText.includes("<img src=x") && !document.querySelector("img")`)
	server.CloseClientConnections()
	server.Listener.Close()
	until(ctx, t, `document.querySelector("#state.trouble")?.textContent.startsWith("This page has lost its connection; as of ")`)
	until(ctx, t, `window.notReloaded && document.title === "Open races" && document.body.innerText.includes("Dawn")`)
}
