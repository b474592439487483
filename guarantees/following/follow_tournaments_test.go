package following_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// Races and tournaments have one follower. What differs is tested here: ids that are
// texts, the listing, its cursor, and Lookback. The rest is tested briefly.

const cupsPath = "/api/v1/tournaments/results"

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

func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// The fake's own tournaments, which take six hours, followed by processes that are killed
// after each: what the listing has in the end came once, oldest first.
func TestATournamentIsYieldedOnceAcrossRestarts(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		tiers, since := []horseracing.TierID{1, 2, 3, 4, 5}, time.Now()
		query := horseracing.FollowQuery{Tiers: tiers, Since: since, Interval: 10 * time.Minute}
		var c cups
		for n := 1; n <= 12; n++ {
			c.run(within(t, 10*24*time.Hour), t, fake.Client(), query, n)
		}
		var want []string
		for tournament, err := range fake.Client().Tournaments.Results(horseracing.ResultsQuery{Tiers: tiers, Since: since}).All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			want = append([]string{string(tournament.ID)}, want...)
		}
		if diff := gocmp.Diff(want, c.ids); diff != "" || len(c.errors) > 0 || len(want) != 12 {
			t.Errorf("errors %v, tournaments (-want +got):\n%s", c.errors, diff)
		}
	}, horseracingtest.WithHistory(0))
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
		c.run(within(t, time.Hour), t, fake.Client(), query, 0)
		got := map[string]int{}
		for _, id := range c.ids {
			got[id]++
		}
		if diff := gocmp.Diff(want, got); diff != "" || len(c.errors) > 0 || len(want) != len(ids) || c.longest > 1000 {
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
		c.run(within(t, time.Hour), t, fake.Client(), query, 0)
		if diff := gocmp.Diff([]string{"new", "late"}, c.ids); diff != "" || len(c.errors) > 0 {
			t.Errorf("errors %v, tournaments (-want +got):\n%s", c.errors, diff)
		}
		if n := fake.RequestCount(); n < 120 || n > 140 {
			t.Errorf("%d requests in an hour", n)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowOfTournamentsFromNowOnYieldsNothingOld(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range 30 {
			fake.AddTournaments(cup(fmt.Sprint("old.", i), -time.Duration(i+1)*time.Hour))
		}
		go func() {
			time.Sleep(5 * time.Minute)
			fake.AddTournaments(cup("new.1", -6*time.Hour))
		}()
		var c cups
		c.run(within(t, time.Hour), t, fake.Client(), horseracing.FollowQuery{}, 0)
		if diff := gocmp.Diff([]string{"new.1"}, c.ids); diff != "" || len(c.errors) > 0 {
			t.Errorf("errors %v, tournaments (-want +got):\n%s", c.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// A page that fails alone is skipped with a gap of its listing; what else there is comes
// once. Repaired, the rest comes too.
func TestAGapOfTournamentsNamesTheirListing(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		for i := range 40 {
			fake.AddTournaments(cup(fmt.Sprintf("cup.%02d", i), -time.Duration(i+1)*30*time.Minute))
		}
		d, client := damaged(fake, func(body []byte) []byte {
			if i := strings.Index(string(body), `"_id":"cup.20"`); i >= 0 {
				return body[:i]
			}
			return body
		})
		query := horseracing.FollowQuery{Since: time.Now().AddDate(0, 0, -1)}
		var c cups
		c.run(within(t, 30*time.Minute), t, client, query, 0)
		gap, ok := errors.AsType[*horseracing.GapError](errors.Join(c.errors...))
		if !ok || len(c.errors) != 1 || !errors.Is(c.errors[0], horseracing.ErrSkipped) || !strings.HasPrefix(gap.Error(), "GET "+cupsPath+": ") || strings.Contains(gap.Error(), "race") {
			t.Fatalf("errors %v", c.errors)
		}
		broken := time.Now().Add(-30*time.Minute - 21*30*time.Minute) // it ran for half an hour
		if broken.Before(gap.From.Time) || !broken.Before(gap.To.Time) || len(c.ids) >= 40 || len(c.ids) < 20 {
			t.Errorf("%d came; the gap from %v to %v does not hold %v", len(c.ids), gap.From, gap.To, broken)
		}
		d.repair()
		c.run(within(t, 10*time.Minute), t, client, query, 0)
		got := map[string]int{}
		for _, id := range c.ids {
			got[id]++
		}
		if len(got) != 40 || len(c.ids) != 40 || len(c.errors) != 1 {
			t.Errorf("%d of 40 came, %d of them once, errors %v", len(got), len(c.ids), c.errors)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestAnUnreadableTournamentIsReportedOnce(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddTournaments(cup("a.1", -3*time.Hour), cup("a.2", -2*time.Hour), cup("a.3", -time.Hour))
		unreadable := func(id string) func([]byte) []byte {
			return func(body []byte) []byte {
				return []byte(strings.ReplaceAll(string(body), `"_id":"`+id+`","name":""`, `"_id":"`+id+`","name":"","name":""`))
			}
		}
		d, client := damaged(fake, unreadable("a.2"))
		query := horseracing.FollowQuery{Since: time.Now().AddDate(0, 0, -1)}
		var c cups
		for range 10 {
			c.run(within(t, 10*time.Minute), t, client, query, 0)
		}
		if len(c.errors) != 1 || d.struck == 0 || !strings.Contains(c.errors[0].Error(), "a.2") {
			t.Errorf("errors %v", c.errors)
		}
		d.repair()
		c.run(within(t, 10*time.Minute), t, client, query, 0)
		d.change = unreadable("a.3") // after it was yielded
		c.run(within(t, 10*time.Minute), t, client, query, 0)
		if diff := gocmp.Diff([]string{"a.1", "a.3", "a.2"}, c.ids); diff != "" || len(c.errors) != 1 {
			t.Errorf("errors %v, tournaments (-want +got):\n%s", c.errors, diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestAnOutageCostsNoTournament(t *testing.T) {
	t.Parallel()
	outages := 4
	switch {
	case os.Getenv("HORSERACING_DEEP") != "":
		outages = 60
	case testing.Short():
		outages = 1
	}
	for seed := range uint64(outages) {
		double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
			random := rand.New(&sharedSource{source: rand.NewPCG(seed, 3)})
			passes, begun := []float64{0, 0.02, 0.05, 0.1}[seed%4], time.Now()
			fake.Handle("GET "+cupsPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				if since := time.Since(begun); since < 6*time.Hour || since > 36*time.Hour || random.Float64() < passes {
					return horseracingtest.Response{}, false
				}
				return horseracingtest.Response{Status: []int{500, 502, 503}[random.IntN(3)], Body: "<html>down</html>"}, true
			})
			ctx := within(t, 48*time.Hour)
			last := 0
			var added sync.WaitGroup
			added.Go(func() {
				for ctx.Err() == nil {
					last++
					fake.AddTournaments(cup(fmt.Sprint("cup_", last), -time.Duration(1+random.IntN(6))*time.Hour))
					time.Sleep(20 * time.Minute)
				}
			})
			var c cups
			c.run(ctx, t, fake.Client(), horseracing.FollowQuery{Since: begun.Add(-time.Hour * 8), Interval: 5 * time.Minute}, 0)
			added.Wait()
			got := map[string]int{}
			for _, id := range c.ids {
				got[id]++
			}
			for i := 1; i < last-2; i++ {
				if n := got[fmt.Sprint("cup_", i)]; n != 1 {
					t.Errorf("seed %d: tournament %d of %d came %d times", seed, i, last, n)
				}
			}
			for _, err := range c.errors {
				if errors.Is(err, horseracing.ErrSkipped) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	}
}

func TestCatchUpOfTournamentsYieldsWhatIsNewAndEnds(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		f := fake.Client().Tournaments.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1)})
		var ids []string
		read := func() {
			t.Helper()
			began := time.Now()
			for tournament, err := range f.CatchUp(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, string(tournament.ID))
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("it ends after %v", took)
			}
		}
		for i := range 45 {
			fake.AddTournaments(cup(fmt.Sprintf("%02d", i), -time.Duration(45-i)*7*24*time.Hour))
		}
		read()
		read()
		fake.AddTournaments(cup("45", -time.Hour))
		read()
		var want []string
		for i := range 46 {
			want = append(want, fmt.Sprintf("%02d", i))
		}
		if diff := gocmp.Diff(want, ids); diff != "" {
			t.Error(diff)
		}
		fake.Inject(horseracingtest.Fault{Path: cupsPath, Status: http.StatusOK, Body: "[]", Times: -1})
		for tournament, err := range f.CatchUp(t.Context()) {
			if tournament != nil || err == nil || !strings.Contains(err.Error(), "GET "+cupsPath+": the listing is empty") {
				t.Errorf("tournament %v, error %v", tournament, err)
			}
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// A cursor says which listing it is of.
func TestAFollowerOfTournamentsRefusesACursorOfSomethingElse(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	c := fake.Client()
	now := horseracing.FollowQuery{Since: time.Now()}
	for name, cursor := range map[string]horseracing.Cursor{
		"of races": c.Races.Follow(now).Cursor(), "a pager's": c.Tournaments.Results(horseracing.ResultsQuery{}).Cursor(),
	} {
		n := 0
		for tournament, err := range c.Tournaments.Follow(horseracing.FollowQuery{Resume: cursor}).CatchUp(t.Context()) {
			if n++; tournament != nil || !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), "GET "+cupsPath) {
				t.Errorf("%s: tournament %v, error %v", name, tournament, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d yields", name, n)
		}
	}
	for _, err := range c.Races.Follow(horseracing.FollowQuery{Resume: c.Tournaments.Follow(now).Cursor()}).CatchUp(t.Context()) {
		if !errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Errorf("races are followed from a cursor of tournaments: %v", err)
		}
	}
}
