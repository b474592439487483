package reading_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// TestErrorTexts holds what a person reads. None of these responses is retried,
// because that would not help, except a read that was damaged: that one is, once.
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
		{double.OpenRaces, double.Respond(403, ""), "GET /api/v1/races/open: status 403 Forbidden; the API key or the user key does not allow this"},
		{double.OneHorse, double.Respond(404, "no such horse\nsecond line"), "GET /api/v1/horses/7: status 404 Not Found: no such horse"},
		{double.OpenRaces, double.Respond(429, "", "Retry-After: 60"), "GET /api/v1/races/open: status 429 Too Many Requests; wait 1m0s before the next request"},
		{double.OpenRaces, double.Respond(503, "", "Retry-After: 3600"), "GET /api/v1/races/open: status 503 Service Unavailable; wait 1h0m0s before the next request"},
		{double.OpenRaces, double.Respond(501, `"sorry"`), `GET /api/v1/races/open: status 501 Not Implemented: "sorry"`},
		{double.OpenRaces, double.Respond(400, "\x1b[31mred\x1b[0m \u202eevil"), "GET /api/v1/races/open: status 400 Bad Request: [31mred[0m evil"},
		{double.OpenRaces, double.Respond(301, "", "Location: https://new.test/x"), "GET /api/v1/races/open: status 301 Moved Permanently: to https://new.test; redirects are not followed, because that could send the API key to another host: change the base URL"},

		// proxies that dislike a GET with a body
		{double.Owned, double.Respond(403, page), "GET /api/v1/horses/user: status 403 Forbidden: an HTML page; a proxy may refuse GET requests with a body: bypass it"},
		{double.Owned, double.Respond(403, "\n<center>no</center>", "Content-Type: text/html; charset=utf-8"), "GET /api/v1/horses/user: status 403 Forbidden: an HTML page; a proxy may refuse GET requests with a body: bypass it"},
		{double.Owned, double.Respond(403, "<Error>no</Error>", "Content-Type: text/xml"), "GET /api/v1/horses/user: status 403 Forbidden: <Error>no</Error>; the API key or the user key does not allow this"},
		{double.OpenRaces, double.Respond(403, page), "GET /api/v1/races/open: status 403 Forbidden: an HTML page; the API key or the user key does not allow this"},

		// a success that is none
		{double.OpenRaces, double.Respond(200, `{"error":"maintenance"}`), "GET /api/v1/races/open: status 200 OK: maintenance"},
		{double.OneHorse, double.Respond(200, `{"errors":[{"detail":"bad key"}]}`), "GET /api/v1/horses/7: status 200 OK: bad key"},
		{double.OneHorse, double.Respond(200, `{"message":"bad key","code":7}`), "GET /api/v1/horses/7: status 200 OK: bad key"},
		{double.OneHorse, double.Respond(200, `{"name":"NotFoundError","message":"no such horse"}`), "GET /api/v1/horses/7: status 200 OK: no such horse"},
		{double.OpenCups, double.Respond(200, `{"message":["try later","or not"],"name":"Busy","code":7}`), "GET /api/v1/tournaments/open: status 200 OK: try later"},
		{double.OneHorse, double.Respond(200, `{"name":"Comet","number":7,"message":"hello"}`), "<nil>"},
		{double.Missions, double.Respond(200, `{"error":true,"message":"asleep"}`), "GET /api/v1/missions: status 200 OK: asleep"},
		{double.OneCup, double.Respond(200, `{"_id":"5f","error":"asleep"}`), "GET /api/v1/tournaments/5f: status 200 OK: asleep"},
		{double.OpenRaces, double.Respond(200, page), "GET /api/v1/races/open: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{double.OpenRaces, double.Respond(200, "<h1>Sign in</h1>"), "GET /api/v1/races/open: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{double.OpenRaces, double.Respond(204, ""), "GET /api/v1/races/open: cannot read the response: it is empty"},

		// another shape
		{double.OpenRaces, double.Respond(200, "null"), "GET /api/v1/races/open: cannot read the response: expected an array, got null"},
		{double.OpenRaces, double.Respond(200, `{"races":[]}`), "GET /api/v1/races/open: cannot read the response: an object does not fit []Race"},
		{double.Cups, double.Respond(200, `{"name":"Cup","description":"A nice cup"}`), "GET /api/v1/tournaments/results: cannot read the response: an object does not fit []Tournament"},
		{double.OneHorse, double.Respond(200, `[{"name":"x"}]`), "GET /api/v1/horses/7: cannot read the response: an array does not fit Horse"},
		{double.OpenRaces, double.Respond(200, `[{"v2":true},{}]`), "GET /api/v1/races/open: cannot read the response at /1: the entry is null or has none of the documented members"},
		{double.OpenRaces, double.Respond(200, "[[]]"), "GET /api/v1/races/open: cannot read the response at /0: an array does not fit Race"},
		{double.OneHorse, double.Respond(200, "{}"), "GET /api/v1/horses/7: cannot read the response: the object has none of the documented members"},

		// nothing there
		{double.OneRace, double.Respond(200, "null"), "GET /api/v1/races/11: not found: status 200 OK, but the response does not contain it"},

		// not JSON
		{double.OpenRaces, double.Respond(200, `[{"level":1}`), "GET /api/v1/races/open: cannot read the response: the response was cut short"},
		{double.OpenRaces, double.Respond(200, `[] []`), "GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '[' after top-level value"},
		{double.OpenRaces, double.Respond(200, `[01]`), "GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '1' after array element (expecting ',' or ']')"},
		{double.OneRace, double.Respond(200, "[\f]"), `GET /api/v1/races/11: cannot read the response at /0: not valid JSON: invalid character '\f' at start of value`},
		{double.OpenRaces, double.Respond(200, "\x1f\x8b\x08\x00"), `GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '\x1f' at start of value`},
		{double.OpenRaces, double.Respond(200, `[{"tier":"a","tier":"b"}]`), `GET /api/v1/races/open: cannot read the response at /0/tier: not valid JSON: duplicate object member name`},
		{double.OpenRaces, double.Respond(200, "["+strings.Repeat("{},", 999)+"{}]"), "GET /api/v1/races/open: cannot read 1000 of 1000 entries, the first of them at /0: the entry is null or has none of the documented members"},

		// a member of another type
		{double.OpenRaces, double.Respond(200, `[{"v2":true},{"v2":true},{"v2":true},{"entry_fee":"0x10"}]`), "GET /api/v1/races/open: cannot read the response at /3/entry_fee: a string does not fit BigInt: a quoted integer must be in plain base 10"},
		{double.OpenRaces, double.Respond(200, `[{"entry_fee":1e101}]`), "GET /api/v1/races/open: cannot read the response at /0/entry_fee: a number does not fit BigInt: a number of more than 100 digits"},
		{double.OpenRaces, double.Respond(200, `[{"entry_fee":1.5}]`), "GET /api/v1/races/open: cannot read the response at /0/entry_fee: a number does not fit BigInt: not an integer of at most 100 digits"},
		{double.OpenRaces, double.Respond(200, `[{"prizes":[1,"x"]}]`), "GET /api/v1/races/open: cannot read the response at /0/prizes/1: a string does not fit Number: not a number in JSON notation"},
		{double.OpenRaces, double.Respond(200, `[{"length":"12"}]`), "GET /api/v1/races/open: cannot read the response at /0/length: a string does not fit int"},
		{double.OpenRaces, double.Respond(200, `[{"length":1.5}]`), "GET /api/v1/races/open: cannot read the response at /0/length: the number 1.5 does not fit int"},
		{double.OpenRaces, double.Respond(200, `[{"info":[]}]`), "GET /api/v1/races/open: cannot read the response at /0/info: an array does not fit RaceInfo"},
		{double.OpenRaces, double.Respond(200, `[{"start_time":"2026"}]`), "GET /api/v1/races/open: cannot read the response at /0/start_time: a string does not fit Timestamp: not a number in JSON notation"},
		{double.OpenRaces, double.Respond(200, `[{"start_time":1e30}]`), "GET /api/v1/races/open: cannot read the response at /0/start_time: a number does not fit Timestamp: not a whole number of milliseconds in the years 1 to 9999"},
		{double.OneHorse, double.Respond(200, `{"breeding_cooldown":"tomorrow"}`), `GET /api/v1/horses/7: cannot read the response at /breeding_cooldown: a string does not fit time.Time: parsing time "tomorrow" as "2006-01-02T15:04:05Z07:00": cannot parse "tomorrow" as "2006"`},
		{double.OpenCups, double.Respond(200, `[{"additional_prizes":[{},{"additional_token":"x"}]}]`), "GET /api/v1/tournaments/open: cannot read the response at /0/additional_prizes/1: an object does not fit AdditionalPrize: additional_token: a string does not fit BigInt: a quoted integer must be in plain base 10"},
		{double.OneCup, double.Respond(200, `{"additional_prizes":[{"additional_items":[{"_id":7}]}]}`), `GET /api/v1/tournaments/5f: cannot read the response at /additional_prizes/0: an object does not fit AdditionalPrize: additional_items/0/_id: a number does not fit string`},

		// too much
		{double.OpenRaces, double.Respond(200, strings.Repeat(" ", 5000)), "GET /api/v1/races/open: response too large: more than 4096 bytes (WithMaxResponseBytes)"},
		{double.OpenRaces, double.Stream(200, -1, func() double.Reader { return double.Endless("[") }), "GET /api/v1/races/open: response too large: more than 4096 bytes (WithMaxResponseBytes)"},
		{double.OpenRaces, double.Stream(400, -1, func() double.Reader { return double.Endless("[") }), "GET /api/v1/races/open: status 400 Bad Request: " + strings.Repeat("[", 200) + " …"},

		// money
		{double.Register, double.Respond(400, `{"message":"the race is full"}`), "POST /api/v1/races/register: status 400 Bad Request: the race is full"},
		{double.Register, double.Respond(500, ""), "POST /api/v1/races/register: status 500 Internal Server Error; the outcome is unknown: call Races.Settle before registering again"},
		{double.Register, double.Broken(double.ErrReset), "POST /api/v1/races/register: connection reset by peer; the outcome is unknown: call Races.Settle before registering again"},
		{double.Register, double.Respond(200, page), "POST /api/v1/races/register: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page; the outcome is unknown: call Races.Settle before registering again"},
	} {
		t.Run(test.want[:min(len(test.want), 90)], func(t *testing.T) {
			s := double.Play(test.response)
			err := test.call(t.Context(), s.Client(t, horseracing.WithMaxResponseBytes(4096), double.Briefly))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			requests := 1
			if damaged := "cannot read the response: "; strings.HasPrefix(test.want, "GET") &&
				(strings.Contains(test.want, damaged+"expected JSON, got an HTML page") || strings.HasSuffix(test.want, "cut short")) {
				requests = 2
			}
			if n := len(s.Requests()); n != requests {
				t.Errorf("%d requests, want %d", n, requests)
			}
		})
	}
}

