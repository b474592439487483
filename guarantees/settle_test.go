package guarantees_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// open adds race 11, whose registration is open until a time from now on.
func open(fake *horseracingtest.Server, deadline time.Duration) {
	at := time.Now().Add(deadline)
	fake.AddRaces(horseracing.Race{
		MainRaceID: 11, StartTime: horseracing.NewTimestamp(at.Add(5 * time.Minute)),
		RegistrationDeadline: horseracing.NewTimestamp(at), Places: 12, MaxLevel: 1000,
	})
}

// lose registers the user's first horse for race 11, and loses the response.
func lose(t *testing.T, fake *horseracingtest.Server, fault horseracingtest.Fault) horseracing.HorseNumber {
	t.Helper()
	fault.Method = http.MethodPost
	fake.Inject(fault)
	horse := fake.Horses(0)[0]
	_, err := fake.Client().Races.Register(t.Context(), horseracing.Registration{Horse: horse, Race: 11, UserKey: fake.UserKey(0)})
	if !errors.Is(err, horseracing.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "Races.Settle") {
		t.Fatalf("registering: %v", err)
	}
	return horse
}

func TestSettleFindsARegistrationThatTookEffect(t *testing.T) {
	for name, fault := range map[string]horseracingtest.Fault{
		"at once":                        {ResetAfter: true},
		"after the client has timed out": {TakesEffectAfter: 90 * time.Second},
		"just before the deadline":       {TakesEffectAfter: time.Hour - time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
				open(fake, time.Hour)
				horse := lose(t, fake, fault)
				started := time.Now()
				in, err := fake.Client().Races.Settle(t.Context(), 11, horse)
				if took := time.Since(started); !in || err != nil || took < fault.TakesEffectAfter || took > fault.TakesEffectAfter+80*time.Second {
					t.Errorf("%t, %v after %v", in, err, took)
				}
			}, horseracingtest.WithSchedule(0))
		})
	}
}

// What comes too late is refused, and only then a second registration is safe.
func TestSettleIsFalseFromAMinuteBehindTheDeadlineOn(t *testing.T) {
	for name, fault := range map[string]horseracingtest.Fault{
		"never arrived":  {ResetBefore: true},
		"arrives behind": {TakesEffectAfter: 10*time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
				open(fake, 10*time.Minute)
				horse := lose(t, fake, fault)
				started := time.Now()
				fake.ResetLog()
				in, err := fake.Client().Races.Settle(t.Context(), 11, horse)
				if took := time.Since(started); in || err != nil || took < 11*time.Minute || took > 11*time.Minute+5*time.Second {
					t.Errorf("%t, %v after %v", in, err, took)
				}
				if n := fake.RequestCount(); n < 10 || n > 20 {
					t.Errorf("%d requests", n)
				}
			}, horseracingtest.WithSchedule(0))
		})
	}
}

func TestSettleReadsAtGrowingIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		s := play(respond(200, `[{"main_race_id":11,"participants":[]}]`))
		_, err := s.client(t).Races.Settle(ctx, 11, 7)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Errorf("without a deadline in the race: %v", err)
		}
		least := time.Second
		for i, wait := range s.waits() {
			if wait < least || wait > least+least/4 {
				t.Errorf("interval %d is %v, want %v", i, wait, least)
			}
			least = min(2*least, time.Minute)
		}
		if n := len(s.requests()); n < 12 || n > 16 {
			t.Errorf("%d requests in ten minutes", n)
		}
	})
}

// The service's clock decides, not this computer's.
func TestSettleReadsTheTimeFromTheDateHeader(t *testing.T) {
	race := func(now time.Time) string {
		return fmt.Sprintf(`[{"main_race_id":11,"registration_deadline":%d,"participants":[]}]`, now.UnixMilli())
	}
	date := func(at time.Time) string { return "Date: " + at.UTC().Format(http.TimeFormat) }
	for name, test := range map[string]struct {
		deadline time.Duration // from now on, by this computer's clock
		dates    []string      // of the responses
		readings int
	}{
		"behind the deadline, though our clock is early":  {time.Hour, []string{date(time.Unix(946684800, 0).Add(time.Hour + 62*time.Second))}, 1},
		"before the deadline, though our clock is late":   {-time.Hour, []string{date(time.Unix(946684800, 0).Add(-time.Hour)), date(time.Unix(946684800, 0))}, 2},
		"a minute behind is not more than a minute":       {-time.Minute, []string{date(time.Unix(946684800, 0)), date(time.Unix(946684801, 0))}, 2},
		"no header, and our clock is behind the deadline": {-61 * time.Second, []string{"X-Other: 1"}, 1},
		"no header, and our clock is before the deadline": {-59 * time.Second, []string{"X-Other: 1"}, 2},
		"a header that is no date":                        {-59 * time.Second, []string{"Date: today"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var steps []step
				for _, d := range test.dates {
					steps = append(steps, respond(200, race(time.Now().Add(test.deadline)), d))
				}
				s := play(steps...)
				in, err := s.client(t).Races.Settle(t.Context(), 11, 7)
				if n := len(s.requests()); in || err != nil || n != test.readings {
					t.Errorf("%t, %v after %d readings, want %d", in, err, n, test.readings)
				}
			})
		})
	}
}

