package horseracing_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// The listing has whole milliseconds: one that begins within a range belongs to
// it, one that began before the range does not.
func TestPagerRoundsBeforeAndSinceUpToTheMillisecond(t *testing.T) {
	const ms int64 = 1_700_000_000_000
	for fraction, up := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond - 1: 1, time.Millisecond: 1} {
		var sent []double.Sent
		c := double.Client(t, double.Noting(&sent, listing(`[{"main_race_id":2,"start_time":1699999999999},{"main_race_id":1,"start_time":1699999999998}]`)))
		bound := time.UnixMilli(ms).Add(fraction)
		double.Must(c.Races.Results(horseracing.ResultsQuery{Before: bound}).Take(t.Context(), 1))
		double.Equal(t, "request with Before "+bound.String(), fmt.Sprintf(`{"start_time_from":%d}`, ms+up), sent[0].Body)
		c = double.Client(t, listing(fmt.Sprintf(`[{"main_race_id":3,"start_time":%d},{"main_race_id":2,"start_time":%d},{"main_race_id":1,"start_time":%d}]`, ms+2, ms+1, ms)))
		races := double.Must(c.Races.Results(horseracing.ResultsQuery{Since: bound}).Take(t.Context(), 10))
		double.Equal(t, "races with Since "+bound.String(), 3-up, int64(len(races)))
	}
}

// A cache by URL responds with the tier of another query.
func TestPagerRefusesAResponseForAnotherTier(t *testing.T) {
	for _, test := range []struct {
		requested horseracing.TierID
		tier      string // of the entry: races have its name, tournaments its number
		want      string // in the error, or empty for none
	}{
		{3, `"Omega"`, "tier 3 was requested, and an entry is of tier 5"}, {3, `"Beta"`, ""}, {0, `"Beta"`, ""}, {0, `"Omega"`, ""},
		{3, "5", "tier 3 was requested, and an entry is of tier 5"}, {3, "3", ""}, {0, "5", ""},
		{5, "3", "tier 5 was requested, and an entry is of tier 3"},
		{0, "3", "an entry is of tier 3 instead of the default 5: name a tier"}, // or the service has no tier 5
	} {
		synctest.Test(t, func(t *testing.T) {
			c := double.Client(t, listing(fmt.Sprintf(`[{"main_race_id":1,"_id":"1","start_time":1700000000000,"tier":%s}]`, test.tier)))
			errs := []error{errorsOf(c.Tournaments.Results(horseracing.ResultsQuery{Tier: test.requested}).All(t.Context()))}
			if strings.HasPrefix(test.tier, `"`) {
				errs = []error{
					errorsOf(c.Races.Results(horseracing.ResultsQuery{Tier: test.requested}).All(t.Context())),
					errorsOf(c.Races.ResultsV1(horseracing.OffsetQuery{Tier: test.requested}).All(t.Context())),
				}
			}
			for i, err := range errs {
				name := fmt.Sprintf("tier %d, an entry of %s, listing %d: %v", test.requested, test.tier, i, err)
				double.Equal(t, name, test.want != "", errors.Is(err, horseracing.ErrBodyIgnored))
				double.Equal(t, name, true, strings.Contains(fmt.Sprint(err), cmp.Or(test.want, "nil")))
			}
		})
	}
}

// The names of most tiers are undocumented, and may be alike: a page that came for another tier is known by its entries.
func TestPagerRefusesThePageOfAnotherTierWhateverItsName(t *testing.T) {
	id := 0
	c := double.Client(t, func(req *http.Request) (*http.Response, error) {
		return double.Respond(200, fmt.Sprintf(`[{"main_race_id":%d,"start_time":1700000000000,"tier":"Gamma"}]`, id))(req)
	})
	for _, test := range []struct {
		requested horseracing.TierID
		id        int
		want      error
	}{{3, 1, nil}, {0, 1, horseracing.ErrBodyIgnored}, {0, 2, nil}, {5, 2, nil}, {3, 2, horseracing.ErrBodyIgnored}, {3, 3, nil}, {2, 4, nil}} {
		id = test.id
		_, err := c.Races.Results(horseracing.ResultsQuery{Tier: test.requested}).Take(t.Context(), 1)
		double.Error(t, fmt.Sprintf("%+v", test), test.want, "", err)
	}
}