func TestAnErrorsTextIsBounded(t *testing.T) {
	double.UnlessShort(t)
	t.Parallel()
	long := strings.Repeat("word ", 1<<20)
	for name, s := range map[string]double.Step{
		"message":  double.Respond(400, `{"message":"`+long+`"}`),
		"plain":    double.Respond(400, long),
		"pointer":  double.Respond(200, `[{"`+long+`":1,"`+long+`":2}]`),
		"location": double.Respond(301, "", "Location: https://"+strings.Repeat("x", 100_000)+".test/"),
		"cause":    double.Broken(errors.New(long)),
	} {
		_, err := double.Play(s).Client(t, horseracing.WithRetry(horseracing.Retry{Max: -1})).Races.Open(t.Context())
		if err == nil || len(err.Error()) >= 2048 || !strings.HasPrefix(err.Error(), "GET /api/v1/races/open: ") {
			t.Errorf("%s: %d bytes: %.100s", name, len(err.Error()), err)
		}
		var api *horseracing.APIError
		if errors.As(err, &api) && (len(api.Body) > 64<<10 || len(api.Message) > 64<<10) {
			t.Errorf("%s: body of %d bytes, message of %d", name, len(api.Body), len(api.Message))
		}
		_, err = double.Play(s).Client(t).Races.Register(t.Context(), double.Entry)
		if err == nil || len(err.Error()) >= 2048 {
			t.Errorf("%s: %d bytes", name, len(err.Error()))
		}
	}
}

