package following_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// Races and tournaments have one follower. What differs is tested here: ids that are
// texts, the listing, its cursor, and Lookback.

// cup makes up a finished tournament that starts at a distance from now.
func cup(id string, start time.Duration) horseracing.Tournament {
	return horseracing.Tournament{ID: horseracing.TournamentID(id), StartTime: horseracing.NewTimestamp(time.Now().Add(start)), Status: 2}
}

// cups is what followers of tournaments yielded, one after the other.
type cups struct {
	ids     []string
	errors  []error
	cursor  horseracing.Cursor
	longest int // text of a cursor
}

// run is a process that is killed after n tournaments: the cursor is stored with each.
func (c *cups) run(ctx context.Context, t *testing.T, client *horseracing.Client, q horseracing.FollowQuery, n int) {
	t.Helper()
	var err error
	if q.Resume, err = horseracing.ParseCursor(c.cursor.String()); err != nil {
		t.Fatal(err)
	}
	f := client.Tournaments.Follow(q)
	for tournament, err := range f.All(ctx) {
		if errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Fatal(err)
		}
		c.cursor = f.Cursor()
		c.longest = max(c.longest, len(c.cursor.String()))
		if err != nil {
			c.errors = append(c.errors, err)
			continue
		}
		if c.ids = append(c.ids, string(tournament.ID)); len(c.ids) == n {
			return
		}
	}
	c.cursor = f.Cursor()
}

// An id is a text. Whatever it is, the cursor remembers it, through restarts.
func TestTournamentsWithAnyIDAreYieldedOnce(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ids := []string{"a.b", "a_b", "a_1", "!a", "?a", "#a", "a", "A", "é", " ", "-", "64aa10f2c3d4e5f601234567", strings.Repeat("x", 5000), strings.Repeat("x", 5001), "\xff", "a\nb"}
		want := map[string]int{}
		for i, id := range ids {
			fake.AddTournaments(cup(id, -time.Duration(i+1)*time.Minute))
		}
		for tournament := range fake.Client().Tournaments.Results(horseracing.ResultsQuery{}).All(t.Context()) {
			want[string(tournament.ID)] = 1 // as JSON carries it
		}
		query := horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}
		var c cups
		for n := range len(ids) {
			c.run(double.ADay(t), t, fake.Client(), query, n+1)
		}
		c.run(double.Within(t, time.Hour), t, fake.Client(), query, 0)
		got := map[string]int{}
		for _, id := range c.ids {
			got[id]++
		}
		if diff := cmp.Diff(want, got); diff != "" || len(c.errors) > 0 || len(want) != len(ids) || c.longest > 1000 {
			t.Errorf("a cursor of %d bytes, errors %v, tournaments (-want +got):\n%s", c.longest, c.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// Tournaments take longer than races: one that finishes late is found a day after its start.
func TestByDefaultFollowLooksBackADayForTournaments(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddTournaments(cup("new", -10*time.Minute))
		query := horseracing.FollowQuery{Since: time.Now().AddDate(0, 0, -3)}
		var c cups
		c.run(double.ADay(t), t, fake.Client(), query, 1)
		fake.AddTournaments(cup("late", -24*time.Hour), cup("too late", -25*time.Hour))
		fake.ResetLog()
		c.run(double.Within(t, time.Hour), t, fake.Client(), query, 0)
		if diff := cmp.Diff([]string{"new", "late"}, c.ids); diff != "" || len(c.errors) > 0 {
			t.Errorf("errors %v, tournaments (-want +got):\n%s", c.errors, diff)
		}
		if n := fake.RequestCount(); n < 120 || n > 140 {
			t.Errorf("%d requests in an hour", n)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
