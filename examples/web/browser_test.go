package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// tab is a page in a headless Chromium.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// open opens a page. Without a Chromium the test is skipped, or fails with REQUIRE_SERVERS.
func open(t *testing.T, url string) tab {
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
	b := tab{t, ctx}
	b.do(chromedp.Navigate(url))
	return b
}

func (b tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value returns the value of an expression in the page.
func value[T any](b tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true in the page.
func (b tab) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); !value[bool](b, "Boolean("+expression+")"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("never true: %s\nthe page shows:\n%s", expression, value[string](b, "document.body.innerText"))
		}
	}
}

// prefer returns an action that sets the theme.
func prefer(theme string) func(context.Context, *chromedp.Target) (chromedp.Void, error) {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		return chromedp.Void{}, err
	}
}

// site serves the page of a fake until the test ends.
func site(t *testing.T, fake *horseracingtest.Server) *httptest.Server {
	t.Helper()
	last := new(atomic.Pointer[poll])
	last.Store(&poll{})
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { watch(ctx, fake.Client(), 100*time.Millisecond, last) })
	server := httptest.NewServer(handler(last))
	t.Cleanup(func() {
		stop()
		server.Close()
		watching.Wait()
	})
	return server
}

func TestInABrowserThePageUpdatesItselfAndSaysThatItsServerIsGone(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	fake.AddRaces(race(1, "Dawn"))
	server := site(t, fake)
	b := open(t, server.URL)
	b.until(`document.body.innerText.includes("Dawn")`)
	value[bool](b, `window.notReloaded = true`)
	fake.AddRaces(race(2, `<img src=x onerror="document.title='owned'">`))
	b.until(`document.body.innerText.includes("<img src=x") && document.title === "Open races" && !document.querySelector("img")`)
	server.CloseClientConnections()
	server.Listener.Close()
	b.until(`document.getElementById("state").textContent.startsWith("This page has lost its connection; as of ") && window.notReloaded`)
	b.until(`document.getElementById("state").className === "trouble" && document.body.innerText.includes("Dawn")`)
}

// contrasts lists the texts whose contrast with their background is less than 4.5, by the formula of WCAG 2.
const contrasts = `(() => {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = [];
  for (const e of document.querySelectorAll("main *")) {
    if (![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()) || !e.checkVisibility()) continue;
    let behind = e;
    while (channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const [dark, light] = [e, behind].map((x, i) => luminance(getComputedStyle(x)[i ? "backgroundColor" : "color"])).sort((x, y) => x - y);
    if ((light + 0.05) / (dark + 0.05) < 4.5) low.push(e.tagName + ": " + e.textContent.trim().slice(0, 40));
  }
  return low;
})()`

func TestThePageFitsAPhoneAndADesktopInLightAndDark(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	long := race(1, strings.Repeat("Wordwithoutanyspaces", 12))
	long.EntryFee, _ = horseracing.ParseUnits("1"+strings.Repeat("0", 40)+".000000000000000001", 18)
	closed := race(2, "Over")
	closed.RegistrationDeadline = horseracing.NewTimestamp(time.Now().Add(-time.Minute))
	fake.AddRaces(long, closed)
	b := open(t, site(t, fake).URL)
	b.until(`document.querySelectorAll("tbody tr").length > 5`)
	look := func(theme string) {
		t.Helper()
		b.do(prefer(theme))
		for _, width := range []int64{320, 390, 768, 1280} {
			b.do(chromedp.EmulateViewport(width, 800))
			b.until(fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, width))
			if low := value[[]string](b, contrasts); len(low) > 0 {
				t.Errorf("%s, %d pixels: the contrast is too low of %q", theme, width, low)
			}
		}
	}
	look("light")
	look("dark")
	fake.Inject(horseracingtest.Fault{ResetBefore: true, Times: -1})
	b.until(`document.getElementById("state").className === "trouble"`)
	look("light")
	look("dark")
}