// Saved anywhere, before the first entry too, a cursor alone reads what the first
// query would have read. Another Since of the query counts.
func TestPagerCursorCarriesTheWholeQuery(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(600))
	defer fake.Close()
	c, now := fake.Client(), fake.Now()
	long, short := now.Add(-40*time.Hour), now.Add(-10*time.Hour)
	read := func(p *horseracing.Pager[horseracing.Race], n int) (ids []horseracing.RaceID) {
		for _, race := range double.Must(p.Take(t.Context(), n)) {
			ids = append(ids, race.MainRaceID)
		}
		return ids
	}
	for name, query := range map[string]horseracing.ResultsQuery{
		"forty hours":       {Since: long},
		"between":           {Since: long, Before: short},
		"a tier":            {Since: long, Tier: 3},
		"fractions":         {Since: long.Add(time.Microsecond), Before: short.Add(time.Microsecond)},
		"several at a time": {Since: long, Concurrency: 4},
		"another Since":     {Since: short},
	} {
		whole, rest := query, horseracing.ResultsQuery{}
		if name == "another Since" {
			whole.Since, rest.Since = long, long
		}
		want := read(c.Races.Results(whole), math.MaxInt)
		double.FailIf(t, len(want) <= 20, "%s: %d races", name, len(want))
		for _, taken := range []int{20, 0, 1}[:double.Worlds(3, 3, 1)] {
			pager := c.Races.Results(query)
			got := read(pager, taken)
			rest.Resume = double.Must(horseracing.ParseCursor(pager.Cursor().String()))
			double.Equal(t, name+": no cursor", false, rest.Resume.IsZero())
			double.Equal(t, fmt.Sprintf("%s, resumed after %d", name, taken), want, append(got, read(c.Races.Results(rest), math.MaxInt)...))
		}
	}
}

func TestPagerClampsInstantsFarOutside(t *testing.T) {
	const page = `[{"main_race_id":2,"start_time":1700000000000},{"main_race_id":1,"start_time":1600000000000}]`
	past, future := time.Unix(math.MinInt64, 0), time.Unix(1<<62, 0)
	for name, test := range map[string]struct {
		query horseracing.ResultsQuery
		want  int
	}{
		"the whole of time":   {horseracing.ResultsQuery{Since: past, Before: future, Concurrency: 4}, 2},
		"since the far end":   {horseracing.ResultsQuery{Since: future}, 0},
		"before the far past": {horseracing.ResultsQuery{Before: past}, 0},
	} {
		c := double.Client(t, listing(page))
		races, err := c.Races.Results(test.query).Take(t.Context(), 10)
		double.Equal(t, fmt.Sprintf("%s: races, %v", name, err), test.want, len(races))
		double.FailIf(t, err != nil && !errors.Is(err, horseracing.ErrBodyIgnored), "%s: %v", name, err)
	}
}

// A program that saves the cursor whatever happened must not lose its place.
func TestTheCursorOfAnInvalidQueryIsItsResume(t *testing.T) {
	races := responding(t, "[]").Races
	saved := races.Results(horseracing.ResultsQuery{Tier: 3}).Cursor()
	pager, follower := races.Results(horseracing.ResultsQuery{Resume: saved, Concurrency: -1}), races.Follow(horseracing.FollowQuery{Resume: saved, Since: time.UnixMilli(1)})
	_, err := pager.Take(t.Context(), 5)
	double.Error(t, "pager", horseracing.ErrInvalidArgument, "", err)
	double.Error(t, "follower", horseracing.ErrInvalidArgument, "", errorsOf(follower.All(t.Context())))
	double.Equal(t, "cursors", []horseracing.Cursor{saved, saved}, []horseracing.Cursor{pager.Cursor(), follower.Cursor()})
}

// listing responds with pages of the entries of a JSON array.
func listing(entries string) httpmock.Responder {
	var all []json.RawMessage
	var starts []struct {
		Start int64 `json:"start_time"`
	}
	if err := errors.Join(json.Unmarshal([]byte(entries), &all), json.Unmarshal([]byte(entries), &starts)); err != nil {
		return httpmock.NewErrorResponder(err)
	}
	return double.Pages(len(all), func(i int) int64 { return starts[i].Start }, func(i int) string { return string(all[i]) })
}

// A service may choose ids of any length.
func TestPagerCursorCanAlwaysBeParsed(t *testing.T) {
	page := make([]string, 10)
	for i := range page {
		page[i] = fmt.Sprintf(`{"_id":"%d%s","start_time":1748779200000}`, i, strings.Repeat("x", 60_000))
	}
	p := double.Client(t, listing(double.List(page...))).Tournaments.Results(horseracing.ResultsQuery{})
	for i := range 10 {
		got, _ := p.Take(t.Context(), 1)
		double.Equal(t, fmt.Sprint("taken at ", i), 1, len(got))
		cursor := double.Must(horseracing.ParseCursor(p.Cursor().String()))
		double.Equal(t, "the parsed cursor", p.Cursor(), cursor)
		rest := double.Client(t, listing(double.List(page...))).Tournaments.Results(horseracing.ResultsQuery{Resume: cursor})
		got, _ = rest.Take(t.Context(), 20)
		double.Equal(t, fmt.Sprint("entries after ", i), 9-i, len(got))
	}
}
