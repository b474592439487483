package horseracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// drawWorld makes a listing with up to nine entries on an instant, dense and
// sparse stretches, and gaps of months.
func drawWorld(t *rapid.T) *world {
	w := &world{}
	at := rapid.Int64Range(1_000, 2_000_000_000_000).Draw(t, "newest")
	n := rapid.IntRange(0, 150).Draw(t, "instants")
	id := int64(1000)
	for range n {
		for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 2, 3, 9}).Draw(t, "ties") {
			w.starts, w.ids = append(w.starts, at), append(w.ids, id)
			id--
		}
		at -= rapid.SampledFrom([]int64{1, 2, 1_000, 60_000, 61_000, 3_600_000, 60 * 24 * 3_600_000}).Draw(t, "gap")
		if at < 1 {
			break
		}
	}
	if rapid.Bool().Draw(t, "shuffled") {
		w.shuffle = rand.New(rand.NewPCG(1, 2))
	}
	return w
}

// failSome lets a part of the requests fail.
func failSome(t *rapid.T) func(int64) error {
	part := rapid.IntRange(2, 6).Draw(t, "one request fails of")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "failures"), 0))
	return func(int64) error {
		if rng.IntN(part) == 0 {
			return errBroken
		}
		return nil
	}
}

func sorted(ids []int64) []int64 {
	ids = append([]int64{}, ids...)
	slices.Sort(ids)
	return ids
}

func sameEntries(t failer, got, want []int64) {
	t.Helper()
	if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
		t.Fatalf("entries (-want +got):\n%s", d)
	}
}

func drawBound(t *rapid.T, w *world, name string) time.Time {
	if len(w.starts) == 0 || rapid.Bool().Draw(t, "no "+name) {
		return time.Time{}
	}
	at := rapid.SampledFrom(w.starts).Draw(t, name) + rapid.Int64Range(-1, 1).Draw(t, name+" offset")
	return time.UnixMilli(at)
}

func millis(t time.Time, zero int64) int64 {
	if t.IsZero() {
		return zero
	}
	return t.UnixMilli()
}

func TestEveryEntryComesOnceNewestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := ResultsQuery{Concurrency: rapid.IntRange(1, 16).Draw(t, "concurrency")}
		q.Before, q.Since = drawBound(t, w, "before"), drawBound(t, w, "since")
		if !q.Before.IsZero() && q.Since.After(q.Before) {
			q.Before, q.Since = q.Since, q.Before
		}
		got := collect(t, w.client(t).Races.Results(q), never)
		sameEntries(t, got, w.between(millis(q.Since, math.MinInt64), millis(q.Before, math.MaxInt64)))
		if w.most > q.Concurrency {
			t.Fatalf("%d requests in flight at concurrency %d", w.most, q.Concurrency)
		}
		slices.Sort(w.asked)
		if len(slices.Compact(w.asked)) != w.requests {
			t.Fatalf("a question was asked twice")
		}
	})
}

func TestAWalkSurvivesBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.before = failSome(t)
		q := ResultsQuery{}
		var got []int64
		last := int64(math.MaxInt64)
		for range 10_000 {
			q.Concurrency = rapid.IntRange(1, 16).Draw(t, "concurrency")
			p := w.client(t).Races.Results(q)
			finished := false
			for range rapid.IntRange(1, 3).Draw(t, "ranges") {
				stop := rapid.IntRange(1, 40).Draw(t, "stop after")
				finished = true
				for r, err := range p.All(context.Background()) {
					if err != nil {
						if !errors.Is(err, errBroken) {
							t.Fatal(err)
						}
						finished = false
						break
					}
					if r.StartTime.UnixMilli() > last {
						t.Fatalf("not newest first")
					}
					last = r.StartTime.UnixMilli()
					got = append(got, int64(r.MainRaceID))
					if stop--; stop == 0 {
						finished = false
						break
					}
				}
			}
			if finished {
				sameEntries(t, got, w.ids)
				return
			}
			c, err := ParseCursor(p.Cursor().String())
			if err != nil {
				t.Fatal(err)
			}
			q.Resume = c
		}
		t.Fatal("the walk does not end")
	})
}

