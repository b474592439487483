package horseracing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tiers is a service with a listing for each tier.
type tiers map[TierID]*world

func (s tiers) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, _ := io.ReadAll(req.Body)
	var q struct{ Tier TierID }
	if err := json.Unmarshal(sent, &q); err != nil {
		return nil, err
	}
	if q.Tier == 0 {
		q.Tier = TierOmega
	}
	req.Body = io.NopCloser(bytes.NewReader(sent))
	return s[q.Tier].RoundTrip(req)
}

func (s tiers) client(t failer) *Client {
	t.Helper()
	return (&world{}).client(t, WithHTTPClient(&http.Client{Transport: s}))
}

func drawTiers(t *rapid.T) (s tiers, ids []TierID) {
	s = tiers{}
	for range rapid.IntRange(1, 4).Draw(t, "tiers") {
		id := TierID(rapid.IntRange(1, 9).Draw(t, "tier"))
		w := drawWorld(t)
		for i := range w.ids { // an id names its tier
			w.ids[i] += int64(id) * 1_000_000
		}
		w.foreign = id != TierOmega
		s[id] = w
		ids = append(ids, id) // also twice, and in any order
	}
	return s, ids
}

func TestSeveralTiersAreOneListing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, ids := drawTiers(t)
		for _, w := range s {
			w.before = failSome(t)
		}
		q := ResultsQuery{Tiers: ids}
		var got, want []int64
		for _, w := range s {
			want = append(want, w.ids...)
		}
		last := int64(math.MaxInt64)
		for range 10_000 {
			q.Concurrency = rapid.IntRange(1, 16).Draw(t, "concurrency")
			p := s.client(t).Races.Results(q)
			stop := rapid.IntRange(1, 80).Draw(t, "stop after")
			finished := true
			for r, err := range p.All(context.Background()) {
				if err != nil && !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				if finished = err == nil; !finished {
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
			if finished {
				sameEntries(t, got, want)
				return
			}
			c, err := ParseCursor(p.Cursor().String())
			if err != nil {
				t.Fatal(err)
			}
			q.Resume = c
			slices.Reverse(q.Tiers)
		}
		t.Fatal("the walk does not end")
	})
}

func TestOneTierInTiersIsThatTier(t *testing.T) {
	s := tiers{TierOmega: dense(50, 60_000), 3: dense(50, 60_000)}
	s[3].foreign = true
	c := s.client(t)
	queries := map[TierID][]ResultsQuery{
		TierOmega: {{}, {Tier: TierOmega}, {Tiers: []TierID{TierOmega}}, {Tiers: []TierID{TierOmega, TierOmega}}},
		3:         {{Tier: 3}, {Tiers: []TierID{3}}, {Tiers: []TierID{3, 3}}},
	}
	for tier, same := range queries {
		for _, q := range same {
			p := c.Races.Results(q)
			if _, err := p.Take(t.Context(), 20); err != nil {
				t.Fatal(err)
			}
			for _, other := range same {
				other.Resume = p.Cursor()
				if rest, err := c.Races.Results(other).Take(t.Context(), 100); err != nil || len(rest) != 30 {
					t.Errorf("tier %d: %d of 30 entries by the cursor of another spelling, %v", tier, len(rest), err)
				}
			}
		}
	}
}

func TestTiersThatMakeNoSenseAreRefusedBeforeAnyRequest(t *testing.T) {
	s := tiers{TierOmega: dense(50, 60_000), 3: dense(50, 60_000)}
	s[3].foreign = true
	c := s.client(t)
	both := c.Races.Results(ResultsQuery{Tiers: []TierID{3, TierOmega}})
	if _, err := both.Take(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	one := c.Races.Results(ResultsQuery{})
	if _, err := one.Take(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]ResultsQuery{
		"with Tier":  {Tier: 3, Tiers: []TierID{3}},
		"negative":   {Tiers: []TierID{3, -1}},
		"zero":       {Tiers: []TierID{3, 0}},
		"zero alone": {Tiers: []TierID{0}},
		"too many": {Tiers: slices.Collect(func(yield func(TierID) bool) {
			for id := TierID(1); yield(id) && id <= maxTiers; id++ {
			}
		})},
		"the cursor of one":    {Tiers: []TierID{3, TierOmega}, Resume: one.Cursor()},
		"the cursor of both":   {Resume: both.Cursor()},
		"the cursor of others": {Tiers: []TierID{3, 4}, Resume: both.Cursor()},
	} {
		before := s[3].requests + s[TierOmega].requests
		if _, err := c.Races.Results(q).Take(t.Context(), 5); !errors.Is(err, ErrInvalidArgument) || s[3].requests+s[TierOmega].requests != before {
			t.Errorf("%s: %v", name, err)
		}
	}
}
