package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// tab is a page in a headless Chromium.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // what the browser complains about
}

// open opens a page. Without a Chromium the test is skipped, or fails where
// REQUIRE_SERVERS is set.
func open(t *testing.T, url string) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	switch {
	case path == "" && os.Getenv("REQUIRE_SERVERS") != "":
		t.Fatal("there is no chromium, and REQUIRE_SERVERS is set")
	case path == "":
		t.Skip("there is no chromium: the page is not tested in a browser")
	}
	b := &tab{t: t}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 860))
	for _, flag := range []string{"disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage"} {
		opts = append(opts, chromedp.Flag(flag, true))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	b.ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.do(enableLog, chromedp.Navigate(url))
	return b
}

func enableLog(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
	return chromedp.Void{}, err
}

// prefer returns an action that sets the theme, and ends animations: a row that flashes
// has no colour of its own.
func prefer(theme string) func(context.Context, *chromedp.Target) (chromedp.Void, error) {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return chromedp.Void{}, err
	}
}

func (b *tab) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("%s, line %d", e.ExceptionDetails.Text, e.ExceptionDetails.LineNumber+1)
		if e.ExceptionDetails.Exception != nil {
			problem += ": " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		problem = e.Entry.Text
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, problem)
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value returns the value of an expression in the page.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to be true in the page.
func (b *tab) until(expression string, args ...any) {
	b.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	expression = "(() => { try { return Boolean(" + expression + "); } catch { return false; } })()" // what is not there yet
	for deadline := time.Now().Add(20 * time.Second); !value[bool](b, expression); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("never true in the page: %s\nthe page shows:\n%s\nthe browser says: %q", expression, value[string](b, "document.body.innerText"), b.problems)
		}
	}
}

// set gives a field a value, as a user does.
func (b *tab) set(id, text string) {
	b.t.Helper()
	value[bool](b, fmt.Sprintf(`document.getElementById(%q).value = %q, document.getElementById(%q).dispatchEvent(new Event("input", {bubbles: true}))`, id, text, id))
}

const shown = `[...document.querySelectorAll("#races tbody tr")].map(row => row.dataset.id).join(" ")`

