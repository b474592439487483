package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestSettleReadsAtGrowingIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := double.Within(t, 10*time.Minute)
		s := double.Play(double.Respond(200, `[{"main_race_id":11,"registration_deadline":4102444800000,"participants":[]}]`))
		_, err := s.Client(t).Races.Settle(ctx, 11, 7)
		if want := "horse 7 is not in the race so far, which is read until 2100-01-01T02:00:00Z"; !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, horseracing.ErrOutcomeUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("before the deadline: %v", err)
		}
		least := time.Second
		for i, wait := range s.Waits() {
			if wait < least || wait > least+least/4 {
				t.Errorf("interval %d is %v, want %v", i, wait, least)
			}
			least = min(2*least, time.Minute)
		}
		if n := len(s.Requests()); n < 12 || n > 16 {
			t.Errorf("%d requests in ten minutes", n)
		}
	})
}

// race11 is a response to a reading of race 11, which closes at a time, lists another
// horse and has its result.
func race11(deadline time.Time, header ...string) double.Step {
	return double.Respond(200, fmt.Sprintf(`[{"main_race_id":11,"registration_deadline":%d,"participants":[{"number":8}],"final_order":[0]}]`, deadline.UnixMilli()), header...)
}

// The service's clock decides, unless it is ahead by up to an hour, and a cached response
// is as old as it is.
func TestSettleReadsTheTimeFromDateMinusAge(t *testing.T) {
	type header struct {
		date time.Duration // from now on, by this computer's clock
		more string
	}
	for name, test := range map[string]struct {
		deadline  time.Duration // from now on, by this computer's clock
		responses []header
	}{
		"after the deadline, though our clock is early":  {time.Hour, []header{{date: 2*time.Hour + 61*time.Second}}},
		"a Date that is ahead by less than an hour":      {0, []header{{date: 10 * time.Minute}, {date: time.Hour + 61*time.Second}}},
		"a Date that is ahead by more than a day":        {25 * time.Hour, []header{{date: 25*time.Hour + 61*time.Second}}},
		"before the deadline, though our clock is late":  {-time.Hour, []header{{date: -time.Hour}, {}}},
		"a minute after is not more than a minute":       {-time.Minute, []header{{}, {date: time.Second}}},
		"a response that was cached before the deadline": {-time.Hour, []header{{more: "Age: 3600"}, {}}},
		"a response that was cached after the deadline":  {-time.Hour, []header{{more: "Age: 3539"}}},
		"an age beyond all bounds":                       {-time.Hour, []header{{more: "Age: 99999999999999999999"}, {more: "Age: 0"}}},
		"an age below zero makes no response later":      {-59 * time.Second, []header{{more: "Age: -3600"}, {date: 2 * time.Second}}},
		"no date, and our clock is after the deadline":   {-61 * time.Second, []header{{more: "Date: today"}}},
		"no date, and our clock is before the deadline":  {-59 * time.Second, []header{{more: "Date: today"}, {more: "Date: today"}}},
		"no date, and an age that reaches before it":     {-61 * time.Second, []header{{more: "Date: today\nAge: 2"}, {more: "Date: today\nAge: 0"}}},
		"no date is the time of the request, not of now": {-time.Hour, []header{{more: "Date: "}}},
	} {
		double.Run(t, name, func(t *testing.T) {
			time.Sleep(48 * time.Hour) // the year 2000 has begun
			now := time.Now()
			var steps []double.Step
			for _, h := range test.responses {
				lines := strings.Split(h.more, "\n")
				if !strings.HasPrefix(h.more, "Date") {
					lines = append(lines, "Date: "+now.Add(h.date).UTC().Format(http.TimeFormat))
				}
				steps = append(steps, race11(now.Add(test.deadline), lines...))
			}
			s := double.Play(steps...)
			in, err := s.Client(t).Races.Settle(t.Context(), 11, 7)
			if n := len(s.Requests()); in || err != nil || n != len(steps) {
				t.Errorf("%t, %v after %d readings, want %d", in, err, n, len(steps))
			}
		})
	}
}

func TestSettleRequestsAFreshResponseAtEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(48 * time.Hour)
		s := double.Play(double.Respond(503, ""), race11(time.Now().Add(time.Hour)), double.Respond(200, `[{"main_race_id":11,"participants":[{"number":7}]}]`))
		c := s.Client(t)
		if in, err := c.Races.Settle(t.Context(), 11, 7); !in || err != nil {
			t.Fatal(in, err)
		}
		if _, err := c.Races.Get(t.Context(), 11); err != nil {
			t.Fatal(err)
		}
		for i, r := range s.Requests() {
			want := "no-cache"
			if i == 3 { // Get
				want = ""
			}
			if got := r.Request.Header.Get("Cache-Control"); got != want {
				t.Errorf("request %d: Cache-Control %q, want %q", i, got, want)
			}
		}
	})
}

// What one response proves. A false costs money if it is wrong.
func TestSettleTrustsOnlyTheRaceThatWasRequested(t *testing.T) {
	const (
		in       = "in"
		absent   = "absent"
		nobody   = "nobody"                               // an error at once
		no       = "error"                                // after some responses like this one
		open     = "undecided"                            // until the context ends
		deadline = `"registration_deadline":946728000000` // half a day after the year 2000 began
		others   = `,"participants":[{"number":8}]}`
		race     = `{"main_race_id":11,` + deadline + `,"start_time":946728300000`
	)
	for _, test := range []struct{ body, want string }{
		{race + `,"participants":[{"number":8},{"number":7}]}`, in},
		{race + others, absent},
		{`{"main_race_id":6,` + deadline + `,"participants":[{"number":7}]}`, no},
		{`{` + deadline + `,"participants":[{"number":7}]}`, in},
		{`{` + deadline + others, no},
		// several entries
		{`{"main_race_id":6,"places":{}},` + race + others, absent},
		{race + others + `,` + race + `,"participants":[{"number":7}]}`, in},
		{race + others + `,` + race + `}`, nobody},
		{race + others + `,` + race + `,"entry_fee":{},"participants":[]}`, no},
		{race + others + `,{"main_race_id":11,"registration_deadline":4102444800000,"participants":[]}`, open},
		{`{"main_race_id":11,"registration_deadline":4102444800000` + others + `,` + race + others, open},
		{race + others + `,null`, no},
		{`{"main_race_id":6},null`, no},
		// the response does not list the participants
		{race + `}`, nobody},
		{race + `,"participants":null}`, nobody},
		{race + `,"participants":[]}`, nobody},
		{race + `,"participants":[],"final_order":[1,0]}`, nobody},
		{race + `,"participants":[null,null]}`, no},
		{race + `,"participants":[{"number":8},{}]}`, no},
		{race + `,"participants":[{},{"number":7}]}`, in},
		// it was read in part
		{race + `,"entry_fee":{}` + others, no},
		{race + `,"participants":[{"number":7}],"entry_fee":{}}`, in},
		{race + `,"participants":[{"number":7},{"number":"x"}]}`, in},
		{`{"participants":[{"number":7}],"main_race_id":"x"}`, in},
		// its times are not plausible
		{`{"main_race_id":11` + others, no},
		{`{"main_race_id":11,"registration_deadline":946728000` + others, no},
		{`{"main_race_id":11,"registration_deadline":946684799999` + others, no},
		{`{"main_race_id":11,"registration_deadline":946684800000` + others, absent},
		{`{"main_race_id":11,` + deadline + `,"start_time":946728` + others, nobody},
		{`{"main_race_id":11,"start_time":946728300000` + others, nobody},
		{`{"main_race_id":11,"registration_deadline":946771200000,"start_time":946684800000` + others, absent},
		{`{"main_race_id":11,"registration_deadline":946771200001,"start_time":946684800000` + others, nobody},
		{`{"main_race_id":11,` + deadline + `,"start_time":4102444800000` + others, open},
		{`{"main_race_id":11,"registration_deadline":1,"participants":[{"number":7}]}`, in},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(48 * time.Hour)
			ctx := double.Within(t, time.Hour)
			s := double.Play(double.Respond(200, "["+test.body+"]"))
			is, err := s.Client(t).Races.Settle(ctx, 11, 7)
			var got string
			_, unreadable := errors.AsType[*horseracing.DecodeError](err)
			switch n := len(s.Requests()); {
			case err == nil && n == 1 && is:
				got = in
			case err == nil && n == 1:
				got = absent
			case !is && n == 1 && errors.Is(err, horseracing.ErrOutcomeUnknown) && strings.Contains(err.Error(), "lists nobody"):
				got = nobody
			case !is && n == 5 && unreadable:
				got = no
			case !is && errors.Is(err, context.DeadlineExceeded):
				got = open
			}
			if got != test.want {
				t.Errorf("%s: %t, %v after %d readings; want %s", test.body, is, err, len(s.Requests()), test.want)
			}
		})
	}
}

