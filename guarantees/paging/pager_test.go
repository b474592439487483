package paging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// pagers are the walks of a client by time, several pages at once, and by offset.
func pagers(c *horseracing.Client) map[string]*horseracing.Pager[horseracing.Race] {
	return map[string]*horseracing.Pager[horseracing.Race]{
		"by time":   c.Races.Results(horseracing.ResultsQuery{Concurrency: 4}),
		"by offset": c.Races.ResultsV1(horseracing.OffsetQuery{}),
	}
}

// The last page may come while the loop body runs: then nothing is in flight any more.
func TestALoopEndsHoweverSlowItsBodyIs(t *testing.T) {
	for size := range 25 {
		for _, concurrency := range []int{2, 3} {
			synctest.Test(t, func(t *testing.T) {
				h, n := dense(size), 0
				h.delay = 20 * time.Millisecond
				for range double.Each(t, h.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(t.Context())) {
					n++
					time.Sleep(time.Second)
				}
				double.Equal(t, "races", size, n)
			})
		}
	}
}

// The bubble of a test fails if a goroutine outlives it.
func TestLeavingAWalkEndsItsRequestsAndGoroutines(t *testing.T) {
	for _, leave := range []string{"break", "panic", "error", "cancel"} {
		for _, concurrency := range []int{1, 4, 64} {
			double.Run(t, fmt.Sprintf("%s at %d", leave, concurrency), func(t *testing.T) {
				h := dense(2_000)
				h.delay = 20 * time.Millisecond
				if leave == "error" {
					h.failAfter = 10
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var last error
				var left time.Time
				func() {
					defer func() { _ = recover() }()
					n := 0
					for _, err := range h.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(ctx) {
						last, left = err, time.Now()
						switch n++; {
						case leave == "cancel" && n == 50:
							cancel()
						case leave == "break" && n == 50:
							return
						case leave == "panic" && n == 50:
							panic("in the loop's body")
						}
					}
				}()
				want := map[string]error{"error": errBroken, "cancel": context.Canceled}[leave]
				if !errors.Is(last, want) || time.Since(left) != 0 || h.inFlight != 0 {
					t.Errorf("it ends with %v, after %v, and %d requests in flight", last, time.Since(left), h.inFlight)
				}
			})
		}
	}
}

// simulate walks under a virtual clock with 20 ms a request.
func simulate(t *testing.T, h *history, concurrency int) (requests int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		h.delay, h.requests = 20*time.Millisecond, 0
		began, n := time.Now(), 0
		for range double.Each(t, h.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(t.Context())) {
			n++
		}
		double.Equal(t, "entries", len(h.starts), n)
		requests, took = h.requests, time.Since(began)
	})
	return requests, took
}

// Under a virtual clock the figures do not depend on the machine.
func TestConcurrentWalkIsFastAndWastesLittle(t *testing.T) {
	double.UnlessShort(t)
	for _, test := range []struct {
		name        string
		history     *history
		concurrency int
		faster      float64 // at least
		more        float64 // requests, at most
	}{
		{"5,000 races", dense(5_000), 16, 13.5, 1.15},
		{"20,000 races", dense(20_000), 64, 50, 1.15},
		{"four groups 200 days apart", groups(4, 200), 8, 2, 3},
		{"a busy hour a day", groups(100, 1), 16, 11, 1.15},
	} {
		one, slow := simulate(t, test.history, 1)
		several, fast := simulate(t, test.history, test.concurrency)
		pages := float64(one) * 10 / float64(len(test.history.starts))
		faster, more := slow.Seconds()/fast.Seconds(), float64(several)/float64(one)
		t.Logf("%s: %d requests one at a time; at %d %d (%.2f), %.1f times as fast", test.name, one, test.concurrency, several, more, faster)
		double.FailIf(t, faster < test.faster || more > test.more || pages > 1.25, "expected %.1f times as fast, with %.2f of the requests", test.faster, test.more)
	}
}

func TestAPagerIsRangedOverByOneLoopAtATime(t *testing.T) {
	pager, n := dense(30).client(t).Races.Results(horseracing.ResultsQuery{}), 0
	for range double.Each(t, pager.All(t.Context())) {
		_, err := pager.Take(t.Context(), 15)
		double.Error(t, "another loop", horseracing.ErrInvalidArgument, "", err)
		n++
	}
	double.Equal(t, "entries", 30, n)
}