// Of twenty look-ups at once the error names the one that failed.
func TestErrorsCarryTheIDThatWasRequested(t *testing.T) {
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	failures := map[string]double.Step{"status": double.Respond(404, ""), "nothing": double.Respond(200, "null"), "broken": double.Broken(double.ErrReset), "undecodable": double.Respond(200, "17")}
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
			if walk := op.Further != nil; !walk && !strings.Contains(log.String(), "operation=\""+operation+"\"") || strings.Contains(log.String(), "{") {
				t.Errorf("%s, %s: the log has not %s:\n%s", op.Name, name, operation, log.String())
			}
		}
	}
}

func TestInvalidUTF8InANameCostsNothing(t *testing.T) {
	races, err := double.Play(double.Respond(200, "[{\"info\":{\"name\":\"Pr\xffx\"}}]")).Client(t).Races.Open(t.Context())
	if err != nil || races[0].Info.Name != "Pr\ufffdx" {
		t.Errorf("got %+v, %v", races, err)
	}
}

// encoding/json takes ENTRY_FEE for entry_fee; here a name is a name.
func TestMembersMatchByTheirExactName(t *testing.T) {
	races, err := double.Play(double.Respond(200, `[{"entry_fee":5,"ENTRY_FEE":7,"Tier":"x"}]`)).Client(t).Races.Open(t.Context())
	if err != nil || races[0].EntryFee.String() != "5" || races[0].Tier != "" {
		t.Errorf("got %+v, %v", races, err)
	}
}