// A service may list participants from the start on only, some of them first, or only in
// the result.
func TestSettleIsFalseOnlyFromAListOfEveryone(t *testing.T) {
	const two, order = `[{"number":8},{"number":9}]`, `,"final_order":[1,0]`
	for _, test := range []struct {
		after time.Duration // the start, by Date and local clock
		list  string
		want  string
	}{
		{-time.Second, two + order, "undecided"},
		{time.Minute, two + order, "undecided"},
		{61 * time.Second, two + order, "absent"},
		{time.Hour, two + `,"final_order":[1]`, "undecided"},
		{time.Hour, two + `,"final_order":[2,0]`, "undecided"},
		{time.Hour, two, "undecided"},
		{time.Hour + time.Second, two, "absent"},
		{2 * time.Hour, `[]`, "undecided"},
		{2*time.Hour + time.Second, `[]`, "unknown"},
		{2*time.Hour + time.Second, `[],"final_order":[1,0]`, "unknown"},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(48 * time.Hour)
			ctx := double.Within(t, 500*time.Millisecond)
			start := time.Now().Add(-test.after).UnixMilli()
			s := double.Play(double.Respond(200, fmt.Sprintf(`[{"main_race_id":11,"registration_deadline":%d,"start_time":%d,"participants":%s}]`, start-300_000, start, test.list)))
			isIn, err := s.Client(t).Races.Settle(ctx, 11, 7)
			got := "unknown"
			if err == nil {
				got = "absent"
			} else if errors.Is(err, context.DeadlineExceeded) {
				got = "undecided"
			}
			if isIn || got != test.want {
				t.Errorf("%v after the start, %s: %t, %v; want %s", test.after, test.list, isIn, err, test.want)
			}
		})
	}
}

// It ends, although Date does not advance.
func TestSettleEndsTwoHoursAfterTheStart(t *testing.T) {
	for name, header := range map[string][]string{"no Date": nil, "a Date that stands still": {"Date: Mon, 03 Jan 2000 00:00:00 GMT"}, "a Date an hour behind": {"Date: Sun, 02 Jan 2000 23:00:00 GMT"}} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(48 * time.Hour)
			began := time.Now()
			s := double.Play(double.Respond(200, fmt.Sprintf(`[{"main_race_id":11,"registration_deadline":%d,"participants":[]}]`, began.Add(time.Hour).UnixMilli()), header...))
			isIn, err := s.Client(t).Races.Settle(double.ADay(t), 11, 7)
			if took := time.Since(began); isIn || !errors.Is(err, horseracing.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "game") || took < 3*time.Hour || took > 4*time.Hour+2*time.Minute {
				t.Errorf("%s: %t, %v after %v", name, isIn, err, took)
			}
		})
	}
}

func TestSettleLogsUntilWhenItReadsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(48 * time.Hour)
		var out strings.Builder
		deadline := time.Now().Add(time.Hour)
		s := double.Play(race11(deadline), race11(deadline), race11(deadline.Add(time.Minute)), double.Respond(200, `[{"main_race_id":11,"participants":[{"number":7}]}]`))
		c := s.Client(t, horseracing.WithLogger(slog.New(slog.NewTextHandler(&out, nil))))
		if in, err := c.Races.Settle(t.Context(), 11, 7); !in || err != nil {
			t.Fatal(in, err)
		}
		until := func(d time.Duration) string {
			return `operation="GET /api/v1/races/11" until=` + deadline.UTC().Add(d).Format("2006-01-02T15:04:05.000Z")
		}
		if log := out.String(); strings.Count(log, "level=INFO") != 2 || !strings.Contains(log, until(2*time.Hour)) || !strings.Contains(log, until(2*time.Hour+time.Minute)) {
			t.Errorf("logged\n%s", log)
		}
	})
}

