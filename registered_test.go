package horseracing_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

var errOther = errors.New("another request than that for the race, past all caches")

// registered reads race 11 for horse 7 from one response, and returns what that decides: in,
// absent, later (with when to read again) or never.
func registered(t *testing.T, respond httpmock.Responder, opts ...horseracing.Option) (string, *horseracing.UndecidedError, error) {
	t.Helper()
	client, mock := double.Mocked(t, httpmock.NewErrorResponder(errOther), append(opts, double.NoRetries())...)
	mock.RegisterMatcherResponder(http.MethodGet, double.Service+"/api/v1/races/11", httpmock.HeaderIs("Cache-Control", "no-cache"), respond)
	isIn, err := client.Races.Registered(t.Context(), 11, 7)
	double.Equal(t, "requests", 1, mock.GetTotalCallCount())
	double.Equal(t, fmt.Sprint("another request, ", err), false, errors.Is(err, errOther))
	undecided, isLater := errors.AsType[*horseracing.UndecidedError](err)
	switch {
	case isIn && err == nil:
		return "in", nil, nil
	case err == nil:
		return "absent", nil, nil
	case isIn || !errors.Is(err, horseracing.ErrOutcomeUnknown):
		t.Errorf("%t, %v", isIn, err)
	case isLater && !undecided.RetryAt.IsZero():
		return "later", undecided, err
	}
	return "never", nil, err
}

// The service's clock decides, and a cached response is as old as it is.
func TestRegisteredReadsTheTimeFromDateMinusAge(t *testing.T) {
	for name, test := range map[string]struct {
		closed time.Duration // from now on, by this computer's clock
		date   time.Duration // likewise
		more   string
		want   string
	}{
		"an hour after, though our clock is early":  {time.Hour, 2 * time.Hour, "", "absent"},
		"less than an hour, though ours is late":    {-2 * time.Hour, -time.Hour - time.Second, "", "later"},
		"a response that was cached before":         {-time.Hour, 0, "Age: 1", "later"},
		"an age below zero makes no response later": {-59 * time.Minute, 0, "Age: -3600", "later"},
		"an age beyond all bounds":                  {-time.Hour, 0, "Age: 99999999999999999999", "later"},
		"no Date, and our clock is after":           {-time.Hour, 0, "Date: today", "absent"},
		"no Date, and our clock is before":          {-59 * time.Minute, 0, "Date: today", "later"},
		"no Date, and an age":                       {-time.Hour, 0, "Date: today\nAge: 2", "later"},
	} {
		double.Run(t, name, func(t *testing.T) {
			time.Sleep(48 * time.Hour)
			now := time.Now()
			header := strings.Split(test.more, "\n")
			if !strings.HasPrefix(test.more, "Date") {
				header = append(header, "Date: "+now.Add(test.date).UTC().Format(http.TimeFormat))
			}
			closed := now.Add(test.closed)
			got, undecided, err := registered(t, double.Respond(200, fmt.Sprintf(`[{"main_race_id":11,"registration_deadline":%d,"start_time":%d,"participants":[{"number":8}]}]`,
				closed.Add(-time.Minute).UnixMilli(), closed.UnixMilli()), header...))
			double.Equal(t, fmt.Sprint("outcome, ", err), test.want, got)
			if again := closed.Add(time.Hour); undecided != nil {
				double.Equal(t, "RetryAt", again, undecided.RetryAt)
				double.Error(t, "the error", horseracing.ErrOutcomeUnknown, "read the race again from "+again.UTC().Format(time.RFC3339), err)
			}
		})
	}
}