func TestAnEmptyErrorMemberIsNoError(t *testing.T) {
	for _, member := range []string{`"error":null`, `"error":false`, `"error":""`, `"errors":[]`, `"errors":{}`, `"note":"error"`} {
		horse, err := double.Play(double.Respond(200, `{"name":"Comet",`+member+`}`)).Client(t).Horses.Get(t.Context(), 7)
		if err != nil || horse.Name != "Comet" {
			t.Errorf("%s: %v", member, err)
		}
	}
	horse, err := double.Play(double.Respond(200, `{"name":"error","level":3}`)).Client(t).Horses.Get(t.Context(), 7)
	if err != nil || horse.Level != 3 {
		t.Errorf("a horse named error: %v", err)
	}
}

// serve is a service of a real socket.
func serve(t *testing.T, handle http.HandlerFunc) *horseracing.Client {
	server := httptest.NewUnstartedServer(handle)
	server.Config.ErrorLog = double.Silent
	server.Start()
	t.Cleanup(server.Close)
	return double.Connect(t, server.URL, server.Client(), horseracing.WithRetry(horseracing.Retry{Max: -1}))
}

func TestGzipIsReadAndACutOneIsNoticed(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, `[{"level":3},`+strings.Repeat(`{"level":4},`, 1000)+`{"level":5}]`)
	z.Close()
	for _, cut := range []int{0, 1, 8, packed.Len() / 2} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes()[:packed.Len()-cut])
		})
		horses, err := c.Horses.Owned(t.Context(), "u")
		if cut == 0 && (err != nil || len(horses) != 1002) || cut > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut by %d: %d horses, %v", cut, len(horses), err)
		}
	}
}