func TestAnIgnoredBodyIsNoticedWithinADozenRequests(t *testing.T) {
	v2 := func(q ResultsQuery) func(*Client, int) *Pager[Race] {
		return func(c *Client, concurrency int) *Pager[Race] { q.Concurrency = concurrency; return c.Races.Results(q) }
	}
	v1 := func(q OffsetQuery) func(*Client, int) *Pager[Race] {
		return func(c *Client, concurrency int) *Pager[Race] {
			q.Concurrency = concurrency
			return c.Races.ResultsV1(q)
		}
	}
	walks := map[string]func(*Client, int) *Pager[Race]{
		"v2":        v2(ResultsQuery{}),
		"v2 before": v2(ResultsQuery{Before: time.UnixMilli(1_000_000_001)}),
		"v2 resume": v2(ResultsQuery{Resume: raceCursor(cursorRaces, walk.Position{At: 1_000_000_001, Seen: []uint64{7}})}),
		"tier":      v2(ResultsQuery{Tier: 3}),
		"v1 resume": v1(OffsetQuery{Resume: raceCursor(cursorRacesV1, walk.Position{At: 55, Newest: 900_000_000, Seen: []uint64{901, 902, 903}})}),
	}
	for _, offset := range []int{0, 1, 3, 7, 8, 9, 12, 1000} {
		walks[fmt.Sprintf("v1 from %d", offset)] = v1(OffsetQuery{Offset: offset})
	}
	for _, size := range []int{500, 10, 9, 5, 3, 2, 1} {
		for _, apart := range []int64{1000, 0} {
			for _, concurrency := range []int{1, 2, 4, 8, 16, 64} {
				for name, walk := range walks {
					if apart == 0 && size >= pageSize && strings.HasPrefix(name, "v2") {
						continue // the tie comes first
					}
					w := &world{ignoreBody: true, delay: 20 * time.Millisecond}
					for i := range size {
						w.add(1_000_000_000 - int64(i)*apart)
					}
					var err error
					synctest.Test(t, func(t *testing.T) {
						_, err = walk(w.client(t), concurrency).Take(t.Context(), 10_000)
					})
					if !errors.Is(err, ErrBodyIgnored) || w.requests > 12 {
						t.Errorf("%s, %d entries %d ms apart, %d at once: %v after %d requests", name, size, apart, concurrency, err, w.requests)
					}
				}
			}
		}
	}
}

func TestWhatLiesBeforeAFailedPageIsHandedOutFirst(t *testing.T) {
	w := dense(600, 60_000)
	broken := w.starts[300]
	down := true
	w.before = func(from int64) error {
		if down && from <= broken {
			return errBroken
		}
		return nil
	}
	for _, concurrency := range []int{1, 3, 16} {
		down = true
		p := w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency})
		before, err := p.Take(t.Context(), 10_000)
		if !errors.Is(err, errBroken) || len(before) < 300 {
			t.Errorf("at %d: %d entries, then %v", concurrency, len(before), err)
		}
		again, err := p.Take(t.Context(), 10_000)
		if !errors.Is(err, errBroken) || len(again) > 0 {
			t.Errorf("still broken: %d entries, then %v", len(again), err)
		}
		down = false
		rest, err := p.Take(t.Context(), 10_000)
		if err != nil || len(before)+len(rest) != 600 {
			t.Errorf("at %d: %d and %d entries, then %v", concurrency, len(before), len(rest), err)
		}
	}
}

func TestTournamentsAreWalkedLikeRaces(t *testing.T) {
	w := dense(95, 1)
	w.tournaments = true
	for _, concurrency := range []int{1, 8} {
		p := w.client(t).Tournaments.Results(ResultsQuery{Concurrency: concurrency})
		first, err := p.Take(t.Context(), 33)
		if err != nil {
			t.Fatal(err)
		}
		resumed := w.client(t).Tournaments.Results(ResultsQuery{Resume: p.Cursor()})
		seen := map[TournamentID]bool{}
		for _, tournament := range first {
			seen[tournament.ID] = true
		}
		for tournament, err := range resumed.All(t.Context()) {
			if err != nil || seen[tournament.ID] {
				t.Fatalf("%v, seen before: %v", err, seen[tournament.ID])
			}
			seen[tournament.ID] = true
		}
		if len(seen) != 95 {
			t.Errorf("%d tournaments", len(seen))
		}
	}
}