// What one response proves. A false costs money if it is wrong.
func TestRegisteredTrustsOnlyTheRaceThatWasRequested(t *testing.T) {
	const (
		times  = `"registration_deadline":946728000000,"start_time":946728300000` // half a day after the year 2000 began
		later  = `"registration_deadline":4102444800000,"start_time":4102444800000`
		others = `,"participants":[{"number":8}]}`
		race   = `{"main_race_id":11,` + times
	)
	for _, test := range []struct{ body, want string }{
		{race + `,"participants":[{"number":8},{"number":7}]}`, "in"},
		{race + others, "absent"},
		{`{"main_race_id":6,` + times + `,"participants":[{"number":7}]}`, "never"},
		{`{` + times + `,"participants":[{"number":7}]}`, "in"},
		{`{` + times + others, "never"},
		// its final order
		{`{"main_race_id":11,` + later + `,"final_order":[0]` + others, "absent"},
		{`{"main_race_id":11,` + later + `,"final_order":[0],"participants":[{"number":8},{"number":9}]}`, "later"},
		{`{"main_race_id":11,` + later + `,"final_order":[1]` + others, "later"},
		{`{"main_race_id":11,` + later + `,"final_order":[0],"participants":[{}]}`, "later"},
		// several entries
		{race + others + `,{` + times + `,"participants":[{"number":7}]}`, "never"},
		{`{"main_race_id":6,"places":{}},` + race + others, "absent"},
		{race + others + `,` + race + `,"participants":[{"number":7}]}`, "in"},
		{race + others + `,` + race + `,"entry_fee":{},"participants":[]}`, "later"},
		{race + others + `,{"main_race_id":11,"registration_deadline":4102444800000,"start_time":4102444800000,"participants":[]}`, "later"},
		{`{"main_race_id":11,` + later + others + `,` + race + `,"participants":[{"number":8},{}]}`, "never"},
		// the response does not list the participants
		{race + `}`, "never"},
		{race + `,"participants":[{"number":8},{}]}`, "never"},
		{race + `,"participants":[{},{"number":7}]}`, "in"},
		// it was read in part
		{race + `,"entry_fee":{}` + others, "later"},
		{race + `,"participants":[{"number":7}],"entry_fee":{}}`, "in"},
		{`{"participants":[{"number":7}],"main_race_id":"x"}`, "in"},
		// its times
		{`{"main_race_id":11,"registration_deadline":946728000000` + others, "never"},
		{`{"main_race_id":11,"start_time":946728000000` + others, "never"},
		{`{"main_race_id":11,"registration_deadline":946728000000,"start_time":4102444800000` + others, "later"},
		{`{"main_race_id":11,"registration_deadline":4102444800000,"start_time":946728000000` + others, "later"},
		{`{"main_race_id":11,"registration_deadline":946852200000,"start_time":946852200000}`, "later"}, // 90 minutes ago
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(48 * time.Hour)
			got, _, err := registered(t, httpmock.NewStringResponder(200, "["+test.body+"]"))
			double.Equal(t, fmt.Sprint(test.body, ", ", err), test.want, got)
		})
	}
}

// A failure of the service or the connection says when to read again; a refusal does not.
func TestRegisteredErrorsAreUnknownOutcomes(t *testing.T) {
	for name, test := range map[string]struct {
		respond httpmock.Responder
		is      error
		again   time.Duration // from now on, or negative for never
	}{
		"a race that is gone":             {httpmock.NewStringResponder(200, `[]`), horseracing.ErrNotFound, -1},
		"an error object":                 {httpmock.NewStringResponder(200, `{"error":"asleep"}`), nil, -1},
		"another shape":                   {httpmock.NewStringResponder(200, `"asleep"`), nil, time.Minute},
		"a broken connection":             {httpmock.NewErrorResponder(double.ErrReset), double.ErrReset, time.Minute},
		"a failure":                       {httpmock.NewStringResponder(500, ``), horseracing.ErrServer, time.Minute},
		"a Retry-After":                   {double.Respond(429, ``, "Retry-After: 20"), horseracing.ErrRateLimited, 20 * time.Second},
		"a Retry-After of now":            {double.Respond(429, ``, "Retry-After: 0"), horseracing.ErrRateLimited, time.Minute},
		"a Retry-After of a 403":          {double.Respond(403, ``, "Retry-After: 60"), horseracing.ErrForbidden, time.Minute},
		"one of more than an hour":        {double.Respond(429, ``, "Retry-After: 7200"), horseracing.ErrRateLimited, time.Hour},
		"a response that is far too long": {httpmock.NewStringResponder(200, `[`+strings.Repeat(" ", 5000)+`]`), horseracing.ErrResponseTooLarge, time.Minute},
	} {
		double.Run(t, name, func(t *testing.T) {
			got, undecided, err := registered(t, test.respond, horseracing.WithMaxResponseBytes(4096))
			double.Error(t, "the error", cmp.Or(test.is, horseracing.ErrOutcomeUnknown), "", err)
			if test.again < 0 {
				double.Equal(t, "outcome", "never", got)
			} else {
				double.Equal(t, "outcome", "later", got)
				double.Equal(t, "again", time.Now().Add(test.again), undecided.RetryAt)
			}
		})
	}
}
