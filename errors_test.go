package horseracing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// TestErrorTexts holds what a person reads. None of these responses is retried,
// because that would not help, except a read that was damaged.
func TestErrorTexts(t *testing.T) {
	page := "<!DOCTYPE html>\n<html><title>403</title></html>"
	for _, test := range []struct {
		call     func(context.Context, *horseracing.Client) error
		response double.Step
		want     string
	}{
		// statuses
		{double.OpenRaces, double.Respond(400, `{"error":{"code":"bad","message":"tier is not a number"}}`), "GET /api/v1/races/open: status 400 Bad Request: tier is not a number"},
		{double.OpenRaces, double.Respond(400, `{"statusCode":400,"message":["tier is not a number"],"error":"Bad Request"}`), "GET /api/v1/races/open: status 400 Bad Request: tier is not a number"},
		{double.OpenRaces, double.Respond(400, `{"error":{"error":{"message":"deep"}}}`), `GET /api/v1/races/open: status 400 Bad Request: {"error":{"error":{"message":"deep"}}}`},
		{double.OpenRaces, double.Respond(401, `{"message":"unknown key"}`), "GET /api/v1/races/open: status 401 Unauthorized: unknown key; check the API key"},
		{double.OpenRaces, double.Respond(403, ""), "GET /api/v1/races/open: status 403 Forbidden"},
		{double.OpenRaces, double.Respond(404, ""), "GET /api/v1/races/open: status 404 Not Found; check the base URL"}, // a list is always there
		{double.OneRace, double.Respond(404, ""), "GET /api/v1/races/11: status 404 Not Found"},
		{double.Register, double.Respond(404, ""), "POST /api/v1/races/register: status 404 Not Found"},
		{double.OneHorse, double.Respond(404, "no such horse\nsecond line"), "GET /api/v1/horses/7: status 404 Not Found: no such horse"},
		{double.OpenRaces, double.Respond(429, "", "Retry-After: 60"), "GET /api/v1/races/open: status 429 Too Many Requests; wait 1m0s before the next request"},
		{double.OpenRaces, double.Respond(503, "", "Retry-After: 3600"), "GET /api/v1/races/open: status 503 Service Unavailable; wait 1h0m0s before the next request"},
		{double.OpenRaces, double.Respond(410, `"sorry"`), `GET /api/v1/races/open: status 410 Gone: "sorry"`},
		{double.OpenRaces, double.Respond(400, "\x1b[31mred\x1b[0m \u202eevil"), "GET /api/v1/races/open: status 400 Bad Request: [31mred[0m evil"},
		{double.OpenRaces, double.Respond(301, "", "Location: https://new.test/x"), "GET /api/v1/races/open: status 301 Moved Permanently: to https://new.test; redirects are not followed, because that could send the API key to another host: change the base URL"},

		// proxies that dislike a GET with a body
		{double.Owned, double.Respond(403, page), "GET /api/v1/horses/user: status 403 Forbidden: an HTML page; it is from a proxy or firewall, which may refuse GET requests with a body: bypass it"},
		{double.Owned, double.Respond(403, "\n<center>no</center>", "Content-Type: text/html; charset=utf-8"), "GET /api/v1/horses/user: status 403 Forbidden: an HTML page; it is from a proxy or firewall, which may refuse GET requests with a body: bypass it"},
		{double.Owned, double.Respond(403, "<Error>no</Error>", "Content-Type: text/xml"), "GET /api/v1/horses/user: status 403 Forbidden: an HTML page; it is from a proxy or firewall, which may refuse GET requests with a body: bypass it"},
		{double.OpenRaces, double.Respond(403, page), "GET /api/v1/races/open: status 403 Forbidden: an HTML page; it is from a proxy or firewall, not from the service"},
		{double.Register, double.Respond(401, page), "POST /api/v1/races/register: status 401 Unauthorized: an HTML page; it is from a proxy or firewall, not from the service"},

		// a success that is none
		{double.OpenRaces, double.Respond(200, `{"error":"maintenance"}`), "GET /api/v1/races/open: status 200 OK: maintenance"},
		{double.OneHorse, double.Respond(200, `{"errors":[{"detail":"bad key"}]}`), "GET /api/v1/horses/7: status 200 OK: bad key"},
		{double.OneHorse, double.Respond(200, `{"message":"bad key","code":7}`), "GET /api/v1/horses/7: status 200 OK: bad key"},
		{double.OpenCups, double.Respond(200, `{"message":["try later","or not"],"code":7}`), "GET /api/v1/tournaments/open: status 200 OK: try later"},
		{double.OneHorse, double.Respond(200, `{"name":"Comet","number":7,"message":"hello"}`), "<nil>"},
		{double.Missions, double.Respond(200, `{"error":true,"message":"asleep"}`), "GET /api/v1/missions: status 200 OK: asleep"},
		{double.OneCup, double.Respond(200, `{"_id":"5f","error":"asleep"}`), "GET /api/v1/tournaments/5f: status 200 OK: asleep"},
		{double.OpenRaces, double.Respond(200, page), "GET /api/v1/races/open: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{double.OpenRaces, double.Respond(200, "<?xml version='1.0'?>\n<html>"), "GET /api/v1/races/open: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{double.OpenRaces, double.Respond(200, "<h1>Sign in</h1>"), "GET /api/v1/races/open: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{double.OpenRaces, double.Respond(200, ""), "GET /api/v1/races/open: cannot read the response: it is empty"},

		// another shape
		{double.OpenRaces, double.Respond(200, `{"races":[]}`), "GET /api/v1/races/open: cannot read the response: an object does not fit []Race"},
		{double.Cups, double.Respond(200, `{"name":"Cup","description":"A nice cup"}`), "GET /api/v1/tournaments/results: cannot read the response: an object does not fit []Tournament"},
		{double.OneHorse, double.Respond(200, `[[]]`), "GET /api/v1/horses/7: cannot read the response at /0: an array does not fit Horse"},
		{double.OpenRaces, double.Respond(200, `[{"v2":true},{}]`), "GET /api/v1/races/open: cannot read the response at /1: it is null or has no documented member that can be read"},
		{double.OpenRaces, double.Respond(200, "[[]]"), "GET /api/v1/races/open: cannot read the response at /0: an array does not fit Race"},
		{double.OneHorse, double.Respond(200, "{}"), "GET /api/v1/horses/7: cannot read the response: it is null or has no documented member that can be read"},

		// nothing there
		{double.OneRace, double.Respond(200, "null"), "GET /api/v1/races/11: not found: status 200 OK, but the response does not contain it"},

		// not JSON
		{double.OpenRaces, double.Respond(200, `[{"level":1}`), "GET /api/v1/races/open: cannot read the response: not valid JSON: unexpected EOF"},
		{double.OpenRaces, double.Respond(200, `[] []`), "GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '[' after top-level value"},
		{double.OpenRaces, double.Respond(200, `[01]`), "GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '1' after array element (expecting ',' or ']')"},
		{double.OneRace, double.Respond(200, "[\f]"), `GET /api/v1/races/11: cannot read the response at /0: not valid JSON: invalid character '\f' at start of value`},
		{double.OpenRaces, double.Respond(200, "\x1f\x8b\x08\x00"), `GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '\x1f' at start of value`},
		{double.OpenRaces, double.Respond(200, `[{"tier":"a","tier":"b"}]`), `GET /api/v1/races/open: cannot read the response at /0/tier: not valid JSON: duplicate object member name`},
		{double.OpenRaces, double.Respond(200, "["+strings.Repeat("{},", 999)+"{}]"), "GET /api/v1/races/open: cannot read the response at /0: it is null or has no documented member that can be read"},

		// a member of another type
		{double.OpenRaces, double.Respond(200, `[{"v2":true},{"v2":true},{"v2":true},{"entry_fee":"0x10"}]`), "GET /api/v1/races/open: cannot read the response at /3/entry_fee: a string does not fit BigInt: a quoted integer must be in plain base 10"},
		{double.OpenRaces, double.Respond(200, `[{"entry_fee":1e101}]`), "GET /api/v1/races/open: cannot read the response at /0/entry_fee: a number does not fit BigInt: a number of more than 100 digits"},
		{double.OpenRaces, double.Respond(200, `[{"entry_fee":1.5}]`), "GET /api/v1/races/open: cannot read the response at /0/entry_fee: a number does not fit BigInt: not an integer of at most 100 digits"},
		{double.OpenRaces, double.Respond(200, `[{"start_time":"2026"}]`), "GET /api/v1/races/open: cannot read the response at /0/start_time: a string does not fit Timestamp: not a whole number of milliseconds in the years 1 to 9999"},
		{double.OpenRaces, double.Respond(200, `[{"start_time":1e30}]`), "GET /api/v1/races/open: cannot read the response at /0/start_time: a number does not fit Timestamp: not a whole number of milliseconds in the years 1 to 9999"},
		{double.OneHorse, double.Respond(200, `{"breeding_cooldown":"tomorrow"}`), `GET /api/v1/horses/7: cannot read the response at /breeding_cooldown: a string does not fit time.Time: parsing time "tomorrow" as "2006-01-02T15:04:05Z07:00": cannot parse "tomorrow" as "2006"`},

		// too much
		{double.OpenRaces, double.Respond(200, strings.Repeat(" ", 5000)), "GET /api/v1/races/open: response too large: more than 4096 bytes (WithMaxResponseBytes)"},
		{double.OpenRaces, double.Stream(200, -1, func() io.Reader { return double.Endless("[") }), "GET /api/v1/races/open: response too large: more than 4096 bytes (WithMaxResponseBytes)"},
		{double.OpenRaces, double.Stream(400, -1, func() io.Reader { return double.Endless("[") }), "GET /api/v1/races/open: status 400 Bad Request: " + strings.Repeat("[", 200) + " …"},

		// money
		{double.Register, double.Respond(400, `{"message":"the race is full"}`), "POST /api/v1/races/register: status 400 Bad Request: the race is full"},
		{double.Register, double.Respond(500, ""), "POST /api/v1/races/register: status 500 Internal Server Error; the outcome is unknown: call Races.Registered before registering again"},
		{double.Register, double.Broken(double.ErrReset), "POST /api/v1/races/register: connection reset by peer; the outcome is unknown: call Races.Registered before registering again"},
		{double.Register, double.Respond(200, page), "POST /api/v1/races/register: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page; the outcome is unknown: call Races.Registered before registering again"},
	} {
		t.Run(test.want[:min(len(test.want), 90)], func(t *testing.T) {
			s := double.Play(test.response)
			err := test.call(t.Context(), s.Client(t, horseracing.WithMaxResponseBytes(4096), double.Briefly))
			double.Equal(t, "text", test.want, fmt.Sprint(err))
			requests := 1
			if damaged := "cannot read the response: "; strings.HasPrefix(test.want, "GET") &&
				strings.Contains(test.want, damaged+"expected JSON, got an HTML page") {
				requests = 4
			}
			if n := len(s.Requests()); n != requests {
				t.Errorf("%d requests, want %d", n, requests)
			}
		})
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	double.UnlessShort(t)
	t.Parallel()
	long := strings.Repeat("word ", 1<<16)
	for name, s := range map[string]double.Step{
		"message":  double.Respond(400, `{"message":"`+long+`"}`),
		"plain":    double.Respond(400, long),
		"pointer":  double.Respond(200, `[{"`+long+`":1,"`+long+`":2}]`),
		"location": double.Respond(301, "", "Location: https://"+strings.Repeat("x", 100_000)+".test/"),
		"cause":    double.Broken(errors.New(long)),
	} {
		_, err := double.Play(s).Client(t, double.NoRetries()).Races.Open(t.Context())
		if err == nil || len(err.Error()) >= 2048 || !strings.HasPrefix(err.Error(), "GET /api/v1/races/open: ") {
			t.Errorf("%s: %d bytes: %.100s", name, len(err.Error()), err)
		}
		if api, ok := errors.AsType[*horseracing.APIError](err); ok && (len(api.Body) > 64<<10 || len(api.Message) > 64<<10) {
			t.Errorf("%s: body of %d bytes, message of %d", name, len(api.Body), len(api.Message))
		}
		_, err = double.Play(s).Client(t).Races.Register(t.Context(), double.Entry)
		if err != nil && len(err.Error()) >= 2048 { // a list with a long name confirms it
			t.Errorf("%s: %d bytes", name, len(err.Error()))
		}
	}
}

// Of twenty look-ups at once the error names the one that failed.
func TestErrorsHoldTheRequestedID(t *testing.T) {
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	failures := map[string]double.Step{"status": double.Respond(404, ""), "nothing": double.Respond(200, ""), "broken": double.Broken(double.ErrReset), "undecodable": double.Respond(200, "17")}
	for _, op := range operations() {
		for name, failure := range failures {
			if op.Method != http.MethodGet {
				continue // whose receipt may be anything
			}
			var log strings.Builder
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			_, err := op.Call(t.Context(), double.Play(failure).Client(t, double.Briefly, horseracing.WithLogger(logger)), testdataIDs)
			var route, id string
			if api, ok := errors.AsType[*horseracing.APIError](err); ok {
				route, id = api.Route, api.ID
			} else if transport, ok := errors.AsType[*horseracing.TransportError](err); ok {
				route, id = transport.Route, transport.ID
			} else if decode, ok := errors.AsType[*horseracing.DecodeError](err); ok {
				route, id = decode.Route, decode.ID
			}
			operation := "GET " + op.Path
			if placeholder.ReplaceAllString(route, id) != op.Path || id == "" && strings.Contains(route, "{") || !strings.HasPrefix(err.Error(), operation+": ") {
				t.Errorf("%s, %s: route %q, id %q: %v", op.Name, name, route, id, err)
			}
			if walk := op.Further != nil; !walk && !containsAll(log.String(), "operation=\"GET "+route+"\"", "id="+id) {
				t.Errorf("%s, %s: the log has not %s:\n%s", op.Name, name, operation, log.String())
			}
		}
	}
}

func TestErrorMemberThatIsEmptyIsIgnored(t *testing.T) {
	for _, member := range []string{`"error":null`, `"error":false`, `"error":""`, `"errors":[]`, `"errors":{}`, `"note":"error"`, `"name":"error"`} {
		if horse, err := responding(t, `{"level":3,`+member+`}`).Horses.Get(t.Context(), 7); err != nil || horse.Level != 3 {
			t.Errorf("%s: %v", member, err)
		}
	}
}

func TestAPIErrorIsLoggedAsAGroupWithoutItsBody(t *testing.T) {
	err := double.OneHorse(t.Context(), double.Play(double.Respond(400, `{"message":"no such `+double.AppKey+`"}`)).Client(t))
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Error("failed", "error", err)
	_, after, _ := strings.Cut(logged.String(), "msg=failed ")
	want := `error.operation="GET /api/v1/horses/{horse_number}" error.id=7 error.status=400 error.attempts=1 error.message="no such [redacted]"` + "\n"
	double.Equal(t, "log", want, after)
}

// A bot that meets the same refusal again and again can leave out what it has logged.
func TestAPIErrorOfTheSameRefusalHasTheSameText(t *testing.T) {
	for header, want := range map[string]string{
		"120":                  "GET /api/v1/races/open: status 503 Service Unavailable: not sent, because the service refuses requests until 2000-01-01T00:02:00Z",
		"7200":                 "", // an hour is heeded
		"99999999999999999999": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := double.Play(double.Respond(503, "", "Retry-After: "+header)).Client(t, double.NoRetries())
			_ = double.OpenRaces(t.Context(), c)
			texts := map[string]bool{}
			for range 5 {
				time.Sleep(7 * time.Second)
				err := double.OpenRaces(t.Context(), c)
				if api, ok := errors.AsType[*horseracing.APIError](err); !ok || api.Attempts != 0 || api.RetryAfter <= 0 {
					t.Errorf("%v", err)
				}
				texts[err.Error()] = true
			}
			if len(texts) != 1 || want != "" && !texts[want] {
				t.Errorf("%v", texts)
			}
		})
	}
}

// The text of an argument that is refused names the operation with the id in its
// place, and the value.
func TestErrInvalidArgumentTexts(t *testing.T) {
	const foreign = "invalid argument: the cursor in Resume is of another listing or of another tier"
	var none context.Context // nil, as callers leave it by mistake
	ctx, noon := t.Context(), time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	s := double.Play()
	c := s.Client(t)
	register := func(horse horseracing.HorseNumber, race horseracing.RaceID, key horseracing.UserKey, opts ...horseracing.CallOption) error {
		return errorOf(c.Races.Register(ctx, horseracing.Registration{Horse: horse, Race: race, UserKey: key}, opts...))
	}
	results := func(q horseracing.ResultsQuery) error { return errorOf(c.Races.Results(q).Take(ctx, 1)) }
	follow := func(q horseracing.FollowQuery) error { return errorsOf(c.Races.Follow(q).All(ctx)) }
	cursor := c.Races.Results(horseracing.ResultsQuery{}).Cursor()
	followed := c.Races.Follow(horseracing.FollowQuery{Since: noon}).Cursor()
	followedCups := c.Tournaments.Follow(horseracing.FollowQuery{Since: noon}).Cursor()
	backwards := horseracing.CallRetry(horseracing.Retry{MinWait: 2, MaxWait: 1})
	for _, test := range []struct {
		err  error
		want string
	}{
		{errorOf(c.Horses.Get(ctx, -3)), "GET /api/v1/horses/-3: invalid argument: horse number -3 is not positive"},
		{errorOf(c.Horses.Get(ctx, 0)), "GET /api/v1/horses/0: invalid argument: horse number 0 is not positive"},
		{errorOf(c.Horses.Missions(ctx, -3)), "GET /api/v1/horses/missions/-3: invalid argument: horse number -3 is not positive"},
		{errorOf(c.Horses.Owned(ctx, "")), "GET /api/v1/horses/user: invalid argument: the user key is empty"},
		{errorOf(c.Races.Get(ctx, -3)), "GET /api/v1/races/-3: invalid argument: race id -3 is not positive"},
		{errorOf(c.Races.Get(none, 99)), "GET /api/v1/races/99: invalid argument: the context is nil"},
		{errorOf(c.Races.Registered(ctx, -3, 7)), "GET /api/v1/races/-3: invalid argument: race id -3 is not positive; the outcome is unknown: look for the horse in the game before registering again"},
		{errorOf(c.Races.Registered(ctx, 99, -3)), "GET /api/v1/races/99: invalid argument: horse number -3 is not positive; the outcome is unknown: look for the horse in the game before registering again"},
		{errorOf(c.Races.Registered(none, 99, 7)), "GET /api/v1/races/99: invalid argument: the context is nil; the outcome is unknown: look for the horse in the game before registering again"},
		{register(-3, 99, "key"), "POST /api/v1/races/register: invalid argument: horse number -3 is not positive"},
		{register(7, 0, "key"), "POST /api/v1/races/register: invalid argument: race id 0 is not positive"},
		{register(7, 99, ""), "POST /api/v1/races/register: invalid argument: the user key is empty"},
		{errorOf(c.Tournaments.Get(ctx, "")), "GET /api/v1/tournaments/{tournamentId}: invalid argument: the tournament id is empty"},
		{errorOf(c.Tournaments.Get(ctx, "..")), "GET /api/v1/tournaments/..: invalid argument: the tournament id is a dot segment, which would change the path"},
		{errorOf(c.Tournaments.Get(ctx, "a\nb")), "GET /api/v1/tournaments/a%0Ab: invalid argument: the tournament id contains a control character"},
		{errorOf(c.Tournaments.Get(ctx, double.AppKey+"\n")), "GET /api/v1/tournaments/[redacted]%0A: invalid argument: the tournament id contains a control character"},
		{errorOf(c.Tournaments.Get(ctx, horseracing.TournamentID(strings.Repeat("a", 300)+"\n"))),
			"GET /api/v1/tournaments/" + strings.Repeat("a", 200) + " …: invalid argument: the tournament id contains a control character"},
		{results(horseracing.ResultsQuery{Tier: -1}), "GET /api/v2/races/results: invalid argument: tier -1 is negative"},
		{errorOf(c.Races.ResultsV1(horseracing.OffsetQuery{Tier: -1}).Take(ctx, 1)), "GET /api/v1/races/results: invalid argument: tier -1 is negative"},
		{results(horseracing.ResultsQuery{Tier: 3, Resume: cursor}), "GET /api/v2/races/results: " + foreign},
		{results(horseracing.ResultsQuery{Resume: followed}), "GET /api/v2/races/results: " + foreign},
		{errorOf(c.Races.ResultsV1(horseracing.OffsetQuery{Resume: cursor}).Take(ctx, 1)), "GET /api/v1/races/results: " + foreign},
		{errorOf(c.Tournaments.Results(horseracing.ResultsQuery{Resume: cursor}).Take(ctx, 1)), "GET /api/v1/tournaments/results: " + foreign},
		{follow(horseracing.FollowQuery{Resume: cursor}), "GET /api/v2/races/results: " + foreign},
		{follow(horseracing.FollowQuery{Resume: followed, Tier: 4}), "GET /api/v2/races/results: " + foreign},
		{follow(horseracing.FollowQuery{Resume: followedCups}), "GET /api/v2/races/results: " + foreign},
		{errorsOf(c.Tournaments.Follow(horseracing.FollowQuery{Resume: followed}).CatchUp(ctx)), "GET /api/v1/tournaments/results: " + foreign},
		{results(horseracing.ResultsQuery{Concurrency: -1}), "GET /api/v2/races/results: invalid argument: a Concurrency of -1 is not between 0 and 1000"},
		{results(horseracing.ResultsQuery{Concurrency: 1001}), "GET /api/v2/races/results: invalid argument: a Concurrency of 1001 is not between 0 and 1000"},
		{results(horseracing.ResultsQuery{Since: noon.Add(time.Second), Before: noon}),
			"GET /api/v2/races/results: invalid argument: the Since 2025-06-01T12:00:01Z is after the Before 2025-06-01T12:00:00Z"},
		{errorOf(c.Races.Results(horseracing.ResultsQuery{}).Take(none, 5)), "GET /api/v2/races/results: invalid argument: the context is nil"},
		{errorOf(c.Races.ResultsV1(horseracing.OffsetQuery{Offset: -1}).Take(ctx, 1)), "GET /api/v1/races/results: invalid argument: an Offset of -1 is negative"},
		{follow(horseracing.FollowQuery{Interval: -time.Second}), "GET /api/v2/races/results: invalid argument: an Interval of -1s is negative"},
		{follow(horseracing.FollowQuery{Lookback: -time.Hour}), "GET /api/v2/races/results: invalid argument: a Lookback of -1h0m0s is negative"},
		{follow(horseracing.FollowQuery{Tier: -1}), "GET /api/v2/races/results: invalid argument: tier -1 is negative"},
		{errorsOf(c.Tournaments.Follow(horseracing.FollowQuery{Lookback: -1}).All(ctx)), "GET /api/v1/tournaments/results: invalid argument: a Lookback of -1ns is negative"},
		{errorsOf(c.Races.Watch(ctx, horseracing.WatchQuery{Interval: -time.Second})), "GET /api/v1/races/open: invalid argument: an Interval of -1s is negative"},
		{errorsOf(c.Races.Watch(none, horseracing.WatchQuery{})), "GET /api/v1/races/open: invalid argument: the context is nil"},
		{errorOf(c.Races.Open(ctx, backwards)), "GET /api/v1/races/open: invalid argument: CallRetry: MinWait 2ns is longer than MaxWait 1ns"},
		{register(7, 11, "key", horseracing.CallRetry(horseracing.Retry{MaxWait: -1})), "POST /api/v1/races/register: invalid argument: CallRetry: a wait of {Max:0 MinWait:0s MaxWait:-1ns} is negative"},
		{register(7, 11, "key", horseracing.AsBackground()), "POST /api/v1/races/register: invalid argument: AsBackground is for reads"},
		{c.Do(ctx, http.MethodDelete, "/api/v1/x", nil, nil, horseracing.AsBackground()), "DELETE /api/v1/x: invalid argument: AsBackground is for reads"},
		{errorOf(c.Races.Open(ctx, horseracing.OnSend(func() error { return nil }))), "GET /api/v1/races/open: invalid argument: OnSend is for calls that change something"},
		{register(7, 11, "key", horseracing.OnSend(nil)), "POST /api/v1/races/register: invalid argument: OnSend: the function is nil"},
	} {
		if !errors.Is(test.err, horseracing.ErrInvalidArgument) || test.err.Error() != test.want {
			t.Errorf("%v\nwant %s", test.err, test.want)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// errorsOf joins the errors of a loop.
func errorsOf[T any](all iter.Seq2[T, error]) error {
	var errs []error
	for _, err := range all {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
