package guarantees_test

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
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

// The calls that the responses below are given to.
var (
	openRaces = func(ctx context.Context, c *horseracing.Client) error { _, err := c.Races.Open(ctx); return err }
	oneRace   = func(ctx context.Context, c *horseracing.Client) error { _, err := c.Races.Get(ctx, 11); return err }
	oneHorse  = func(ctx context.Context, c *horseracing.Client) error { _, err := c.Horses.Get(ctx, 7); return err }
	owned     = func(ctx context.Context, c *horseracing.Client) error { _, err := c.Horses.Owned(ctx, "u"); return err }
	openCups  = func(ctx context.Context, c *horseracing.Client) error { _, err := c.Tournaments.Open(ctx); return err }
	oneCup    = func(ctx context.Context, c *horseracing.Client) error {
		_, err := c.Tournaments.Get(ctx, "5f")
		return err
	}
	cups = func(ctx context.Context, c *horseracing.Client) error {
		_, err := c.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, 1)
		return err
	}
	missions = func(ctx context.Context, c *horseracing.Client) error {
		_, err := c.Missions.Catalogue(ctx)
		return err
	}
	register = func(ctx context.Context, c *horseracing.Client) error {
		_, err := c.Races.Register(ctx, entry)
		return err
	}
)

// TestErrorTexts holds what a person reads. None of these responses is retried,
// because that would not help, except a read that was damaged: that one is, once.
func TestErrorTexts(t *testing.T) {
	page := "<!DOCTYPE html>\n<html><title>403</title></html>"
	for _, test := range []struct {
		call     func(context.Context, *horseracing.Client) error
		response step
		want     string
	}{
		// statuses
		{openRaces, respond(400, `{"error":{"code":"bad","message":"tier is not a number"}}`), "GET /api/v1/races/open: status 400 Bad Request: tier is not a number"},
		{openRaces, respond(400, `{"statusCode":400,"message":["tier is not a number"],"error":"Bad Request"}`), "GET /api/v1/races/open: status 400 Bad Request: tier is not a number"},
		{openRaces, respond(400, `{"error":{"error":{"message":"deep"}}}`), `GET /api/v1/races/open: status 400 Bad Request: {"error":{"error":{"message":"deep"}}}`},
		{openRaces, respond(401, `{"message":"unknown key"}`), "GET /api/v1/races/open: status 401 Unauthorized: unknown key; check the API key"},
		{openRaces, respond(403, ""), "GET /api/v1/races/open: status 403 Forbidden; the API key or the user key does not allow this"},
		{oneHorse, respond(404, "no such horse\nsecond line"), "GET /api/v1/horses/7: status 404 Not Found: no such horse"},
		{openRaces, respond(429, "", "Retry-After: 60"), "GET /api/v1/races/open: status 429 Too Many Requests; wait 1m0s before the next request"},
		{openRaces, respond(503, "", "Retry-After: 3600"), "GET /api/v1/races/open: status 503 Service Unavailable; wait 1h0m0s before the next request"},
		{openRaces, respond(501, `"sorry"`), `GET /api/v1/races/open: status 501 Not Implemented: "sorry"`},
		{openRaces, respond(400, "\x1b[31mred\x1b[0m \u202eevil"), "GET /api/v1/races/open: status 400 Bad Request: [31mred[0m evil"},
		{openRaces, respond(301, "", "Location: https://new.test/x"), "GET /api/v1/races/open: status 301 Moved Permanently: to https://new.test; redirects are not followed, because that could send the API key to another host: change the base URL"},

		// proxies that dislike a GET with a body
		{owned, respond(403, page), "GET /api/v1/horses/user: status 403 Forbidden: an HTML page; a proxy may refuse GET requests with a body: bypass it"},
		{owned, respond(403, "\n<center>no</center>", "Content-Type: text/html; charset=utf-8"), "GET /api/v1/horses/user: status 403 Forbidden: an HTML page; a proxy may refuse GET requests with a body: bypass it"},
		{owned, respond(403, "<Error>no</Error>", "Content-Type: text/xml"), "GET /api/v1/horses/user: status 403 Forbidden: <Error>no</Error>; the API key or the user key does not allow this"},
		{openRaces, respond(403, page), "GET /api/v1/races/open: status 403 Forbidden: an HTML page; the API key or the user key does not allow this"},

		// a success that is none
		{openRaces, respond(200, `{"error":"maintenance"}`), "GET /api/v1/races/open: status 200 OK: maintenance"},
		{oneHorse, respond(200, `{"errors":[{"detail":"bad key"}]}`), "GET /api/v1/horses/7: status 200 OK: bad key"},
		{oneHorse, respond(200, `{"message":"bad key","code":7}`), "GET /api/v1/horses/7: status 200 OK: bad key"},
		{oneHorse, respond(200, `{"name":"NotFoundError","message":"no such horse"}`), "GET /api/v1/horses/7: status 200 OK: no such horse"},
		{openCups, respond(200, `{"message":["try later","or not"],"name":"Busy","code":7}`), "GET /api/v1/tournaments/open: status 200 OK: try later"},
		{oneHorse, respond(200, `{"name":"Comet","number":7,"message":"hello"}`), "<nil>"},
		{missions, respond(200, `{"error":true,"message":"asleep"}`), "GET /api/v1/missions: status 200 OK: asleep"},
		{oneCup, respond(200, `{"_id":"5f","error":"asleep"}`), "GET /api/v1/tournaments/5f: status 200 OK: asleep"},
		{openRaces, respond(200, page), "GET /api/v1/races/open: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{openRaces, respond(200, "<h1>Sign in</h1>"), "GET /api/v1/races/open: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page"},
		{openRaces, respond(204, ""), "GET /api/v1/races/open: cannot read the response: it is empty"},

		// another shape
		{openRaces, respond(200, "null"), "GET /api/v1/races/open: cannot read the response: expected an array, got null"},
		{openRaces, respond(200, `{"races":[]}`), "GET /api/v1/races/open: cannot read the response: an object does not fit []Race"},
		{cups, respond(200, `{"name":"Cup","description":"A nice cup"}`), "GET /api/v1/tournaments/results: cannot read the response: an object does not fit []Tournament"},
		{oneHorse, respond(200, `[{"name":"x"}]`), "GET /api/v1/horses/7: cannot read the response: an array does not fit Horse"},
		{openRaces, respond(200, `[{"v2":true},{}]`), "GET /api/v1/races/open: cannot read the response at /1: the entry is null or has none of the documented members"},
		{openRaces, respond(200, "[[]]"), "GET /api/v1/races/open: cannot read the response at /0: an array does not fit Race"},
		{oneHorse, respond(200, "{}"), "GET /api/v1/horses/7: cannot read the response: the object has none of the documented members"},

		// nothing there
		{oneRace, respond(200, "null"), "GET /api/v1/races/11: not found: status 200 OK, but the response does not contain it"},

		// not JSON
		{openRaces, respond(200, `[{"level":1}`), "GET /api/v1/races/open: cannot read the response: the response was cut short"},
		{openRaces, respond(200, `[] []`), "GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '[' after top-level value"},
		{openRaces, respond(200, `[01]`), "GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '1' after array element (expecting ',' or ']')"},
		{oneRace, respond(200, "[\f]"), `GET /api/v1/races/11: cannot read the response at /0: not valid JSON: invalid character '\f' at start of value`},
		{openRaces, respond(200, "\x1f\x8b\x08\x00"), `GET /api/v1/races/open: cannot read the response: not valid JSON: invalid character '\x1f' at start of value`},
		{openRaces, respond(200, `[{"tier":"a","tier":"b"}]`), `GET /api/v1/races/open: cannot read the response at /0/tier: not valid JSON: duplicate object member name`},
		{openRaces, respond(200, "["+strings.Repeat("{},", 999)+"{}]"), "GET /api/v1/races/open: cannot read 1000 of 1000 entries, the first of them at /0: the entry is null or has none of the documented members"},

		// a member of another type
		{openRaces, respond(200, `[{"v2":true},{"v2":true},{"v2":true},{"entry_fee":"0x10"}]`), "GET /api/v1/races/open: cannot read the response at /3/entry_fee: a string does not fit BigInt: a quoted integer must be in plain base 10"},
		{openRaces, respond(200, `[{"entry_fee":1e101}]`), "GET /api/v1/races/open: cannot read the response at /0/entry_fee: a number does not fit BigInt: a number of more than 100 digits"},
		{openRaces, respond(200, `[{"entry_fee":1.5}]`), "GET /api/v1/races/open: cannot read the response at /0/entry_fee: a number does not fit BigInt: not an integer of at most 100 digits"},
		{openRaces, respond(200, `[{"prizes":[1,"x"]}]`), "GET /api/v1/races/open: cannot read the response at /0/prizes/1: a string does not fit Number: not a number in JSON notation"},
		{openRaces, respond(200, `[{"length":"12"}]`), "GET /api/v1/races/open: cannot read the response at /0/length: a string does not fit int"},
		{openRaces, respond(200, `[{"length":1.5}]`), "GET /api/v1/races/open: cannot read the response at /0/length: the number 1.5 does not fit int"},
		{openRaces, respond(200, `[{"info":[]}]`), "GET /api/v1/races/open: cannot read the response at /0/info: an array does not fit RaceInfo"},
		{openRaces, respond(200, `[{"start_time":"2026"}]`), "GET /api/v1/races/open: cannot read the response at /0/start_time: a string does not fit Timestamp: not a number in JSON notation"},
		{openRaces, respond(200, `[{"start_time":1e30}]`), "GET /api/v1/races/open: cannot read the response at /0/start_time: a number does not fit Timestamp: not a whole number of milliseconds in the years 1 to 9999"},
		{oneHorse, respond(200, `{"breeding_cooldown":"tomorrow"}`), `GET /api/v1/horses/7: cannot read the response at /breeding_cooldown: a string does not fit time.Time: parsing time "tomorrow" as "2006-01-02T15:04:05Z07:00": cannot parse "tomorrow" as "2006"`},
		{openCups, respond(200, `[{"additional_prizes":[{},{"additional_token":"x"}]}]`), "GET /api/v1/tournaments/open: cannot read the response at /0/additional_prizes/1: an object does not fit AdditionalPrize: additional_token: a string does not fit BigInt: a quoted integer must be in plain base 10"},
		{oneCup, respond(200, `{"additional_prizes":[{"additional_items":[{"_id":7}]}]}`), `GET /api/v1/tournaments/5f: cannot read the response at /additional_prizes/0: an object does not fit AdditionalPrize: additional_items/0/_id: a number does not fit string`},

		// too much
		{openRaces, respond(200, strings.Repeat(" ", 5000)), "GET /api/v1/races/open: response too large: more than 4096 bytes (WithMaxResponseBytes)"},
		{openRaces, stream(200, -1, func() reader { return endless("[") }), "GET /api/v1/races/open: response too large: more than 4096 bytes (WithMaxResponseBytes)"},
		{openRaces, stream(400, -1, func() reader { return endless("[") }), "GET /api/v1/races/open: status 400 Bad Request: " + strings.Repeat("[", 200) + " …"},

		// money
		{register, respond(400, `{"message":"the race is full"}`), "POST /api/v1/races/register: status 400 Bad Request: the race is full"},
		{register, respond(500, ""), "POST /api/v1/races/register: status 500 Internal Server Error; the outcome is unknown: call Races.Settle before registering again"},
		{register, broken(errReset), "POST /api/v1/races/register: connection reset by peer; the outcome is unknown: call Races.Settle before registering again"},
		{register, respond(200, page), "POST /api/v1/races/register: cannot read the response: expected JSON, got an HTML page, as from a gateway or a login page; the outcome is unknown: call Races.Settle before registering again"},
	} {
		t.Run(test.want[:min(len(test.want), 90)], func(t *testing.T) {
			s := play(test.response)
			err := test.call(t.Context(), s.client(t, horseracing.WithMaxResponseBytes(4096), briefly))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			requests := 1
			if damaged := "cannot read the response: "; strings.HasPrefix(test.want, "GET") &&
				(strings.Contains(test.want, damaged+"expected JSON, got an HTML page") || strings.HasSuffix(test.want, "cut short")) {
				requests = 2
			}
			if n := len(s.requests()); n != requests {
				t.Errorf("%d requests, want %d", n, requests)
			}
		})
	}
}

// endless is a body without end.
type endless string

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e[i%len(e)]
	}
	return len(p), nil
}

