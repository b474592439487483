package sending_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// The text of an argument that is refused names the operation with the id in its
// place, and the value.
func TestTextsOfInvalidArguments(t *testing.T) {
	var none context.Context // nil, as callers leave it by mistake
	noon := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	type client = *horseracing.Client
	horse := func(n horseracing.HorseNumber) func(client) error {
		return func(c client) error { _, err := c.Horses.Get(t.Context(), n); return err }
	}
	many := func(ctx context.Context, numbers ...horseracing.HorseNumber) func(client) error {
		return func(c client) error { _, err := c.Horses.GetMany(ctx, numbers); return err }
	}
	race := func(ctx context.Context, id horseracing.RaceID) func(client) error {
		return func(c client) error { _, err := c.Races.Get(ctx, id); return err }
	}
	register := func(horse horseracing.HorseNumber, race horseracing.RaceID, key horseracing.UserKey) func(client) error {
		return func(c client) error {
			_, err := c.Races.Register(t.Context(), horseracing.Registration{Horse: horse, Race: race, UserKey: key})
			return err
		}
	}
	settle := func(ctx context.Context, race horseracing.RaceID, horse horseracing.HorseNumber) func(client) error {
		return func(c client) error { _, err := c.Races.Settle(ctx, race, horse); return err }
	}
	tournament := func(id horseracing.TournamentID) func(client) error {
		return func(c client) error { _, err := c.Tournaments.Get(t.Context(), id); return err }
	}
	results := func(q horseracing.ResultsQuery) func(client) error {
		return func(c client) error { _, err := c.Races.Results(q).Take(t.Context(), 1); return err }
	}
	byOffset := func(q horseracing.OffsetQuery) func(client) error {
		return func(c client) error { _, err := c.Races.ResultsV1(q).Take(t.Context(), 1); return err }
	}
	follow := func(q horseracing.FollowQuery) func(client) error {
		return func(c client) error {
			var errs []error // one, after which it ends
			for _, err := range c.Races.Follow(q).All(t.Context()) {
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}
	}
	watch := func(q horseracing.WatchQuery) func(client) error {
		return func(c client) error {
			var errs []error // likewise
			for _, err := range c.Races.WatchOpen(t.Context(), q) {
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}
	}
	backwards := horseracing.CallRetry(horseracing.Retry{MinWait: 2, MaxWait: 1})
	for _, test := range []struct {
		call func(client) error
		want string
	}{
		{horse(-3), "GET /api/v1/horses/-3: invalid argument: horse number -3 is not positive"},
		{horse(0), "GET /api/v1/horses/0: invalid argument: horse number 0 is not positive"},
		{func(c client) error { _, err := c.Horses.Missions(t.Context(), -3); return err }, "GET /api/v1/horses/missions/-3: invalid argument: horse number -3 is not positive"},
		{many(t.Context(), 7, -3), "GET /api/v1/horses/-3: invalid argument: horse number -3 is not positive"},
		{many(none, 7), "GET /api/v1/horses/{horse_number}: invalid argument: the context is nil"}, // no one number is meant
		{race(t.Context(), -3), "GET /api/v1/races/-3: invalid argument: race id -3 is not positive"},
		{race(none, 99), "GET /api/v1/races/99: invalid argument: the context is nil"},
		{settle(t.Context(), -3, 7), "GET /api/v1/races/-3: invalid argument: race id -3 is not positive; the outcome is unknown: call Races.Settle again before registering again"},
		{settle(t.Context(), 99, -3), "GET /api/v1/races/99: invalid argument: horse number -3 is not positive; the outcome is unknown: call Races.Settle again before registering again"},
		{settle(none, 99, 7), "GET /api/v1/races/99: invalid argument: the context is nil; the outcome is unknown: call Races.Settle again before registering again"},
		{register(-3, 99, "key"), "POST /api/v1/races/register: invalid argument: horse number -3 is not positive"},
		{register(7, 0, "key"), "POST /api/v1/races/register: invalid argument: race id 0 is not positive"},
		{register(7, 99, ""), "POST /api/v1/races/register: invalid argument: the user key is empty"},
		{tournament(""), "GET /api/v1/tournaments/{tournamentId}: invalid argument: the tournament id is empty"},
		{tournament(".."), "GET /api/v1/tournaments/..: invalid argument: the tournament id is a dot segment, which would change the path"},
		{tournament("a\nb"), "GET /api/v1/tournaments/a%0Ab: invalid argument: the tournament id contains a control character"},
		{tournament(double.AppKey + "\n"), "GET /api/v1/tournaments/[redacted]%0A: invalid argument: the tournament id contains a control character"},
		{tournament(horseracing.TournamentID(strings.Repeat("a", 300)) + "\n"),
			"GET /api/v1/tournaments/" + strings.Repeat("a", 200) + " …: invalid argument: the tournament id contains a control character"},
		{results(horseracing.ResultsQuery{Tier: -1}), "GET /api/v2/races/results: invalid argument: tier -1 is negative"},
		{results(horseracing.ResultsQuery{Concurrency: 1001}), "GET /api/v2/races/results: invalid argument: a Concurrency of 1001 is not between 0 and 1000"},
		{results(horseracing.ResultsQuery{Patience: -time.Second}), "GET /api/v2/races/results: invalid argument: a Patience of -1s is negative"},
		{results(horseracing.ResultsQuery{Since: noon.Add(time.Second), Before: noon}),
			"GET /api/v2/races/results: invalid argument: the Since 2025-06-01T12:00:01Z is after the Before 2025-06-01T12:00:00Z"},
		{byOffset(horseracing.OffsetQuery{Offset: -1}), "GET /api/v1/races/results: invalid argument: an Offset of -1 is negative"},
		{follow(horseracing.FollowQuery{Interval: -time.Second}), "GET /api/v2/races/results: invalid argument: an Interval of -1s is negative"},
		{follow(horseracing.FollowQuery{Lookback: -time.Hour}), "GET /api/v2/races/results: invalid argument: a Lookback of -1h0m0s is negative"},
		{func(c client) error {
			for _, err := range c.Tournaments.Follow(horseracing.FollowQuery{Lookback: -1}).All(t.Context()) {
				return err
			}
			return nil
		}, "GET /api/v1/tournaments/results: invalid argument: a Lookback of -1ns is negative"},
		{func(c client) error {
			return c.Races.Watcher(horseracing.WatchQuery{Interval: -time.Second}).Run(t.Context())
		},
			"GET /api/v1/races/open: invalid argument: an Interval of -1s is negative"},
		{results(horseracing.ResultsQuery{Concurrency: -1}), "GET /api/v2/races/results: invalid argument: a Concurrency of -1 is not between 0 and 1000"},
		{func(c client) error {
			_, err := c.Races.Results(horseracing.ResultsQuery{}).Take(none, 5)
			return err
		}, "GET /api/v2/races/results: invalid argument: the context is nil"},
		{follow(horseracing.FollowQuery{Tier: -1}), "GET /api/v2/races/results: invalid argument: tier -1 is negative"},
		{watch(horseracing.WatchQuery{Interval: -time.Second}), "GET /api/v1/races/open: invalid argument: an Interval of -1s is negative"},
		{func(c client) error { _, err := c.Horses.Owned(t.Context(), ""); return err }, "GET /api/v1/horses/user: invalid argument: the user key is empty"},
		{func(c client) error {
			_, err := c.Horses.GetMany(t.Context(), numbers(1, 2), horseracing.CaptureResponse(new(horseracing.Response)))
			return err
		}, "GET /api/v1/horses/{horse_number}: invalid argument: CaptureResponse stores one response, and GetMany reads many"},
		{func(c client) error { _, err := c.Horses.GetMany(t.Context(), numbers(7, 7), backwards); return err }, "GET /api/v1/horses/7: invalid argument: CallRetry: MinWait 2ns is longer than MaxWait 1ns"},
		{func(c client) error { _, err := c.Races.Open(t.Context(), backwards); return err }, "GET /api/v1/races/open: invalid argument: CallRetry: MinWait 2ns is longer than MaxWait 1ns"},
		{func(c client) error {
			_, err := c.Races.Register(t.Context(), double.Entry, horseracing.CallRetry(horseracing.Retry{MaxWait: -1}))
			return err
		}, "POST /api/v1/races/register: invalid argument: CallRetry: a wait of {Max:0 MinWait:0s MaxWait:-1ns} is negative"},
		{func(c client) error {
			_, err := c.Races.Register(t.Context(), double.Entry, horseracing.AsBackground())
			return err
		}, "POST /api/v1/races/register: invalid argument: AsBackground is for reads"},
		{func(c client) error {
			return c.Do(t.Context(), http.MethodDelete, "/api/v1/x", nil, nil, horseracing.AsBackground())
		}, "DELETE /api/v1/x: invalid argument: AsBackground is for reads"},
	} {
		s := double.Play()
		err := test.call(s.Client(t))
		if !errors.Is(err, horseracing.ErrInvalidArgument) || err.Error() != test.want {
			t.Errorf("%v\nwant %s", err, test.want)
		}
		if n := len(s.Requests()); n != 0 {
			t.Errorf("%s: %d requests", test.want, n)
		}
	}
}

// An id may be the API key by mistake, one of digits too.
func TestAnInvalidIDThatIsTheKeyIsRedacted(t *testing.T) {
	const key = "4815162342"
	c, err := horseracing.NewClient(double.Service, key)
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	_, ofGet := c.Races.Get(none, 4815162342)
	_, ofSettle := c.Races.Settle(none, 4815162342, 7)
	_, ofSettleNoHorse := c.Races.Settle(t.Context(), 4815162342, -1)
	_, ofGetMany := c.Horses.GetMany(t.Context(), []horseracing.HorseNumber{7, -4815162342})
	_, ofRegister := c.Races.Register(t.Context(), horseracing.Registration{Race: -4815162342, Horse: 7, UserKey: double.UserKey})
	for _, err := range []error{ofGet, ofSettle, ofSettleNoHorse, ofGetMany, ofRegister} {
		if text := err.Error(); !errors.Is(err, horseracing.ErrInvalidArgument) || strings.Contains(text, key) {
			t.Errorf("%q", text)
		}
	}
}