func TestThePageInABrowser(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	dawn, dusk := race(fake, 900_001, "Dawn"), race(fake, 900_002, "Dusk")
	dusk.EntryFee, dusk.MinLevel, dusk.MaxLevel, dusk.Info.HippodromeName = tokens("12"), 20, 30, "Fenwick"
	dusk.RegistrationDeadline = horseracing.NewTimestamp(fake.Now().Add(30 * time.Minute))
	fake.AddRaces(dawn, dusk)
	server := site(t, fake)
	b := open(t, server.URL)

	// The page fills.
	b.until(`%s === "900002 900001"`, shown)
	b.until(`document.querySelector("[data-id='900001']").innerText.match(/59m \d\ds\s+Dawn\s+2\.5\s+4 of 4 free\s+5-9\s+fastest\s+8\s+Larkspur Downs\s+Omega\s+900001/) !== null`)
	b.until(`document.getElementById("state").textContent === "Up to date"`)
	b.until(`document.querySelector("#races caption").textContent === "2 open races"`)
	value[bool](b, `window.notReloaded = true`)

	// A click copies a command that lacks only the number of a horse.
	value[bool](b, `navigator.clipboard.writeText = async (text) => { window.copied = text; }, document.querySelector("[data-id='900001'] button").click() === undefined`)
	b.until(`window.copied === "horseracing register --ledger register.ledger --race 900001 --horse "`)
	b.until(`document.querySelector("[data-id='900001'] button").textContent === "900001"`)

	// The time left is updated by itself.
	was := value[string](b, `document.querySelector("[data-id='900001'] td").textContent`)
	b.until(`document.querySelector("[data-id='900001'] td").textContent !== %q`, was)

	// A race that opens appears; HTML in a name is text.
	fake.AddRaces(race(fake, 900_003, hostile))
	b.until(`document.querySelector("[data-id='900003'] td:nth-child(2)").textContent === %q`, hostile)
	b.until(`document.title === "Open races" && document.querySelectorAll("#races img, #races script").length === 0`)

	// It fills.
	dawn.Participants = []horseracing.RaceParticipant{{Number: 1}, {Number: 2}, {Number: 3}, {Number: 4}}
	fake.AddRaces(dawn)
	b.until(`document.querySelector("[data-id='900001'] td:nth-child(4)").textContent === "0 of 4 free"`)

	// It sorts and filters.
	b.set("sort", "fee")
	b.until(`%s === "900001 900003 900002"`, shown)
	b.set("level", "25")
	b.until(`%s === "900002"`, shown)
	b.set("fee", "5")
	b.until(`%s === "" && !document.getElementById("none").hidden && document.querySelector("#races caption").textContent === "0 of 3 open races"`, shown)
	b.set("level", "")
	b.until(`%s === "900001 900003"`, shown)
	b.set("fee", "")
	b.set("hippodrome", "Fenwick")
	b.until(`%s === "900002"`, shown)
	b.do(chromedp.Reload()) // the filters survive
	b.until(`%s === "900002" && document.getElementById("sort").value === "fee"`, shown)
	b.set("hippodrome", "")
	b.set("sort", "deadline")
	value[bool](b, `window.notReloaded = true`)

	// What the status says changes only if the state does: a screen reader speaks it each time.
	value[bool](b, `window.spoken = [], new MutationObserver(() => spoken.push(document.getElementById("state").textContent))
		.observe(document.getElementById("state"), {childList: true, characterData: true, subtree: true}) === undefined`)

	// The service fails, and comes back.
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusServiceUnavailable, Times: -1})
	b.until(`document.getElementById("state").className === "trouble" && /^The service does not respond; as of \d+:\d\d/.test(document.getElementById("state").textContent)`)
	b.until(`%s === "900002 900001 900003"`, shown) // what was known stays
	fake.ClearFaults()
	b.until(`document.getElementById("state").className === "" && document.getElementById("state").textContent === "Up to date"`)

	// A race that no longer takes registrations goes to the end.
	dawn.RegistrationDeadline = horseracing.NewTimestamp(fake.Now().Add(-time.Second))
	fake.AddRaces(dawn)
	b.until(`%s === "900002 900003 900001" && document.querySelector("#races caption").textContent === "2 open races, and 1 closed"`, shown)

	// It closes; a result appears.
	fake.RemoveRaces(dawn.MainRaceID)
	b.until(`%s === "900002 900003"`, shown)
	if spoken := value[[]string](b, `window.spoken`); len(spoken) != 2 {
		t.Errorf("the status was set to %q", spoken)
	}
	fake.AddRaces(horseracing.Race{
		MainRaceID: 900_004, StartTime: horseracing.NewTimestamp(fake.Now().Add(-time.Minute)), Tier: horseracing.TierNameOmega, Length: 6,
		Info: horseracing.RaceInfo{Name: "Noon <b>Cup</b>"}, FinalOrder: []int{1, 0}, Winners: []int{1},
		Participants: []horseracing.RaceParticipant{{Number: 7, Total: 61, Lane: 1}, {Number: 9, Total: 60.5, Lane: 2}},
	})
	b.until(`(document.querySelector("#results [data-id='900004']")?.textContent ?? "").endsWith(" Noon <b>Cup</b> #9, 60.5, 6 furlongs ")`)
	if !value[bool](b, "window.notReloaded === true") {
		t.Error("the page was loaded again")
	}

	// The page's own server goes away.
	server.CloseClientConnections()
	server.Listener.Close()
	b.until(`document.getElementById("state").textContent.startsWith("This page has lost its connection")`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		if !strings.Contains(problem, "net::ERR_") { // of the server that is gone
			t.Errorf("the browser: %s", problem)
		}
	}
}

// contrasts lists the texts whose contrast with their background is less than
// 4.5, by the formula of WCAG 2.
const contrasts = `(() => {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()) || !e.checkVisibility()) continue;
    let behind = e;
    while (channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const [dark, light] = [e, behind].map((x, i) => luminance(getComputedStyle(x)[i ? "backgroundColor" : "color"])).sort((x, y) => x - y);
    if ((light + 0.05) / (dark + 0.05) < 4.5) low.push(e.tagName + ": " + e.textContent.trim().slice(0, 40));
  }
  return low;
})()`