func TestEveryErrorOfSettleIsAnUnknownOutcome(t *testing.T) {
	without := respond(200, `[{"main_race_id":11,"registration_deadline":4102444800000,"participants":[]}]`)
	for name, test := range map[string]struct {
		steps    []step
		is       error
		within   time.Duration
		requests int // zero: many
	}{
		"a race that is gone":             {[]step{without, respond(200, `[]`)}, horseracing.ErrNotFound, 2 * time.Second, 2},
		"a race that is gone, by status":  {[]step{respond(404, ``)}, horseracing.ErrNotFound, 0, 1},
		"a refused key":                   {[]step{respond(401, ``)}, horseracing.ErrUnauthorized, 0, 1},
		"another race":                    {[]step{respond(200, `[{"main_race_id":12,"participants":[{"number":7}]}]`)}, nil, 30 * time.Second, 5},
		"no participants":                 {[]step{respond(200, `[{"main_race_id":11}]`)}, nil, 30 * time.Second, 5},
		"an error object":                 {[]step{respond(200, `{"error":"asleep"}`)}, nil, 30 * time.Second, 5},
		"an outage to the end":            {[]step{respond(503, ``)}, context.DeadlineExceeded, time.Hour, 0},
		"a broken connection to the end":  {[]step{broken(errReset)}, context.DeadlineExceeded, time.Hour, 0},
		"a race that is open to the end":  {[]step{without}, context.DeadlineExceeded, time.Hour, 0},
		"a Retry-After beyond the end":    {[]step{respond(429, ``, "Retry-After: 7200")}, horseracing.ErrRateLimited, time.Hour, 1},
		"garbled and readable by turns":   {[]step{respond(200, `[`), without, respond(200, `[`), respond(200, `[`), respond(200, `[`), respond(200, `[`), without}, context.DeadlineExceeded, time.Hour, 0},
		"a response that is far too long": {[]step{respond(200, `[`+strings.Repeat(" ", 5000)+`]`)}, horseracing.ErrResponseTooLarge, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Minute)
				defer cancel()
				s, started := play(test.steps...), time.Now()
				in, err := s.client(t, noRetries(), horseracing.WithMaxResponseBytes(4096)).Races.Settle(ctx, 11, 7)
				if in || !errors.Is(err, horseracing.ErrOutcomeUnknown) || test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("%t, %v", in, err)
				}
				if took := time.Since(started); took > test.within {
					t.Errorf("took %v", took)
				}
				if n := len(s.requests()); test.requests > 0 && n != test.requests || test.requests == 0 && n < 40 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
	c := play(without).client(t)
	_, noHorse := c.Races.Settle(t.Context(), 11, 0)
	_, noRace := c.Races.Settle(t.Context(), 0, 7)
	var missing context.Context
	_, noContext := c.Races.Settle(missing, 11, 7)
	for _, err := range []error{noHorse, noRace, noContext} {
		if !errors.Is(err, horseracing.ErrInvalidArgument) || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Errorf("%v", err)
		}
	}
}

func TestSettleSurvivesFailuresAndGarbledResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		garbled := respond(200, `[{"main_race_id":11,"participants":null}]`)
		in := respond(200, `[{"main_race_id":11,"participants":[{"number":7}],"length":"odd"}]`)
		var r horseracing.Response
		s := play(respond(502, ``), garbled, garbled, garbled, garbled, respond(200, `[{"main_race_id":11,"participants":[]}]`), garbled, broken(errReset), in)
		is, err := s.client(t, noRetries()).Races.Settle(t.Context(), 11, 7, horseracing.CaptureResponse(&r))
		if !is || err != nil || r.StatusCode != 200 || !strings.Contains(string(r.Body), "odd") {
			t.Errorf("%t, %v, %+v", is, err, r)
		}
	})
}
