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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

// pagers are the walks of a client by time, several pages at once, and by offset.
func pagers(c *horseracing.Client) map[string]*horseracing.Pager[horseracing.Race] {
	return map[string]*horseracing.Pager[horseracing.Race]{
		"by time":   c.Races.Results(horseracing.ResultsQuery{Concurrency: 4}),
		"by offset": c.Races.ResultsV1(horseracing.OffsetQuery{}),
	}
}

// The bubble of a test fails if a goroutine outlives it.
func TestLeavingAWalkEndsItsRequestsAndGoroutines(t *testing.T) {
	for leave, want := range map[string]error{"break": nil, "panic": nil, "error": errBroken, "cancel": context.Canceled} {
		for _, concurrency := range []int{1, 4, 64} {
			double.Run(t, fmt.Sprintf("%s at %d", leave, concurrency), func(t *testing.T) {
				h, n := dense(2_000), 0
				h.delay, h.failAfter = 20*time.Millisecond, map[string]int64{"error": 10}[leave]
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var last error
				var left time.Time
				defer func() {
					_ = recover()
					if !errors.Is(last, want) || time.Since(left) != 0 || h.inFlight.Load() != 0 {
						t.Errorf("it ends with %v, after %v, and %d requests in flight", last, time.Since(left), h.inFlight.Load())
					}
				}()
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
			})
		}
	}
}

