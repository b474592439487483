package horseracing_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// The listing has whole milliseconds: one that begins within a range belongs to
// it, one that began before the range does not.
func TestPagerRoundsBeforeAndSinceUpToTheMillisecond(t *testing.T) {
	const ms int64 = 1_700_000_000_000
	for fraction, up := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond - 1: 1, time.Millisecond: 1} {
		s := double.Play(double.Listing(`[{"main_race_id":2,"start_time":1699999999999},{"main_race_id":1,"start_time":1699999999998}]`))
		bound := time.UnixMilli(ms).Add(fraction)
		if _, err := s.Client(t).Races.Results(horseracing.ResultsQuery{Before: bound}).Take(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if want := fmt.Sprintf(`{"start_time_from":%d}`, ms+up); s.Requests()[0].Body != want {
			t.Errorf("Before %v: requested %s, want %s", bound, s.Requests()[0].Body, want)
		}
		s = double.Play(double.Listing(fmt.Sprintf(`[{"main_race_id":3,"start_time":%d},{"main_race_id":2,"start_time":%d},{"main_race_id":1,"start_time":%d}]`, ms+2, ms+1, ms)))
		races, err := s.Client(t).Races.Results(horseracing.ResultsQuery{Since: bound}).Take(t.Context(), 10)
		if err != nil || int64(len(races)) != 3-up {
			t.Errorf("Since %v: %d races, %v", bound, len(races), err)
		}
	}
}

// A response for the default tier is noticed at once.
func TestPagerRefusesAResponseForAnotherTier(t *testing.T) {
	page := func(from int, tiers ...string) string {
		var entries []string
		for i, tier := range tiers {
			entries = append(entries, fmt.Sprintf(`{"main_race_id":%d,"_id":"%[1]d","start_time":%d,"tier":%s}`, from+i, 1_700_000_000_000-int64(from+i), tier))
		}
		return strings.Join(entries, ",")
	}
	q, offset := horseracing.ResultsQuery{Tier: 3}, horseracing.OffsetQuery{Tier: 3}
	for name, test := range map[string]struct {
		omega, other string
		take         func(*horseracing.Client) error
	}{
		"races": {`"Omega"`, `"Beta"`, func(c *horseracing.Client) error { _, err := c.Races.Results(q).Take(t.Context(), 9); return err }},
		"races by offset": {`"Omega"`, `"Beta"`, func(c *horseracing.Client) error {
			_, err := c.Races.ResultsV1(offset).Take(t.Context(), 9)
			return err
		}},
		"tournaments": {`5`, `3`, func(c *horseracing.Client) error {
			_, err := c.Tournaments.Results(q).Take(t.Context(), 9)
			return err
		}},
	} {
		other, omega := page(1, test.other, test.other), page(3, test.omega, test.omega)
		for what, listing := range map[string]string{"Omega": omega, "another name": other} {
			ignored := what == "Omega"
			s := double.Play(double.Listing("[" + listing + "]"))
			if err := test.take(s.Client(t)); errors.Is(err, horseracing.ErrBodyIgnored) != ignored || !ignored && err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
}

// walkedIDs walks to the end and returns the ids of the races.
func walkedIDs(t *testing.T, c *horseracing.Client, q horseracing.ResultsQuery) (ids []horseracing.RaceID) {
	t.Helper()
	for race, err := range c.Races.Results(q).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, race.MainRaceID)
	}
	return ids
}

// Saved anywhere, before the first entry too, a cursor alone reads what the first
// query would have read.
func TestPagerCursorCarriesTheWholeQuery(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(3_000), horseracingtest.WithTies(3))
	defer fake.Close()
	c, now := fake.Client(), fake.Now()
	month, week := now.AddDate(0, 0, -30), now.AddDate(0, 0, -7)
	for name, q := range map[string]horseracing.ResultsQuery{
		"a month":           {Since: month},
		"between":           {Since: month, Before: week},
		"a tier":            {Since: month, Tier: 3},
		"fractions":         {Since: month.Add(time.Microsecond), Before: week.Add(time.Microsecond)},
		"several at a time": {Since: month, Concurrency: 4},
	} {
		want := walkedIDs(t, c, q)
		for _, taken := range []int{0, 1, 20, len(want)} {
			pager := c.Races.Results(q)
			races, err := pager.Take(t.Context(), taken)
			if err != nil {
				t.Fatal(err)
			}
			var got []horseracing.RaceID
			for _, race := range races {
				got = append(got, race.MainRaceID)
			}
			cursor, err := horseracing.ParseCursor(pager.Cursor().String())
			if err != nil || cursor.IsZero() {
				t.Fatalf("%s, after %d: cursor %q, %v", name, taken, cursor, err)
			}
			got = append(got, walkedIDs(t, c, horseracing.ResultsQuery{Resume: cursor})...)
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s, resumed after %d: %d races, want %d", name, taken, len(got), len(want))
			}
		}
	}
	pager := c.Races.Results(horseracing.ResultsQuery{Since: month})
	if _, err := pager.Take(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	longer := walkedIDs(t, c, horseracing.ResultsQuery{Resume: pager.Cursor(), Since: month.AddDate(0, 0, -30)})
	if all := walkedIDs(t, c, horseracing.ResultsQuery{Since: month.AddDate(0, 0, -30)}); len(longer) != len(all)-20 {
		t.Errorf("with another Since: %d races, want %d", len(longer), len(all)-20)
	}
}