func TestPagesAndTakeHandOutTheSameEntries(t *testing.T) {
	w := dense(47, 1000)
	var sizes []int
	for page, err := range w.client(t).Races.Results(ResultsQuery{Concurrency: 4}).Pages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page))
	}
	if d := cmp.Diff([]int{10, 10, 10, 10, 7}, sizes); d != "" {
		t.Error(d)
	}
	p := w.client(t).Races.Results(ResultsQuery{})
	for _, n := range []int{0, 1, 20, 100} {
		if _, err := p.Take(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if rest, err := p.Take(t.Context(), 5); err != nil || len(rest) != 0 {
		t.Errorf("behind the end: %d entries, %v", len(rest), err)
	}
	one := w.client(t).Races.Results(ResultsQuery{})
	w.requests = 0
	if _, err := one.Take(t.Context(), 10); err != nil || w.requests != 1 {
		t.Errorf("ten entries took %d requests (%v)", w.requests, err)
	}
}

func TestNothingIsRequestedBeforeThePagerIsRangedOver(t *testing.T) {
	w := dense(10, 1000)
	w.client(t).Races.Results(ResultsQuery{Concurrency: 8}).All(t.Context())
	if w.requests != 0 {
		t.Errorf("%d requests", w.requests)
	}
}

func TestAQueryThatCannotBeAnsweredIsRefusedBeforeAnyRequest(t *testing.T) {
	w := dense(30, 1000)
	c := w.client(t)
	p := c.Races.Results(ResultsQuery{})
	if _, err := p.Take(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	w.requests = 0
	now := time.Now()
	for name, take := range map[string]func() error{
		"another listing": func() error {
			_, err := c.Races.ResultsV1(OffsetQuery{Resume: p.Cursor()}).Take(t.Context(), 1)
			return err
		},
		"tournaments": func() error {
			_, err := c.Tournaments.Results(ResultsQuery{Resume: p.Cursor()}).Take(t.Context(), 1)
			return err
		},
		"another tier": func() error {
			_, err := c.Races.Results(ResultsQuery{Tier: 4, Resume: p.Cursor()}).Take(t.Context(), 1)
			return err
		},
		"negative tier": func() error { _, err := c.Races.Results(ResultsQuery{Tier: -1}).Take(t.Context(), 1); return err },
		"negative slots": func() error {
			_, err := c.Races.Results(ResultsQuery{Concurrency: -1}).Take(t.Context(), 1)
			return err
		},
		"negative offset": func() error { _, err := c.Races.ResultsV1(OffsetQuery{Offset: -1}).Take(t.Context(), 1); return err },
		"turned around": func() error {
			_, err := c.Races.Results(ResultsQuery{Since: now, Before: now.Add(-time.Hour)}).Take(t.Context(), 1)
			return err
		},
	} {
		if err := take(); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.requests != 0 {
		t.Errorf("%d requests", w.requests)
	}
	if _, err := c.Races.Results(ResultsQuery{Tier: TierOmega, Resume: p.Cursor()}).Take(t.Context(), 1); err != nil {
		t.Errorf("the default tier is Omega: %v", err)
	}
}

func TestLeavingAWalkLeavesNothingBehind(t *testing.T) {
	for _, leave := range []string{"break", "cancel", "panic", "error"} {
		for _, concurrency := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s at %d", leave, concurrency), func(t *testing.T) {
				// The bubble fails if a goroutine outlives the test.
				synctest.Test(t, func(t *testing.T) {
					w := dense(2_000, 60_000)
					w.delay = 20 * time.Millisecond
					if leave == "error" {
						w.before = func(from int64) error {
							if from < w.starts[500] {
								return errBroken
							}
							return nil
						}
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					func() {
						defer func() { _ = recover() }()
						n := 0
						for _, err := range w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency}).All(ctx) {
							switch n++; {
							case err != nil && leave != "error" && leave != "cancel":
								t.Fatal(err)
							case leave == "cancel" && err != nil && !errors.Is(err, context.Canceled):
								t.Errorf("cancelled: %v", err)
							case leave == "cancel" && n == 50:
								cancel()
							case leave == "cancel" && n > 52:
								t.Error("the walk went on after its context had ended")
							case leave == "break" && n == 50:
								return
							case leave == "panic" && n == 50:
								panic("in the loop's body")
							}
						}
					}()
					if w.inFlight != 0 || w.open != 0 {
						t.Errorf("%d requests in flight and %d bodies open after the loop", w.inFlight, w.open)
					}
				})
			})
		}
	}
}

func TestTheWalkTakesATokenForEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dense(1_000, 60_000)
		started := time.Now()
		collect(t, w.client(t, WithRateLimit(10, 1)).Races.Results(ResultsQuery{Concurrency: 16}), never)
		if least := time.Duration(w.requests-1) * 100 * time.Millisecond; time.Since(started) < least {
			t.Errorf("%d requests in %v", w.requests, time.Since(started))
		}
	})
}

func TestAnEntryThatCannotBePlacedIsAnError(t *testing.T) {
	for _, page := range []string{`[{"main_race_id":1}]`, `[{"start_time":1700000000000}]`, `[{"main_race_id":1,"start_time":null}]`} {
		c, err := NewClient("https://races.example", "key", WithHTTPClient(&http.Client{Transport: answer200(page)}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Races.Results(ResultsQuery{}).Take(t.Context(), 1)
		if _, ok := errors.AsType[*DecodeError](err); !ok {
			t.Errorf("%s: %v", page, err)
		}
	}
}

type answer200 string

func (a answer200) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(string(a))), Request: req}, nil
}