func TestSettleErrorsAreUnknownOutcomes(t *testing.T) {
	without := double.Respond(200, `[{"main_race_id":11,"registration_deadline":4102444800000,"participants":[]}]`)
	for name, test := range map[string]struct {
		steps    []double.Step
		is       error
		within   time.Duration
		requests int // many if zero
	}{
		"a race that is gone":             {[]double.Step{without, double.Respond(200, `[]`)}, horseracing.ErrNotFound, 2 * time.Second, 2},
		"a refused key":                   {[]double.Step{double.Respond(401, ``)}, horseracing.ErrUnauthorized, 0, 1},
		"another race":                    {[]double.Step{double.Respond(200, `[{"main_race_id":12,"participants":[{"number":7}]}]`)}, nil, 30 * time.Second, 5},
		"an error object":                 {[]double.Step{double.Respond(200, `{"error":"asleep"}`)}, nil, 30 * time.Second, 5},
		"a broken connection to the end":  {[]double.Step{double.Broken(double.ErrReset)}, context.DeadlineExceeded, time.Hour, 0},
		"a race that is open to the end":  {[]double.Step{without}, context.DeadlineExceeded, time.Hour, 0},
		"a Retry-After beyond the end":    {[]double.Step{double.Respond(429, ``, "Retry-After: 7200")}, horseracing.ErrRateLimited, time.Hour, 1},
		"garbled and readable by turns":   {[]double.Step{double.Respond(200, `[`), without, double.Respond(200, `[`), double.Respond(200, `[`), double.Respond(200, `[`), double.Respond(200, `[`), without}, context.DeadlineExceeded, time.Hour, 0},
		"a response that is far too long": {[]double.Step{double.Respond(200, `[`+strings.Repeat(" ", 5000)+`]`)}, horseracing.ErrResponseTooLarge, 0, 1},
	} {
		double.Run(t, name, func(t *testing.T) {
			ctx := double.Within(t, 50*time.Minute)
			s, started := double.Play(test.steps...), time.Now()
			in, err := s.Client(t, double.NoRetries(), horseracing.WithMaxResponseBytes(4096)).Races.Settle(ctx, 11, 7)
			if in || !errors.Is(err, horseracing.ErrOutcomeUnknown) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%t, %v", in, err)
			}
			if took := time.Since(started); took > test.within {
				t.Errorf("took %v", took)
			}
			if n := len(s.Requests()); test.requests > 0 && n != test.requests || test.requests == 0 && n < 40 {
				t.Errorf("%d requests", n)
			}
		})
	}
	broke := double.Play(without).Client(t, horseracing.WithLimiter(double.WaitFunc(func(context.Context) error { return double.ErrReset })))
	if in, err := broke.Races.Settle(t.Context(), 11, 7); in || !errors.Is(err, horseracing.ErrOutcomeUnknown) || !errors.Is(err, double.ErrReset) {
		t.Errorf("with a limiter that fails: %t, %v", in, err)
	}
}

// A longer one is a mistake of the service. The wait is logged.
func TestSettleWaitsForARetryAfterOfAnHourAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, started := double.Play(double.Respond(429, "", "Retry-After: 31536000"), double.Respond(200, `[{"main_race_id":11,"participants":[{"number":7}]}]`)), time.Now()
		in, err := s.Client(t, horseracing.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))).Races.Settle(double.ADay(t), 11, 7)
		if took := time.Since(started); !in || err != nil || took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("%t, %v after %v", in, err, took)
		}
		if want := `level=WARN msg="horseracing: waiting until the race can be read" operation="GET /api/v1/races/11" wait=1h0m0s error="GET /api/v1/races/11: status 429`; !strings.Contains(log.String(), want) {
			t.Errorf("logged\n%s", log.String())
		}
	})
}