func TestPagerCursorKeepsTheTier(t *testing.T) {
	client := func() (*double.Script, *horseracing.RacesService) {
		s := double.Play(double.Respond(200, "[]"))
		return s, s.Client(t).Races
	}
	_, races := client()
	for want, q := range map[string]horseracing.ResultsQuery{
		`{}`:         {},
		`{"tier":5}`: {Resume: races.Results(horseracing.ResultsQuery{}).Cursor(), Tier: horseracing.TierOmega},
		`{"tier":3}`: {Resume: races.Results(horseracing.ResultsQuery{Tier: 3}).Cursor()},
	} {
		s, races := client()
		if _, err := races.Results(q).Take(t.Context(), 1); err != nil || s.Requests()[0].Body != want {
			t.Errorf("requested %s, want %s, %v", s.Requests()[0].Body, want, err)
		}
	}
	s, races := client()
	byOffset := races.ResultsV1(horseracing.OffsetQuery{Tier: 3, Offset: 40}).Cursor()
	if _, err := races.ResultsV1(horseracing.OffsetQuery{Resume: byOffset}).Take(t.Context(), 1); err != nil || s.Requests()[0].Body != `{"tier":3,"offset":40}` {
		t.Errorf("by offset: requested %s, %v", s.Requests()[0].Body, err)
	}
}

func TestPagerClampsInstantsFarOutside(t *testing.T) {
	const page = `[{"main_race_id":2,"start_time":1700000000000},{"main_race_id":1,"start_time":1600000000000}]`
	past, future := time.Unix(math.MinInt64, 0), time.Unix(1<<62, 0)
	for name, test := range map[string]struct {
		query horseracing.ResultsQuery
		want  int
	}{
		"since long ago":      {horseracing.ResultsQuery{Since: past}, 2},
		"before the far end":  {horseracing.ResultsQuery{Before: future}, 2},
		"the whole of time":   {horseracing.ResultsQuery{Since: past, Before: future, Concurrency: 4}, 2},
		"since the far end":   {horseracing.ResultsQuery{Since: future}, 0},
		"before the far past": {horseracing.ResultsQuery{Before: past}, 0},
	} {
		races, err := double.Play(double.Listing(page)).Client(t).Races.Results(test.query).Take(t.Context(), 10)
		if err != nil && !errors.Is(err, horseracing.ErrBodyIgnored) || len(races) != test.want {
			t.Errorf("%s: %d races, want %d, %v", name, len(races), test.want, err)
		}
	}
}

// A program that saves the cursor whatever happened must not lose its place.
func TestTheCursorOfAnInvalidQueryIsItsResume(t *testing.T) {
	races := double.Play(double.Respond(200, "[]")).Client(t).Races
	saved := races.Results(horseracing.ResultsQuery{Tier: 3}).Cursor()
	pager, follower := races.Results(horseracing.ResultsQuery{Resume: saved, Concurrency: -1}), races.Follow(horseracing.FollowQuery{Resume: saved, Since: time.UnixMilli(1)})
	_, err := pager.Take(t.Context(), 5)
	if err == nil || !pager.Cursor().Equal(saved) {
		t.Errorf("%v, and the cursor %q instead of %q", err, pager.Cursor(), saved)
	}
	if err := errorsOf(follower.All(t.Context())); err == nil || !follower.Cursor().Equal(saved) {
		t.Errorf("%v, and the cursor %q instead of %q", err, follower.Cursor(), saved)
	}
}
