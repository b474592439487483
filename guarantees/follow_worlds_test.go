package guarantees_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// In worlds with a past of any density, races that finish late, pages and entries
// that cannot be read for a while, and failures, a program that is stopped at random
// handles each race once, unless it is in a gap or was reported as unreadable.
func TestFollowHandlesEachRaceOnceInRandomWorlds(t *testing.T) {
	t.Parallel()
	worlds := 10
	switch {
	case full:
		worlds = 250
	case testing.Short():
		worlds = 3
	}
	stops := 0
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, fake *horseracingtest.Server) { stops += followInAWorld(t, fake, seed) },
				horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		})
	}
	if t.Logf("%d worlds, stopped %d times", worlds, stops); stops < 5*worlds {
		t.Error("too few stops to prove anything")
	}
}

func followInAWorld(t *testing.T, fake *horseracingtest.Server, seed uint64) (stops int) {
	random := rand.New(rand.NewPCG(seed, 7))
	since, starts := time.Now().Add(-time.Duration(1+random.IntN(200))*time.Hour), map[horseracing.RaceID]time.Time{}
	add := func(at time.Duration) {
		race := finished(horseracing.RaceID(len(starts)+1), at)
		starts[race[0].MainRaceID] = race[0].StartTime.Time
		fake.AddRaces(race...)
	}
	for range random.IntN(600) {
		add(-time.Duration(random.Int64N(int64(time.Since(since)))))
	}
	trouble, calm := context.WithTimeout(t.Context(), 6*time.Hour)
	defer calm()
	d, client := damaged(fake, nil)
	var damage sync.WaitGroup
	damage.Go(func() { // races that finish up to an hour late, and damage for less than half an hour
		random := rand.New(rand.NewPCG(seed, 8))
		for i := 0; trouble.Err() == nil; i++ {
			time.Sleep(time.Duration(random.Int64N(int64(10 * time.Minute))))
			if i%3 == 0 {
				d.repair()
			} else if len(starts) > 0 && random.IntN(3) == 0 {
				id := 1 + random.IntN(len(starts))
				change := [](func([]byte) []byte){withPage(fmt.Sprint(id)), unreadable(id)}[random.IntN(2)]
				d.mu.Lock()
				d.change = change
				d.mu.Unlock()
			}
			if random.IntN(4) == 0 {
				fake.Inject(horseracingtest.Fault{Path: resultsPath, Status: http.StatusBadGateway, Skip: random.IntN(5), Times: 1 + random.IntN(4)})
			}
			add(-time.Duration(random.Int64N(int64(50 * time.Minute))))
		}
		d.repair()
		fake.ClearFaults()
	})
	var f followed
	query := horseracing.FollowQuery{Since: since, Interval: time.Minute, Concurrency: 1 + random.IntN(4)}
	for trouble.Err() == nil {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(40*time.Minute))))
		if f.catchUp = random.IntN(2) == 0; f.catchUp {
			time.Sleep(time.Duration(random.Int64N(int64(10 * time.Minute))))
		}
		f.process(t, ctx, client, query, 1+random.IntN(100))
		cancel()
		stops++
	}
	damage.Wait()
	time.Sleep(time.Hour)
	f.catchUp = false
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	defer cancel()
	f.process(t, ctx, client, query, 1<<30)
	for id, start := range starts {
		if n := f.times[id]; n > 1 || n == 0 && !f.isInGap(start) && !f.broken[fmt.Sprint(id)] {
			t.Errorf("race %d at %v was handled %d times", id, starts[id], f.times[id])
		}
	}
	return stops
}