func TestAnErrorsTextIsBounded(t *testing.T) {
	unlessShort(t)
	t.Parallel()
	long := strings.Repeat("word ", 1<<20)
	for name, s := range map[string]step{
		"message":  respond(400, `{"message":"`+long+`"}`),
		"plain":    respond(400, long),
		"pointer":  respond(200, `[{"`+long+`":1,"`+long+`":2}]`),
		"location": respond(301, "", "Location: https://"+strings.Repeat("x", 100_000)+".test/"),
		"cause":    broken(errors.New(long)),
	} {
		_, err := play(s).client(t, horseracing.WithRetry(horseracing.Retry{Max: -1})).Races.Open(t.Context())
		if err == nil || len(err.Error()) >= 2048 || !strings.HasPrefix(err.Error(), "GET /api/v1/races/open: ") {
			t.Errorf("%s: %d bytes: %.100s", name, len(err.Error()), err)
		}
		var api *horseracing.APIError
		if errors.As(err, &api) && (len(api.Body) > 64<<10 || len(api.Message) > 64<<10) {
			t.Errorf("%s: body of %d bytes, message of %d", name, len(api.Body), len(api.Message))
		}
		_, err = play(s).client(t).Races.Register(t.Context(), entry)
		if err == nil || len(err.Error()) >= 2048 {
			t.Errorf("%s: %d bytes", name, len(err.Error()))
		}
	}
}

