package guarantees_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// ledger is the database of a program that follows: what it handled, and the
// cursor that is stored with it.
type ledger struct {
	handled map[horseracing.RaceID]int
	cursor  string
	newest  time.Time
	late    int // races that came behind newer ones
	errors  int
	longest int // text of a cursor
}

// process is one process: it resumes from the ledger, handles up to n races and
// stores the cursor with each.
func (l *ledger) process(t *testing.T, ctx context.Context, c *horseracing.Client, q horseracing.FollowQuery, n int) {
	t.Helper()
	var err error
	if q.Resume, err = horseracing.ParseCursor(l.cursor); err != nil {
		t.Fatal(err)
	}
	f := c.Races.Follow(q)
	for race, err := range f.All(ctx) {
		if errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Fatal(err)
		}
		if err != nil {
			l.errors++
			continue
		}
		l.handled[race.MainRaceID]++
		if race.StartTime.Before(l.newest) {
			l.late++
		} else {
			l.newest = race.StartTime.Time
		}
		l.cursor = f.Cursor().String()
		l.longest = max(l.longest, len(l.cursor))
		if n--; n == 0 {
			return
		}
	}
}

// check compares what was handled with what has finished.
func (l *ledger) check(t *testing.T, since time.Time, grace time.Duration, finished map[horseracing.RaceID]time.Time) {
	t.Helper()
	for id, start := range finished {
		switch n := l.handled[id]; {
		case start.Before(since) && n != 0:
			t.Errorf("race %d starts before Since, but was handed out", id)
		case !start.Before(since) && n == 0 && time.Since(start) > grace:
			t.Errorf("race %d was never handled", id)
		}
	}
	for id, n := range l.handled {
		if _, exists := finished[id]; n != 1 || !exists {
			t.Errorf("race %d was handled %d times", id, n)
		}
	}
}

func TestFollowContinuesWhereALoopWasLeft(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(finished(1, -9*time.Minute, -7*time.Minute, -5*time.Minute, -3*time.Minute)...)
		f := fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)})
		var got []horseracing.RaceID
		for range 4 {
			for race, err := range f.All(aDay(t)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, race.MainRaceID)
				for _, err := range f.All(t.Context()) {
					if !errors.Is(err, horseracing.ErrInvalidArgument) {
						t.Errorf("a loop within a loop: %v", err)
					}
				}
				break
			}
		}
		if !slices.Equal(got, []horseracing.RaceID{1, 2, 3, 4}) {
			t.Errorf("races %v", got)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowFromNowCanBeStoppedBeforeTheFirstRace(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(finished(1, -10*time.Minute)...)
		f := fake.Client().Races.Follow(horseracing.FollowQuery{})
		if !f.Cursor().IsZero() {
			t.Error("a cursor before the first poll")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for race, err := range f.All(ctx) {
			t.Errorf("race %v, error %v", race, err)
		}
		fake.AddRaces(finished(2, -time.Second)...)
		if got := take(t, fake.Client(), horseracing.FollowQuery{Resume: f.Cursor()}, 1); got[0] != 2 {
			t.Errorf("races %v", got)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowRefusesACursorOfSomethingElse(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	races := fake.Client().Races
	pager := races.Results(horseracing.ResultsQuery{})
	if _, err := pager.Take(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	follow := races.Follow(horseracing.FollowQuery{Since: time.Now()}).Cursor()
	for name, q := range map[string]horseracing.FollowQuery{
		"a pager's":      {Resume: pager.Cursor()},
		"another tier":   {Resume: follow, Tier: 4},
		"more tiers":     {Resume: follow, Tiers: []horseracing.TierID{4, 5}},
		"tier and tiers": {Tier: 4, Tiers: []horseracing.TierID{4}},
	} {
		n := 0
		f := races.Follow(q)
		for race, err := range f.All(t.Context()) {
			if n++; race != nil || !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), "GET /api/v2/races/results") {
				t.Errorf("%s: race %v, error %v", name, race, err)
			}
		}
		if n != 1 || !f.Cursor().Equal(q.Resume) {
			t.Errorf("%s: %d yields, cursor %v", name, n, f.Cursor())
		}
	}
	n := 0
	for _, err := range races.Results(horseracing.ResultsQuery{Resume: follow}).All(t.Context()) {
		if n++; !errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Errorf("a pager goes on from a follower's cursor: %v", err)
		}
	}
	for race, err := range races.Follow(horseracing.FollowQuery{Resume: follow, Tiers: []horseracing.TierID{5, 5}}).All(cancelled(t)) {
		t.Errorf("Tiers{5} is not Tier 5: race %v, error %v", race, err)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestFollowReadsSeveralTiersAsOne(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		tiers := []horseracing.TierID{5, 3, 4, 3}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Hour)
		defer cancel()
		since := time.Now().Add(-time.Hour)
		l := ledger{handled: map[horseracing.RaceID]int{}}
		for n := 1; ctx.Err() == nil; n++ {
			l.process(t, ctx, fake.Client(), horseracing.FollowQuery{Tiers: tiers, Since: since}, n%5)
		}
		all := map[horseracing.RaceID]time.Time{}
		byTier := map[string]int{}
		for race, err := range fake.Client().Races.Results(horseracing.ResultsQuery{Tiers: tiers}).All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all[race.MainRaceID] = race.StartTime.Time
			if l.handled[race.MainRaceID] > 0 {
				byTier[fmt.Sprint(race.Tier)]++
			}
		}
		l.check(t, since, time.Hour, all)
		if len(byTier) != 3 || len(l.handled) < 200 {
			t.Errorf("%d races, by tier %v: too few to prove anything", len(l.handled), byTier)
		}
	}, horseracingtest.WithSchedule(120), horseracingtest.WithHistory(100))
}