func TestThePageFitsAPhoneAndTheDark(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(60))
	defer fake.Close()
	long := race(fake, 900_001, strings.Repeat("Wordwithoutanyspaces", 12))
	long.EntryFee = tokens("1" + strings.Repeat("0", 40) + ".000000000000000001")
	exact := race(fake, 900_002, "Exact")
	exact.EntryFee = tokens("5.000000000000000001")
	closed := race(fake, 900_003, "Over")
	closed.RegistrationDeadline = horseracing.NewTimestamp(fake.Now().Add(-time.Second))
	fake.AddRaces(long, exact, closed)
	b := open(t, site(t, fake).URL)
	b.until(`document.querySelectorAll("#races tbody tr").length > 5 && document.querySelector("[data-id='900002']")`)
	value[bool](b, `document.getElementById("more").click() === undefined`)
	const feeLines = `document.querySelector("[data-id='900002'] td:nth-child(3)").getBoundingClientRect().height / document.querySelector("[data-id='900002'] td:nth-child(5)").getBoundingClientRect().height`
	b.do(prefer("light"))
	light := value[string](b, `getComputedStyle(document.body).backgroundColor`)
	look := func(theme string) {
		t.Helper()
		for _, width := range []int64{320, 390, 768, 1000, 1100, 1280} {
			b.do(chromedp.EmulateViewport(width, 800))
			b.until(`document.documentElement.scrollWidth <= %d && document.querySelector("table").scrollWidth <= document.querySelector("main > section").clientWidth`, width)
			if lines := value[float64](b, feeLines); lines > 1.5 {
				t.Errorf("%s, %d pixels: the fee of 5.000000000000000001 is broken into lines", theme, width)
			}
			if low := value[[]string](b, contrasts); len(low) > 0 {
				t.Errorf("%s, %d pixels: the contrast is too low of %q", theme, width, low)
			}
		}
	}
	look("light")
	b.do(chromedp.EmulateViewport(390, 800))
	b.until(`getComputedStyle(document.querySelector("#races thead")).display === "none"`)
	b.do(prefer("dark"))
	b.until(`getComputedStyle(document.body).backgroundColor !== %q`, light)
	look("dark")
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusServiceUnavailable, Times: -1})
	b.until(`document.getElementById("state").className === "trouble"`)
	look("dark, without the service")
}

func TestOnAPhoneTheResultsAreTwoScreensAway(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(20), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	for i := range 41 {
		fake.AddRaces(race(fake, horseracing.RaceID(900_001+i), "The Long Midnight Handicap"))
	}
	b := open(t, site(t, fake).URL)
	b.until(`document.querySelectorAll("#races tbody tr").length === 41`)
	const visible = `[...document.querySelectorAll("#races tbody tr")].filter((row) => row.checkVisibility()).length`
	b.until(visible + " === 41")
	for _, width := range []int64{320, 390} {
		b.do(chromedp.EmulateViewport(width, 800))
		b.until(visible + " === 10")
		b.until(`document.documentElement.scrollWidth <= %d`, width)
		b.until(`[...document.querySelectorAll("#results li")].every((li) => li.clientHeight < 40)`) // a line each
		if top := value[float64](b, `document.getElementById("results").getBoundingClientRect().top + scrollY`); top > 2*800 {
			t.Errorf("%d pixels wide: the results begin after %.0f pixels, want at most two screens of 800", width, top)
		}
	}
	value[bool](b, `document.getElementById("more").click() === undefined`)
	b.until(visible + ` === 41 && document.getElementById("more").hidden`)
}

func TestUnknownIsNotNone(t *testing.T) {
	for status, want := range map[int]string{503: "The service does not respond", 401: "The service does not accept the API key"} {
		fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithClock(time.Now))
		fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: status, Times: -1})
		b := open(t, site(t, fake).URL)
		b.until(`document.getElementById("state").textContent.startsWith(%q + "; no data since ")`, want)
		b.until(`document.querySelector("#races caption").textContent === "– open races" && document.getElementById("none").hidden`)
		fake.ClearFaults()
		b.until(`document.querySelector("#races caption").textContent === "0 open races" && !document.getElementById("none").hidden`)
		fake.Close()
	}
}