// simulate walks under a virtual clock with 20 ms a request.
func simulate(t *testing.T, h *history, concurrency int) (requests int64, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		h.delay = 20 * time.Millisecond
		h.requests.Store(0)
		began, n := time.Now(), 0
		for range double.Each(t, h.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(t.Context())) {
			n++
		}
		double.Equal(t, "entries", len(h.starts), n)
		requests, took = h.requests.Load(), time.Since(began)
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

// An error ends the loop, and ranging again continues after it. A handler gets it once in a loop.
func TestAnUnreadableEntryOfAPageAffectsNoOther(t *testing.T) {
	for name, test := range map[string]struct {
		entry    string // starts at START
		isPlaced bool   // it has a position, and so comes once
	}{
		"member":   {`{"main_race_id":99,"start_time":START,"entry_fee":{}}`, true},
		"id":       {`{"main_race_id":"99x","start_time":START}`, false},
		"no id":    {`{"start_time":START}`, false},
		"start":    {`{"main_race_id":99,"start_time":"soon"}`, false},
		"no start": {`{"main_race_id":99}`, false},
		"zero":     {`{"main_race_id":99,"start_time":0}`, false},
		"seconds":  {`{"main_race_id":99,"start_time":1699999000}`, false},
		"null":     {`null`, false},
	} {
		for i := range 2 * double.Worlds(30, 30, 4) {
			h, hasHandler := dense(30), i%2 == 0
			i /= 2
			h.starts[i] = h.starts[max(0, i-1)] // a tie
			h.damaged = map[int]string{i: strings.Replace(test.entry, "START", fmt.Sprint(h.starts[i]), 1)}
			synctest.Test(t, func(t *testing.T) {
				races, failures := map[horseracing.RaceID]int{}, 0
				fail := func(_ context.Context, err error) {
					bad, _ := errors.AsType[*horseracing.DecodeError](err)
					double.FailIf(t, bad == nil || string(bad.Raw) != h.damaged[i], "%s at %d: %v", name, i, err)
					failures++
				}
				var opts []horseracing.Option
				if hasHandler {
					opts = append(opts, horseracing.WithSkipHandler(fail))
				}
				for kind, pager := range pagers(h.client(t, opts...)) {
					clear(races)
					failures = 0
					for isDone := false; !isDone && failures < 5; {
						isDone = true
						for race, err := range pager.All(t.Context()) {
							if isDone = err == nil; isDone {
								races[race.MainRaceID]++
								double.FailIf(t, races[race.MainRaceID] > 1, "%s, %s at %d: race %d comes again", kind, name, i, race.MainRaceID)
							} else {
								fail(t.Context(), err)
							}
						}
					}
					most := 3
					if test.isPlaced || hasHandler {
						most = 1
					}
					double.FailIf(t, len(races) != 29 || failures < 1 || failures > most, "%s, %s at %d: %d races, %d errors", kind, name, i, len(races), failures)
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
			h.damaged[i] = fmt.Sprintf(`{"main_race_id":%d}`, n-i)
		}
		p := h.client(t, horseracing.WithSkipHandler(func(context.Context, error) {})).Races.Results(horseracing.ResultsQuery{})
		for _, want := range []int{15, 0, 0} {
			races, err := p.Take(t.Context(), 60)
			double.FailIf(t, len(races) != want || !strings.Contains(fmt.Sprint(err), "no entry of the page has a position"), "of %d: %d races, %v", n, len(races), err)
		}
		h.damaged = nil
		rest, err := p.Take(t.Context(), 100)
		double.FailIf(t, err != nil || len(rest) < min(20, n-15), "of %d, once it can be read: %d races, %v", n, len(rest), err)
	}
}

func TestEntriesHaveTheirJSONAndTier(t *testing.T) {
	h := dense(31)
	h.damaged = map[int]string{20: fmt.Sprintf(`{ "main_race_id": 11, "start_time": %d, "new_member": [1e3] }`, h.starts[20])}
	h.damaged[21] = fmt.Sprintf(`{"main_race_id":11,"start_time":%d}`, h.starts[21]) // a second heat has the same id
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

// refusing is a client of a service that refuses what isRefused says, with header lines, and otherwise lists one race.
func refusing(t *testing.T, isRefused func(body string) bool, header ...string) (c *horseracing.Client, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	list := double.Pages(1, func(int) int64 { return 1 }, func(int) string { return `{"main_race_id":1,"start_time":1}` })
	return double.Client(t, func(req *http.Request) (*http.Response, error) {
		requests.Add(1)
		time.Sleep(20 * time.Millisecond)
		body := string(double.Must(io.ReadAll(req.Body)))
		if isRefused(body) {
			return double.Respond(http.StatusTooManyRequests, "", header...)(req)
		}
		req.Body = io.NopCloser(strings.NewReader(body))
		return list(req)
	}), requests
}

// TestALoopThatIsRefusedEverythingEndsAfterAnHour with the refusal, and continues when it is ranged over again.
func TestALoopThatIsRefusedEverythingEndsAfterAnHour(t *testing.T) {
	for retryAfter, most := range map[string]time.Duration{"": time.Minute, "1": time.Minute, "0.05": time.Minute, "1800": time.Second, "86400": time.Second} {
		double.Run(t, "Retry-After "+retryAfter, func(t *testing.T) {
			isUp := false
			c, requests := refusing(t, func(string) bool { return !isUp }, "Retry-After: "+retryAfter)
			pager := c.Races.Results(horseracing.ResultsQuery{Concurrency: 4})
			for range 2 {
				began, before := time.Now(), requests.Load()
				_, err := pager.Take(t.Context(), 1)
				took, sent := time.Since(began), requests.Load()-before
				double.Error(t, "the loop", horseracing.ErrRateLimited, "status 429", err)
				double.FailIf(t, took < time.Hour || took > time.Hour+most || sent > 100, "it took %v and %d requests", took, sent)
			}
			isUp = true
			races, err := pager.Take(t.Context(), 1)
			double.FailIf(t, len(races) != 1 || err != nil, "%d races, %v", len(races), err)
		})
	}
}

// TestALoopWaitsWhileItsListingIsAcceptedNowAndThen, although its own page is not.
func TestALoopWaitsWhileItsListingIsAcceptedNowAndThen(t *testing.T) {
	double.Run(t, "a poll each 50 minutes", func(t *testing.T) {
		c, _ := refusing(t, func(body string) bool { return strings.Contains(body, `"tier":2`) })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour)
		var polls sync.WaitGroup
		defer polls.Wait()
		defer cancel()
		polls.Go(func() {
			for range 5 {
				time.Sleep(50 * time.Minute)
				for _, err := range c.Races.Follow(horseracing.FollowQuery{}).CatchUp(ctx) {
					double.FailIf(t, ctx.Err() == nil, "a poll: %v", err)
				}
			}
		})
		_, err := c.Races.Results(horseracing.ResultsQuery{Tier: 2}).Take(ctx, 1)
		double.FailIf(t, !errors.Is(err, context.DeadlineExceeded), "the loop: %v", err)
	})
}

// history is a listing of races, whose responses take a time.
type history struct {
	starts    []int64        // newest first; the id of the last race is 1
	damaged   map[int]string // texts of entries, by their index
	delay     time.Duration
	failAfter int64 // requests, if it is not 0

	requests, inFlight atomic.Int64
}

var errBroken = errors.New("broken on purpose")

func (h *history) entry(i int) string {
	if text, ok := h.damaged[i]; ok {
		return text
	}
	return fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, len(h.starts)-i, h.starts[i])
}

func (h *history) RoundTrip(req *http.Request) (*http.Response, error) {
	n := h.requests.Add(1)
	h.inFlight.Add(1)
	defer h.inFlight.Add(-1)
	body := double.Must(io.ReadAll(req.Body))
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
	return double.Pages(len(h.starts), func(i int) int64 { return h.starts[i] }, h.entry)(req)
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
