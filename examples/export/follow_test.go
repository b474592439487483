package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// bench is an export that a test stops and starts again, under a virtual clock.
type bench struct {
	t      *testing.T
	fake   *horseracingtest.Server
	client *horseracing.Client
	store  *store
}

func newBench(t *testing.T, opts ...horseracingtest.Option) *bench {
	fake := horseracingtest.NewServer(append(opts, horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))...)
	t.Cleanup(fake.Close)
	return &bench{t, fake, fake.Client(), newStore(t, filepath.Join(t.TempDir(), "races.sqlite"))}
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
		b := newBench(t, horseracingtest.WithHistory(200), horseracingtest.WithSchedule(20))
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
