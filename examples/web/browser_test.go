package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

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
	last := new(atomic.Pointer[poll])
	last.Store(&poll{})
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