func TestADamagedGzipIsRetriedOnce(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, `[{"level":3}]`)
	z.Close()
	for _, damaged := range []int{0, packed.Len() - 8} { // the header, the checksum
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			body := bytes.Clone(packed.Bytes())
			body[damaged] ^= 1
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(body)
		}))
		t.Cleanup(server.Close)
		horses, err := double.Connect(t, server.URL, server.Client(), double.Briefly).Horses.Owned(t.Context(), "u")
		if n := requests.Load(); n != 2 || err == nil || len(horses) != 0 {
			t.Errorf("byte %d damaged: %d requests, %d horses, %v", damaged, n, len(horses), err)
		}
	}
}

func TestACutBodyIsNotTakenForAResponse(t *testing.T) {
	body := `[{"level":1},{"level":2}]`
	for name, test := range map[string]struct {
		head string
		is   func(error) bool
	}{
		"with a length":    {"Content-Length: 100\r\n\r\n" + body, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"chunked":          {"Transfer-Encoding: chunked\r\n\r\n19\r\n" + body + "\r\n", func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"without a length": {"Connection: close\r\n\r\n" + body[:20], func(err error) bool { var d *horseracing.DecodeError; return errors.As(err, &d) }},
	} {
		url := double.H1scriptText(t, "HTTP/1.1 200 OK\r\n"+test.head)
		c := double.Connect(t, url, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, double.Briefly)
		if _, err := c.Horses.Owned(t.Context(), "u"); !test.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A large body that is only announced takes no memory.
func TestAnAnnouncedLengthIsNotAllocated(t *testing.T) {
	url := double.H1scriptText(t, "HTTP/1.1 200 OK\r\nContent-Length: 33000000\r\n\r\n[")
	c := double.Connect(t, url, &http.Client{Transport: &http.Transport{}}, horseracing.WithRetry(horseracing.Retry{Max: -1}))
	memory := grown(func() { c.Races.Open(t.Context()) })
	if memory > 8<<20 {
		t.Errorf("took %d MiB", memory>>20)
	}
}

func TestWithMaxResponseBytesTakesAnyNumber(t *testing.T) {
	for limit, ok := range map[int64]bool{1: false, 12: false, 13: true, 14: true, 1<<63 - 1: true} {
		for _, length := range []int64{13, -1} {
			s := double.Stream(200, length, func() double.Reader { return strings.NewReader(`[{"level":1}]`) })
			_, err := double.Play(s).Client(t, horseracing.WithMaxResponseBytes(limit)).Horses.Owned(t.Context(), "u")
			if ok && err != nil || !ok && !errors.Is(err, horseracing.ErrResponseTooLarge) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":0,`, i)
	}
	return b.String() + `"v2":true`
}

// Also where it is a member that a type reads by itself.
func TestADecodeErrorNamesAboutWhereTheResponseIsWrong(t *testing.T) {
	long := strings.Repeat(" ", 500)
	for _, body := range []string{
		`[{"name":"a",` + long + `"turf":"wrong"},` + long + `{"name":"b"}]`,
		`[{"name":"a",` + long + `"additional_prizes":[{"additional_token":1,"additional_treasury_token":"wrong"}]},` + long + `{"name":"b"}]`,
		`[{"name":"a",` + long + `"turf":wrong},` + long + `{"name":"b"}]`,
	} {
		_, err := double.Play(double.Respond(200, body)).Client(t).Tournaments.Open(t.Context())
		d, ok := errors.AsType[*horseracing.DecodeError](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		if away := int64(strings.Index(body, "wrong")) - d.Offset; away < -20 || away > 60 {
			t.Errorf("%v: reported at %d, %d bytes away", err, d.Offset, away)
		}
	}
}