// Of twenty look-ups at once the error names the one that failed.
func TestErrorsCarryTheIDThatWasRequested(t *testing.T) {
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	failures := map[string]step{"status": respond(404, ""), "nothing": respond(200, "null"), "broken": broken(errReset), "undecodable": respond(200, "17")}
	for _, op := range operations() {
		for name, failure := range failures {
			if op.Method != http.MethodGet {
				continue // whose receipt may be anything
			}
			var log strings.Builder
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			_, err := op.Call(t.Context(), play(failure).client(t, briefly, horseracing.WithLogger(logger)), testdataIDs)
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
	races, err := play(respond(200, "[{\"info\":{\"name\":\"Pr\xffx\"}}]")).client(t).Races.Open(t.Context())
	if err != nil || races[0].Info.Name != "Pr\ufffdx" {
		t.Errorf("got %+v, %v", races, err)
	}
}

// encoding/json takes ENTRY_FEE for entry_fee; here a name is a name.
func TestMembersMatchByTheirExactName(t *testing.T) {
	races, err := play(respond(200, `[{"entry_fee":5,"ENTRY_FEE":7,"Tier":"x"}]`)).client(t).Races.Open(t.Context())
	if err != nil || races[0].EntryFee.String() != "5" || races[0].Tier != "" {
		t.Errorf("got %+v, %v", races, err)
	}
}

func TestAnEmptyErrorMemberIsNoError(t *testing.T) {
	for _, member := range []string{`"error":null`, `"error":false`, `"error":""`, `"errors":[]`, `"errors":{}`, `"note":"error"`} {
		horse, err := play(respond(200, `{"name":"Comet",`+member+`}`)).client(t).Horses.Get(t.Context(), 7)
		if err != nil || horse.Name != "Comet" {
			t.Errorf("%s: %v", member, err)
		}
	}
	horse, err := play(respond(200, `{"name":"error","level":3}`)).client(t).Horses.Get(t.Context(), 7)
	if err != nil || horse.Level != 3 {
		t.Errorf("a horse named error: %v", err)
	}
}

// serve is a service of a real socket.
func serve(t *testing.T, handle http.HandlerFunc) *horseracing.Client {
	server := httptest.NewUnstartedServer(handle)
	server.Config.ErrorLog = silent
	server.Start()
	t.Cleanup(server.Close)
	return connect(t, server.URL, server.Client(), horseracing.WithRetry(horseracing.Retry{Max: -1}))
}

// grown returns how much memory f took on its way.
func grown(f func()) (bytes uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAGzipBombIsCappedAfterDecompression(t *testing.T) {
	unlessShort(t)
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	z.Write([]byte("["))
	for range 256 {
		z.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	z.Close()
	for _, status := range []int{200, 500} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			w.Write(bomb.Bytes())
		})
		var err error
		memory := grown(func() { _, err = c.Races.Open(t.Context()) })
		if want := map[int]error{200: horseracing.ErrResponseTooLarge, 500: horseracing.ErrServer}[status]; !errors.Is(err, want) {
			t.Errorf("%d: %v", status, err)
		}
		if memory > 300<<20 { // under the race detector a buffer takes twice as much to grow
			t.Errorf("%d: %d bytes became %d MiB", status, bomb.Len(), memory>>20)
		}
	}
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
		horses, err := connect(t, server.URL, server.Client(), briefly).Horses.Owned(t.Context(), "u")
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
		url := h1scriptText(t, "HTTP/1.1 200 OK\r\n"+test.head)
		c := connect(t, url, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, briefly)
		if _, err := c.Horses.Owned(t.Context(), "u"); !test.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A large body that is only announced takes no memory.
func TestAnAnnouncedLengthIsNotAllocated(t *testing.T) {
	url := h1scriptText(t, "HTTP/1.1 200 OK\r\nContent-Length: 33000000\r\n\r\n[")
	c := connect(t, url, &http.Client{Transport: &http.Transport{}}, horseracing.WithRetry(horseracing.Retry{Max: -1}))
	memory := grown(func() { c.Races.Open(t.Context()) })
	if memory > 8<<20 {
		t.Errorf("took %d MiB", memory>>20)
	}
}

func TestWithMaxResponseBytesTakesAnyNumber(t *testing.T) {
	for limit, ok := range map[int64]bool{1: false, 12: false, 13: true, 14: true, 1<<63 - 1: true} {
		for _, length := range []int64{13, -1} {
			s := stream(200, length, func() reader { return strings.NewReader(`[{"level":1}]`) })
			_, err := play(s).client(t, horseracing.WithMaxResponseBytes(limit)).Horses.Owned(t.Context(), "u")
			if ok && err != nil || !ok && !errors.Is(err, horseracing.ErrResponseTooLarge) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

// What a hostile response may cost. Everything is refused, or read, in a moment.
func TestHostileResponsesAreReadInBoundedMemory(t *testing.T) {
	unlessShort(t)
	nested := strings.Repeat("[", 2<<20)
	for name, body := range map[string]string{
		"nested arrays":        nested,
		"nested objects":       strings.Repeat(`{"a":`, 400_000),
		"nested in an unknown": `[{"unknown":` + nested + `}]`,
		"nested errors":        strings.Repeat(`{"error":`, 200_000) + "1" + strings.Repeat("}", 200_000),
		"a list of errors":     `{"error":[` + strings.Repeat("0,", 1<<20) + `0]}`,
		"a long number":        `[{"entry_fee":` + strings.Repeat("9", 2<<20) + `}]`,
		"a huge exponent":      `[{"entry_fee":1e1000000000}]`,
		"a long string":        `[{"tier":"` + strings.Repeat("x", 2<<20) + `"}]`,
		"many members":         `[{` + manyMembers(200_000) + `}]`,
		"spaces":               strings.Repeat(" ", 7<<20) + "[]",
		"empty entries":        "[" + strings.Repeat("{},", 2<<20) + "{}]",
		"null entries":         "[" + strings.Repeat("null,", 1<<20) + "null]",
	} {
		for status := range map[int]bool{200: true, 400: true} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				for _, call := range []func(context.Context, *horseracing.Client) error{openRaces, oneHorse, oneCup, missions, register} {
					c := play(respond(status, body)).client(t)
					var err error
					memory := grown(func() { err = call(t.Context(), c) })
					var api *horseracing.APIError
					if status == 400 && !errors.As(err, &api) {
						t.Errorf("a refusal became %v", err)
					}
					if memory > 20*uint64(len(body))+(64<<20) {
						t.Errorf("%d KiB took %d MiB", len(body)>>10, memory>>20)
					}
				}
				var decode *horseracing.DecodeError
				var api *horseracing.APIError
				err := openRaces(t.Context(), play(respond(status, body)).client(t))
				switch harmless := name == "spaces" || name == "a long string" || name == "many members"; {
				case status != 200:
				case harmless && err != nil:
					t.Errorf("long, but without harm: %.200v", err)
				case !harmless && !errors.As(err, &decode) && !errors.As(err, &api):
					t.Errorf("taken for a response: %.200v", err)
				}
			})
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
		_, err := play(respond(200, body)).client(t).Tournaments.Open(t.Context())
		d, ok := errors.AsType[*horseracing.DecodeError](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		if away := int64(strings.Index(body, "wrong")) - d.Offset; away < -20 || away > 60 {
			t.Errorf("%v: reported at %d, %d bytes away", err, d.Offset, away)
		}
	}
}
