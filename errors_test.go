package horseracing_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// Each kind of failure is one error, whose text names the operation, what is wrong, and what
// to do about it. Of twenty look-ups at once it names the one that failed.
func TestErrorTextSaysWhatIsWrong(t *testing.T) {
	const page, open, owned = "<!DOCTYPE html>\n<html><title>403</title></html>", "GET /api/v1/races/open: ", "GET /api/v1/horses/user: "
	oneCup := func(ctx context.Context, c *horseracing.Client) error { return errorOf(c.Tournaments.Get(ctx, "5f")) }
	const unknown = "; the outcome is unknown: call Races.Registered before registering again"
	for _, test := range []struct {
		call     func(context.Context, *horseracing.Client) error
		response httpmock.Responder
		want     string
	}{
		// statuses
		{double.OpenRaces, double.Respond(400, `{"statusCode":400,"message":["tier is not a number"],"error":"Bad Request"}`), open + "status 400 Bad Request: tier is not a number"},
		{double.OpenRaces, double.Respond(400, `{"error":{"code":"bad","message":"tier is not a number"}}`), open + "status 400 Bad Request: tier is not a number"},
		{double.OpenRaces, double.Respond(401, `{"message":"unknown key"}`), open + "status 401 Unauthorized: unknown key; check the API key"},
		{double.OpenRaces, double.Respond(404, ""), open + "status 404 Not Found; check the base URL"}, // a list is always there
		{double.OneHorse, double.Respond(404, "no such horse\nsecond line"), "GET /api/v1/horses/7: status 404 Not Found: no such horse"},
		{double.OpenRaces, double.Respond(429, ""), open + "status 429 Too Many Requests; send fewer requests: WithRateLimit sets a limit"},
		{double.OpenRaces, double.Respond(400, "\x1b[31mred\x1b[0m \u202eevil"), open + "status 400 Bad Request: [31mred[0m evil"},
		{double.OpenRaces, double.Respond(301, "", "Location: https://user:pass@new.test/x?a=b"), open + "status 301 Moved Permanently: to https://new.test; redirects are not followed, because that could send the API key to another host: change the base URL"},
		{double.OpenRaces, double.Respond(307, "", "Location: /moved"), open + "status 307 Temporary Redirect: to https://game.test; redirects are not followed, because that could send the API key to another host: change the base URL"},
		{double.OpenRaces, double.Respond(308, "", "Location: https://%zz/"), open + "status 308 Permanent Redirect: to an unreadable location; redirects are not followed, because that could send the API key to another host: change the base URL"},
		{double.Owned, double.Respond(403, page), owned + "status 403 Forbidden: an HTML page; the page is probably from a proxy or firewall, which may refuse GET requests with a body: use a network without it"},
		{double.OpenRaces, double.Respond(401, page), open + "status 401 Unauthorized: an HTML page; the page is probably from a proxy or firewall, not from the service"},
		{double.OpenRaces, double.Respond(403, `{"message":"Forbidden"}`), open + "status 403 Forbidden: Forbidden"},
		{double.Owned, double.Respond(403, `{"message":"Forbidden"}`), owned + "status 403 Forbidden: Forbidden; if the keys are right, this may be from a proxy or firewall, which may refuse GET requests with a body: use a network without it"},
		{double.Owned, double.Respond(403, "", "Retry-After: 60"), owned + "status 403 Forbidden; wait 1m0s before the next request"},
		{double.Owned, double.Respond(404, page), owned + "status 404 Not Found: an HTML page; the page is probably from a proxy or firewall, not from the service"},
		{double.Owned, httpmock.NewErrorResponder(&transport.TimeoutError{Timeout: 5 * time.Second, SetBy: "A"}), owned + "no complete response within the 5s of A; some proxies drop the body of a GET request, for which a service may then wait: use a network without such a proxy"},
		{double.OpenRaces, httpmock.NewErrorResponder(&transport.TimeoutError{Timeout: 5 * time.Second, SetBy: "A"}), open + "no complete response within the 5s of A"},

		{double.OneHorse, httpmock.NewErrorResponder(double.ErrReset), "GET /api/v1/horses/7: connection reset by peer"},
		{double.OneHorse, httpmock.NewErrorResponder(tls.RecordHeaderError{Msg: "no TLS"}), "GET /api/v1/horses/7: tls: no TLS; the server does not speak TLS: should the base URL begin with http:// instead?"},

		// a success that is none
		{double.OpenRaces, double.Respond(200, `{"error":"maintenance"}`), open + "status 200 OK: maintenance"},
		{double.OneHorse, double.Respond(200, `{"message":"bad key","code":7}`), "GET /api/v1/horses/7: status 200 OK: bad key"},
		{oneCup, double.Respond(200, `{"_id":"5f","errors":[{"detail":"asleep"}]}`), "GET /api/v1/tournaments/5f: status 200 OK: asleep"},
		{double.OneHorse, double.Respond(200, `{"name":"Comet","number":7,"message":"hello"}`), "<nil>"},
		{double.OneHorse, double.Respond(200, `{"number":7,"error":null,"errors":[],"note":"error"}`), "<nil>"},
		{double.OneHorse, double.Respond(200, `{"number":7,"error":false,"errors":{},"name":"error"}`), "<nil>"},
		{double.OneHorse, double.Respond(200, `{"number":7,"error":""}`), "<nil>"},
		{double.OneRace, double.Respond(200, "null"), "GET /api/v1/races/11: not found: status 200 OK, but the response does not contain it"},

		// a response that cannot be read
		{double.OneHorse, double.Respond(503, "\n"+page), "GET /api/v1/horses/7: status 503 Service Unavailable: an HTML page"},
		{double.OneHorse, double.Respond(200, `"<html>"`), "GET /api/v1/horses/7: cannot read the response: a string does not fit []Horse"},
		{double.OpenRaces, double.Respond(200, "<?xml version='1.0'?>\n<html>"), open + "cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{double.OpenRaces, double.Respond(200, "x", "Content-Encoding: br"), open + `cannot read the response: the body has a Content-Encoding that is not supported: "br"`},
		{double.OpenRaces, double.Respond(200, ""), open + "cannot read the response: it is empty"},
		{double.OpenRaces, double.Respond(202, ""), open + "cannot read the response: status 202 means that the service has not finished: it is empty"},
		{double.OpenRaces, double.Respond(200, `{"races":[]}`), open + "cannot read the response: an object does not fit []Race"},
		{double.OpenRaces, double.Respond(200, `[{"level":1}`), open + "cannot read the response: not valid JSON: unexpected EOF"},
		{double.OpenRaces, double.Respond(200, `[] []`), open + "cannot read the response: not valid JSON: invalid character '[' after top-level value"},
		{double.OpenRaces, double.Respond(200, `[{"main_race_id":1},{"entry_fee":"0x10"}]`), open + "cannot read the response at /1/entry_fee: a string does not fit BigInt: a quoted integer must be in plain base 10"},
		{double.OpenRaces, double.Respond(200, `[{"participants":[{"number":1},{"number":1,"number":2}]}]`), open + "cannot read the response at /0/participants/1/number: not valid JSON: duplicate object member name"},
		{double.OpenRaces, double.Respond(200, `[{"main_race_id":1},{"a":1,"a":2}]`), open + "cannot read the response at /1/a: not valid JSON: duplicate object member name"},
		{double.OpenRaces, double.Respond(200, strings.Repeat(" ", 5000)), open + "response too large: more than 4096 bytes (WithMaxResponseBytes)"},

		// money
		{double.Register, double.Respond(400, `{"message":"the race is full"}`), "POST /api/v1/races/register: status 400 Bad Request: the race is full"},
		{double.Register, double.Respond(500, ""), "POST /api/v1/races/register: status 500 Internal Server Error" + unknown},
		{double.Register, double.Respond(200, page), "POST /api/v1/races/register: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page" + unknown},
		{double.Register, httpmock.NewErrorResponder(double.ErrReset), "POST /api/v1/races/register: connection reset by peer" + unknown},
	} {
		err := test.call(t.Context(), double.Client(t, test.response, horseracing.WithMaxResponseBytes(4096), double.NoRetries()))
		double.Equal(t, "text", test.want, fmt.Sprint(err))
		double.Equal(t, test.want+": is of a page", strings.Contains(test.want, "an HTML page"), errors.Is(err, horseracing.ErrHTML))
	}
}

// After a GET with a body was accepted, bodies are not suspected, and a page may be that of a rate limit.
func TestErrorTextDoesNotSuspectBodiesThatWereAccepted(t *testing.T) {
	body, status := "[]", 200
	c := double.Client(t, func(req *http.Request) (*http.Response, error) { return double.Respond(status, body)(req) }, double.NoRetries())
	double.Error(t, "accepted", nil, "", double.Owned(t.Context(), c))
	body = "<html>"
	for refused, want := range map[int]string{400: "proxy or firewall, not from the service", 403: "WithRateLimit", 429: "WithRateLimit"} {
		status = refused
		double.Error(t, fmt.Sprint(status), horseracing.ErrHTML, want, double.Owned(t.Context(), c))
	}
}

// The sentinels of a status are those that its meaning in HTTP suggests.
func TestAPIErrorMatchesTheSentinelsOfItsStatus(t *testing.T) {
	sentinels := map[int]error{
		304: nil, 400: nil, 308: horseracing.ErrRedirect, 401: horseracing.ErrUnauthorized, 403: horseracing.ErrForbidden, 404: horseracing.ErrNotFound,
		429: horseracing.ErrRateLimited, 503: horseracing.ErrServer, 599: horseracing.ErrServer,
	}
	for status, want := range sentinels {
		for _, sentinel := range sentinels {
			isOf := sentinel != nil && sentinel == want
			double.Equal(t, fmt.Sprintf("status %d: %v", status, sentinel), isOf, errors.Is(&horseracing.APIError{StatusCode: status}, sentinel))
			isLimit := isOf || status == 403 && sentinel == horseracing.ErrRateLimited
			double.Equal(t, fmt.Sprintf("status %d with a wait: %v", status, sentinel), isLimit, errors.Is(&horseracing.APIError{StatusCode: status, RetryAfter: 1}, sentinel))
		}
	}
}

func TestErrInvalidArgumentIsFoundBeforeAnyRequest(t *testing.T) {
	var none context.Context // nil, as callers leave it by mistake
	ctx, noon := t.Context(), time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	c, mock := double.Mocked(t, nil)
	register := func(horse horseracing.HorseNumber, race horseracing.RaceID, key horseracing.UserKey, opts ...horseracing.CallOption) error {
		return errorOf(c.Races.Register(ctx, horseracing.Registration{Horse: horse, Race: race, UserKey: key}, opts...))
	}
	results := func(q horseracing.ResultsQuery) error { return errorOf(c.Races.Results(q).Take(ctx, 1)) }
	follow := func(q horseracing.FollowQuery) error { return errorsOf(c.Races.Follow(q).All(ctx)) }
	cursor := c.Races.Results(horseracing.ResultsQuery{}).Cursor()
	backwards := horseracing.CallRetry(horseracing.Retry{MinWait: 2, MaxWait: 1})
	for want, err := range map[string]error{
		"GET /api/v1/horses/-3: invalid argument: horse number -3 is not positive":                                             errorOf(c.Horses.Get(ctx, -3)),
		"GET /api/v1/horses/user: invalid argument: the user key is empty":                                                     errorOf(c.Horses.Owned(ctx, "")),
		"GET /api/v1/races/0: invalid argument: race id 0 is not positive":                                                     errorOf(c.Races.Get(ctx, 0)),
		"GET /api/v1/races/99: invalid argument: the context is nil":                                                           errorOf(c.Races.Get(none, 99)),
		"POST /api/v1/races/register: invalid argument: race id 0 is not positive":                                             register(7, 0, "key"),
		"POST /api/v1/races/register: invalid argument: AsBackground is for reads":                                             register(7, 11, "key", horseracing.AsBackground()),
		"POST /api/v1/races/register: invalid argument: OnSend: the function is nil":                                           register(7, 11, "key", horseracing.OnSend(nil)),
		"GET /api/v1/tournaments/[redacted]%0A: invalid argument: the tournament id contains a control character":              errorOf(c.Tournaments.Get(ctx, double.AppKey+"\n")),
		"GET /api/v2/races/results: invalid argument: tier -1 is negative":                                                     results(horseracing.ResultsQuery{Tier: -1}),
		"GET /api/v2/races/results: invalid argument: a Concurrency of 1001 is not between 0 and 1000":                         results(horseracing.ResultsQuery{Concurrency: 1001}),
		"GET /api/v2/races/results: invalid argument: the Before 1969-12-31T23:59:59Z is not after the beginning of 1970":      results(horseracing.ResultsQuery{Before: time.Unix(-1, 0).UTC()}),
		"GET /api/v2/races/results: invalid argument: the Since 2025-06-01T12:00:01Z is after the Before 2025-06-01T12:00:00Z": results(horseracing.ResultsQuery{Since: noon.Add(time.Second), Before: noon}),
		"GET /api/v2/races/results: invalid argument: the cursor in Resume is of another listing or of another tier":           results(horseracing.ResultsQuery{Tier: 3, Resume: cursor}),
		"GET /api/v1/races/results: invalid argument: an Offset of -1 is negative":                                             errorOf(c.Races.ResultsV1(horseracing.OffsetQuery{Offset: -1}).Take(ctx, 1)),
		"GET /api/v2/races/results: invalid argument: an Interval of -1s is negative":                                          follow(horseracing.FollowQuery{Interval: -time.Second}),
		"GET /api/v1/races/open: invalid argument: an Interval of -1s is negative":                                             errorsOf(c.Races.Watch(ctx, horseracing.WatchQuery{Interval: -time.Second})),
		"GET /api/v1/races/open: invalid argument: CallRetry: MinWait 2ns is longer than MaxWait 1ns":                          errorOf(c.Races.Open(ctx, backwards)),
		"GET /api/v1/races/open: invalid argument: OnSend is for calls that change something":                                  errorOf(c.Races.Open(ctx, horseracing.OnSend(func() error { return nil }))),
	} {
		double.Error(t, "error", horseracing.ErrInvalidArgument, "", err)
		double.Equal(t, "text", want, fmt.Sprint(err))
	}
	double.Equal(t, "requests", 0, mock.GetTotalCallCount())
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