// A history has no end, memory has: a walk keeps none of the races that it yielded.
func TestALongWalkKeepsNothingOfWhatItYielded(t *testing.T) {
	for name, pager := range pagers(dense(3_000).client(t)) {
		var yielded []weak.Pointer[horseracing.Race]
		for race := range double.Each(t, pager.All(t.Context())) {
			if yielded = append(yielded, weak.Make(race)); len(yielded) != 2_500 {
				continue
			}
			runtime.GC()
			runtime.GC() // what finalizers held
			held := slices.DeleteFunc(slices.Clone(yielded), func(p weak.Pointer[horseracing.Race]) bool { return p.Value() == nil })
			double.FailIf(t, len(held) > 100, "%s: %d of %d races that were yielded are held", name, len(held), len(yielded))
		}
		if cursor := pager.Cursor().String(); len(yielded) != 3_000 || len(cursor) > 1500 { // by offset, of forty ids and starts
			t.Errorf("%s: %d races, a cursor of %d bytes", name, len(yielded), len(cursor))
		}
	}
}

// An error ends the loop, and ranging again continues after it. A handler gets it once in a
// loop. A service may list the entries of a page in any order.
func TestAnUnreadableEntryOfAPageAffectsNoOther(t *testing.T) {
	const start = `"start_time":1699999000000`
	for name, test := range map[string]struct {
		entry    string
		isPlaced bool // it has a position, and so comes once
	}{
		"member":   {`{"main_race_id":99,` + start + `,"entry_fee":{}}`, true},
		"id":       {`{"main_race_id":"99x",` + start + `}`, false},
		"no id":    {`{` + start + `}`, false},
		"start":    {`{"main_race_id":99,"start_time":"soon"}`, false},
		"no start": {`{"main_race_id":99}`, false},
		"zero":     {`{"main_race_id":99,"start_time":0}`, false},
		"seconds":  {`{"main_race_id":99,"start_time":1699999000}`, false},
		"null":     {`null`, false},
	} {
		for i := range 4 * double.Worlds(30, 30, 4) {
			h, hasHandler := dense(30), i%2 == 0
			h.isReversed = i%4 < 2
			i /= 4
			h.starts[i] = h.starts[max(0, i-1)] // a tie
			h.damaged = map[int]string{i: strings.Replace(test.entry, "1699999000000", fmt.Sprint(h.starts[i]), 1)}
			synctest.Test(t, func(t *testing.T) {
				failures := 0
				fail := func(_ context.Context, err error) {
					if bad, ok := errors.AsType[*horseracing.DecodeError](err); !ok || string(bad.Raw) != h.damaged[i] {
						t.Error(err)
					}
					failures++
				}
				var opts []horseracing.Option
				if hasHandler {
					opts = append(opts, horseracing.WithSkipHandler(fail))
				}
				for kind, pager := range pagers(h.client(t, opts...)) {
					races := map[horseracing.RaceID]bool{}
					failures = 0
					for isDone := false; !isDone && failures < 5; {
						isDone = true
						for e, err := range pager.Entries(t.Context()) {
							if isDone = err == nil; !isDone {
								fail(t.Context(), err)
							} else if races[e.Value.MainRaceID] {
								t.Errorf("race %d comes again", e.Value.MainRaceID)
							} else {
								races[e.Value.MainRaceID] = true
							}
						}
					}
					isOnce := test.isPlaced || hasHandler
					if len(races) != 29 || failures == 0 || failures > 3 || isOnce && failures > 1 {
						t.Errorf("%s, %s at %d: %d races of 29, %d errors", kind, name, i, len(races), failures)
					}
				}
			})
		}
	}
}

// It cannot be passed, even if it is short: nothing shows where the listing continues.
func TestAPageOfEntriesWithoutAStartEndsTheLoop(t *testing.T) {
	for _, n := range []int{60, 18} {
		h := dense(n)
		h.damaged = map[int]string{}
		for i := 15; i < min(n, 40); i++ {
			h.damaged[i] = fmt.Sprintf(`{"main_race_id":%d}`, h.id(i))
		}
		p := h.client(t, horseracing.WithSkipHandler(func(context.Context, error) {})).Races.Results(horseracing.ResultsQuery{})
		for _, want := range []int{15, 0, 0} {
			races, err := p.Take(t.Context(), 60)
			if len(races) != want || err == nil || !strings.Contains(err.Error(), "no entry of the page has a position") {
				t.Errorf("of %d: %d races instead of %d, then %v", n, len(races), want, err)
			}
		}
		h.damaged = nil
		rest, err := p.Take(t.Context(), 100)
		double.FailIf(t, err != nil || len(rest) < min(20, n-15), "of %d, once it can be read: %d races, %v", n, len(rest), err)
	}
}

