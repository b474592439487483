package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// garbler makes the entry fee of one race unreadable until it is mended.
type garbler struct {
	http.RoundTripper
	race   horseracing.RaceID
	mended atomic.Bool
	struck atomic.Int32
}

func (g *garbler) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := g.RoundTripper.RoundTrip(request)
	if err != nil || g.mended.Load() {
		return response, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	id := fmt.Appendf(nil, `"main_race_id":%d,`, g.race)
	if before, after, found := bytes.Cut(body, id); found {
		g.struck.Add(1)
		after = bytes.Replace(after, []byte(`"entry_fee":`), []byte(`"entry_fee":[],"was":`), 1)
		body = bytes.Join([][]byte{before, after}, id)
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, err
}

// bench is an export that a test stops and starts again, under a virtual clock.
type bench struct {
	t      *testing.T
	fake   *horseracingtest.Server
	client *horseracing.Client
	store  *store
}

func newBench(t *testing.T, g *garbler, opts ...horseracingtest.Option) *bench {
	fake := horseracingtest.NewServer(append(opts, horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))...)
	t.Cleanup(fake.Close)
	client := fake.Client(horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		g.RoundTripper = next
		return g
	}))
	return &bench{t, fake, client, newStore(t, filepath.Join(t.TempDir(), "races.sqlite"))}
}

// run is a run of the program that is interrupted after a while if it follows.
func (b *bench) run(followFor time.Duration, o options) {
	b.t.Helper()
	o.tiers, o.concurrency, o.interval, o.follow = []horseracing.TierID{horseracing.TierOmega}, 1, 30*time.Second, followFor > 0
	if err := crawl(b.t.Context(), b.client, b.store, horseracing.TierOmega, o, io.Discard); err != nil {
		b.t.Fatal(err)
	}
	if o.follow {
		ctx, cancel := context.WithTimeout(b.t.Context(), followFor)
		defer cancel()
		if err := follow(ctx, b.client, b.store, o, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) has(race horseracing.RaceID) bool {
	return count(b.t, b.store.db, `SELECT count(*) FROM races WHERE race_id = ?`, race) == 1
}

func TestFollowStartedAgainStoresEachRaceOnceAndCrawlsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &garbler{}, horseracingtest.WithHistory(200), horseracingtest.WithSchedule(20))
		b.run(3*time.Hour, options{})
		for range 5 {
			time.Sleep(50 * time.Minute) // nobody follows
			b.run(40*time.Minute, options{})
		}
		stored := history(t, b.fake)
		for id := range stored {
			if !b.has(horseracing.RaceID(id)) {
				t.Errorf("race %d is not stored", id)
			}
		}
		// The first run crawls, and following begins a lookback before that.
		if n := count(t, b.store.db, `SELECT count(*) FROM (SELECT race_id FROM offered GROUP BY race_id HAVING count(*) > 2)`); n > 0 {
			t.Errorf("%d races were stored at every start", n)
		}
		if n := count(t, b.store.db, `SELECT count(*) - count(DISTINCT race_id) FROM offered`); n > 40 {
			t.Errorf("%d of %d races were stored twice", n, len(stored))
		}
	})
}

func TestARaceThatCannotBeReadForAWhileIsNotLost(t *testing.T) {
	const late = 900_001
	for _, test := range []struct {
		name          string
		mend, restart time.Duration // after the race finished
		again         time.Duration // how long the second run follows; 0: it does not
	}{
		{"mended while it follows", 20 * time.Minute, 5 * time.Hour, 0},
		{"mended while nobody follows", 40 * time.Minute, 30 * time.Minute, 20 * time.Minute},
		{"not read again, and read by a run that crawls", 7 * time.Hour, 6 * time.Hour, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &garbler{race: late}
				b := newBench(t, g, horseracingtest.WithHistory(50), horseracingtest.WithSchedule(20))
				b.run(2*time.Hour, options{})
				b.fake.AddRaces(finished(b.fake, late, 0))
				time.AfterFunc(test.mend, func() { g.mended.Store(true) })
				b.run(test.restart, options{})
				if g.struck.Load() == 0 {
					t.Fatal("the race was never read: the test shows nothing")
				}
				if test.mend < test.restart != b.has(late) {
					t.Errorf("after the first run the race is stored: %v", b.has(late))
				}
				time.Sleep(max(0, test.mend-test.restart) + time.Second)
				b.run(test.again, options{})
				if !b.has(late) {
					t.Error("the race is not stored")
				}
			})
		})
	}
}