func TestEntriesHaveTheirJSONAndTier(t *testing.T) {
	h := dense(31)
	h.damaged = map[int]string{20: fmt.Sprintf(`{ "main_race_id": 11, "start_time": %d, "new_member": [1e3] }`, h.starts[20])}
	n := 0
	for e := range double.Each(t, h.client(t).Races.Results(horseracing.ResultsQuery{Tier: 3, Concurrency: 4}).Entries(t.Context())) {
		_ = append(e.JSON, "does not overwrite what follows"...)
		var back horseracing.Race
		if err := json.Unmarshal(e.JSON, &back); err != nil || string(e.JSON) != h.entry(n) || back.MainRaceID != e.Value.MainRaceID || e.Tier != 3 {
			t.Errorf("JSON %s of race %d in tier %d: %v", e.JSON, e.Value.MainRaceID, e.Tier, err)
		}
		n++
	}
	double.Equal(t, "entries", 31, n)
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("hr4.r2.5.eyJwb3NpdGlvbiI6eyJhdCI6NDY2NTUsInNlZW4iOlsiMSJdfX0") // without its checksum
	f.Add("hr4.r1.5.eyJwb3NpdGlvbiI6eyJhdCI6MjAsInNlZW4iOlsiMTFAbG95dzN2MjgiXX19")
	f.Add("hr4.r1.0")
	f.Add("hr0.")
	w := dense(30)
	check := func(t *testing.T, text string) {
		for _, text := range []string{text, fmt.Sprintf("%s.%08x", text, crc32.ChecksumIEEE([]byte(text)))} {
			c, err := horseracing.ParseCursor(text)
			if err != nil {
				if !errors.Is(err, horseracing.ErrInvalidArgument) || len(err.Error()) > 250 { // it does not contain the text
					t.Fatalf("%v", err)
				}
				continue
			}
			double.Equal(t, "the text written", text, c.String())
			// Wherever it is, a walk continues there or returns an error.
			w.requests = 0
			for _, p := range []*horseracing.Pager[horseracing.Race]{
				w.client(t).Races.Results(horseracing.ResultsQuery{Resume: c, Concurrency: 1 + len(text)%3}),
				w.client(t).Races.ResultsV1(horseracing.OffsetQuery{Resume: c}),
			} {
				_, err := p.Take(t.Context(), 20)
				_, unreadable := errors.AsType[*horseracing.DecodeError](err) // no start fits a position so far away
				known := unreadable || errors.Is(err, horseracing.ErrInvalidArgument) || errors.Is(err, horseracing.ErrBodyIgnored)
				if err != nil && !known || w.requests > 100 {
					t.Fatalf("%q: %d requests, %v", text, w.requests, err)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) { // in virtual time: an empty page may be requested again
		synctest.Test(t, func(t *testing.T) { check(t, text) })
	})
}

// history is a listing of races, whose responses take a time.
type history struct {
	starts     []int64        // newest first; the id of the last race is 1
	damaged    map[int]string // texts of entries, by their index
	isReversed bool           // each page lists its oldest entry first
	delay      time.Duration
	failAfter  int // requests, if it is not 0

	mu       sync.Mutex
	requests int
	inFlight int
}

var errBroken = errors.New("broken on purpose")

func (h *history) id(i int) horseracing.RaceID { return horseracing.RaceID(len(h.starts) - i) }

func (h *history) entry(i int) string {
	if text, ok := h.damaged[i]; ok {
		return text
	}
	return fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, h.id(i), h.starts[i])
}

func (h *history) count(inFlight int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inFlight += inFlight
	h.requests += max(0, inFlight)
	return h.requests
}

func (h *history) RoundTrip(req *http.Request) (*http.Response, error) {
	n := h.count(1)
	defer h.count(-1)
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if h.delay > 0 { // no two responses arrive at once, so that a virtual clock decides on their order
		select {
		case <-time.After(h.delay + time.Duration(crc32.ChecksumIEEE(body)%1_000_000)):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if h.failAfter > 0 && n > h.failAfter {
		return nil, errBroken
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := double.Pages(len(h.starts), func(i int) int64 { return h.starts[i] }, h.entry)(req)
	if h.isReversed && err == nil {
		var page []json.RawMessage
		err = json.NewDecoder(resp.Body).Decode(&page)
		slices.Reverse(page)
		text, _ := json.Marshal(page)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	return resp, err
}

func (h *history) client(tb testing.TB, opts ...horseracing.Option) *horseracing.Client {
	return double.Connect(tb, double.Service, &http.Client{Transport: h}, append(opts, double.NoRetries())...)
}

// dense is a history of n races, one a minute on average.
func dense(n int) *history {
	h := &history{}
	random, at := rand.New(rand.NewPCG(7, 7)), int64(1_700_000_000_000)
	for range n {
		h.starts = append(h.starts, at)
		at -= 1 + random.Int64N(120_000)
	}
	return h
}

// groups are groups of sixty races, a minute apart, and so many days between them.
func groups(n, days int64) *history {
	h := &history{}
	for group := range n {
		for i := range int64(60) {
			h.starts = append(h.starts, 1_700_000_000_000-group*days*86_400_000-i*60_000)
		}
	}
	return h
}
