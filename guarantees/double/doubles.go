// Package double has what the guarantees share: services that misbehave as a test demands, and
// checks that every error has to pass.
package double

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/google/go-cmp/cmp"
	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const (
	AppKey  = "app-Key/91+d7=e4"   // with characters that JSON, URLs and HTML escape
	UserKey = `user"Key\51&c8%aé`  // likewise
	Service = "https://game.test"  // the address of a mock; nothing listens there
	Refused = "http://127.0.0.1:1" // nothing listens there either, and the system gives the port to no other server
)

// UnlessShort skips a test of memory or speed under -short, and under the race detector, which
// makes it slow, takes memory of its own, and finds nothing in it.
func UnlessShort(t *testing.T) {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if testing.Short() || ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("it measures memory or speed")
	}
}

// Worlds returns how many worlds a test makes: usually, with HORSERACING_DEEP, and under -short.
func Worlds(usual, deep, short int) int {
	switch {
	case os.Getenv("HORSERACING_DEEP") != "":
		return deep
	case testing.Short():
		return short
	}
	return usual
}

// Test and Equal are those of package check.
type Test = check.Test

// Equal fails unless two values are equal, and shows what differs.
func Equal(t Test, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	check.Equal(t, what, want, got, opts...)
}

// FailIf fails with a message if a condition holds.
func FailIf(t Test, condition bool, format string, args ...any) {
	t.Helper()
	if condition {
		t.Errorf(format, args...)
	}
}

// Error fails unless an error is, by errors.Is, the one that is wanted and its text contains text.
// If want is nil it fails if there is an error.
func Error(t Test, what string, want error, text string, err error) {
	t.Helper()
	if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v; want %v with the text %q", what, err, want, text)
	}
}

// Must returns a value, and panics if there is an error instead.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// CheckError fails unless an error is of the documented kinds and fit to read.
func CheckError(t Test, name string, err error) {
	t.Helper()
	documented := []any{new(*horseracing.APIError), new(*horseracing.DecodeError), new(*horseracing.TransportError), new(*horseracing.TieOverflowError)}
	isDocumented := slices.ContainsFunc(documented, func(target any) bool { return errors.As(err, target) })
	Equal(t, name+" is of a documented kind: "+err.Error(), true, isDocumented || errors.Is(err, horseracing.ErrNotFound) || errors.Is(err, horseracing.ErrBodyIgnored))
	text := err.Error()
	if len(text) >= 2048 || !strings.Contains(text, "/api/v") || strings.ContainsAny(text, "\n\x1b\x00") {
		t.Errorf("%s: not fit to read: %q", name, text)
	}
}

// NoError ends the test if there is an error.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var ErrReset = errors.New("connection reset by peer")

func Connect(tb testing.TB, url string, via *http.Client, opts ...horseracing.Option) *horseracing.Client {
	tb.Helper()
	opts = append([]horseracing.Option{horseracing.WithHTTPClient(via)}, opts...)
	return Must(horseracing.NewClient(url, AppKey, opts...))
}

var Entry = horseracing.Registration{Horse: 7, Race: 11, UserKey: UserKey}

// Briefly waits milliseconds where the default would wait longer.
var Briefly = horseracing.WithRetry(horseracing.Retry{Max: 3, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond})

// Readers reads a text, then fails.
func Readers(text string, err error) io.Reader {
	return io.MultiReader(strings.NewReader(text), iotest.ErrReader(err))
}

// List is a JSON array of these entries.
func List(entries ...string) string { return "[" + strings.Join(entries, ",") + "]" }

const ResultsPath = "/api/v2/races/results"

// Bubble runs a test against a fake whose clock is that of a synctest bubble.
// The bubble ends only when every goroutine in it has.
func Bubble(t *testing.T, test func(t *testing.T, fake *horseracingtest.Server), opts ...horseracingtest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := horseracingtest.NewServer(append([]horseracingtest.Option{horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now)}, opts...)...)
		defer fake.Close()
		test(t, fake)
	})
}

// Run runs a subtest in a synctest bubble.
func Run(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// RunBubble runs a subtest in a [Bubble].
func RunBubble(t *testing.T, name string, test func(t *testing.T, fake *horseracingtest.Server), opts ...horseracingtest.Option) {
	t.Run(name, func(t *testing.T) { Bubble(t, test, opts...) })
}

// NoRetries makes every failure of the service one of the poll.
func NoRetries() horseracing.Option { return horseracing.WithRetry(horseracing.Retry{Max: -1}) }

// Finished makes up races that start at these distances from now.
func Finished(first horseracing.RaceID, starts ...time.Duration) []horseracing.Race {
	races := make([]horseracing.Race, len(starts))
	for i, d := range starts {
		races[i] = horseracing.Race{
			MainRaceID: first + horseracing.RaceID(i), StartTime: horseracing.NewTimestamp(time.Now().Add(d)), FinalOrder: []int{0},
			Participants: []horseracing.RaceParticipant{{Number: 1, Total: 60, Lane: 1}}, Winners: []int{0},
		}
	}
	return races
}

// Each yields the entries of a loop, and ends the test at an error.
func Each[T any](t *testing.T, loop iter.Seq2[T, error]) iter.Seq[T] {
	t.Helper()
	return func(yield func(T) bool) {
		for entry, err := range loop {
			if NoError(t, err); !yield(entry) {
				return
			}
		}
	}
}

// Within returns a context that ends after a time, or with the test.
func Within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func errorOf[T any](_ T, err error) error { return err }

// The calls that a test gives one response after the other.
var (
	OpenRaces = func(ctx context.Context, c *horseracing.Client) error { return errorOf(c.Races.Open(ctx)) }
	OneRace   = func(ctx context.Context, c *horseracing.Client) error { return errorOf(c.Races.Get(ctx, 11)) }
	OneHorse  = func(ctx context.Context, c *horseracing.Client) error { return errorOf(c.Horses.Get(ctx, 7)) }
	Owned     = func(ctx context.Context, c *horseracing.Client) error { return errorOf(c.Horses.Owned(ctx, "u")) }
	Register  = func(ctx context.Context, c *horseracing.Client) error { return errorOf(c.Races.Register(ctx, Entry)) }
)

type TripFunc func(*http.Request) (*http.Response, error)

func (f TripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Wrap wraps the client's transport in a function.
func Wrap(send func(next http.RoundTripper, req *http.Request) (*http.Response, error)) horseracing.Option {
	return horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return TripFunc(func(req *http.Request) (*http.Response, error) { return send(next, req) })
	})
}

// Rewrite replaces the body of a response, unless it cannot be read.
func Rewrite(resp *http.Response, change func(body []byte) []byte) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		body = change(body)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return err
}

type WaitFunc func(context.Context) error

func (f WaitFunc) Wait(ctx context.Context) error { return f(ctx) }

// A Reading is one way in which the service may read its own document.
type Reading struct {
	Kind, Name string // those of one kind are alternatives
	horseracingtest.Readings
}

// Readings returns the readings under which every guarantee about money, completeness
// and ending holds.
func Readings() []Reading {
	type r = horseracingtest.Readings
	list := []Reading{
		{"literal", "it is as it is written", r{}},
		{"inclusive", "start_time_from is inclusive", r{Inclusive: true}},
		{"heats", "two heats with one id", r{Heats: true}},
		{"early", "results without a final order", r{EarlyResults: true}},
		{"tier name", "another name of the tier", r{TierName: "Second"}},
		{"empty list", "an empty list is null", r{EmptyList: "null"}},
		{"empty list", "an empty list is a 204", r{EmptyList: "204"}},
	}
	for _, when := range []string{"from start", "in result", "until start", "others first"} {
		list = append(list, Reading{"participants", "participants " + when, r{Participants: when}})
	}
	for _, body := range refusals {
		list = append(list, Reading{"refusal", "a refusal is a 200 with " + body, r{Refusal: body}})
	}
	for _, body := range confirmations {
		list = append(list, Reading{"confirmation", "a confirmation is " + body, r{Confirmation: body}})
	}
	for _, path := range slices.Sorted(maps.Keys(wrongTypes)) {
		list = append(list, Reading{"type", path + " is " + wrongTypes[path], r{Members: map[string]string{path: wrongTypes[path]}}})
	}
	return list
}

// refusals are bodies of status 200 that do not confirm a registration.
var refusals = []string{
	`{"success":false}`, `{"ok":false,"message":"too late"}`, `{"error":"full"}`, `{"errors":["full"]}`, `{"error":{"code":"full"}}`, `false`, `<html>full</html>`,
}

// confirmations are bodies of status 200 that confirm a registration: all others.
var confirmations = []string{
	"empty", `true`, `null`, `{}`, `{"success":true,"error":null}`, `{"ok":true,"errors":[]}`, `{"status":"declined"}`, `{"_id":"684f"}`, `OK`, `[{"main_race_id":1}]`,
}

// wrongTypes are members that nobody decides by, with a value of another type.
var wrongTypes = map[string]string{
	"info": `"Oval"`, "info.hippodrome_type": "1", "info.turf": "null", "status": "2", "v2": "1", "no_equipment": "0", "tier": "5", "type": "[]",
	"length": `"14"`, "prizes": `"none"`, "participants.total": `"61.5"`, "participants.lane": `{}`,
	"name": "7", "gender": "0", "height": `"1.6 m"`, "appearance": `{}`, "description": "{}",
}

// Echoing serves a body and then, beyond the length that it said, the keys. net/http logs that.
func Echoing(t *testing.T, body, keys string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s%s", len(body), body, keys)
		_, _ = connection.Read(make([]byte, 1)) // until the program closes it
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Mocked returns a client of a mock, and the mock. A request for which no responder is registered
// gets respond, or if that is nil an error.
func Mocked(tb testing.TB, respond httpmock.Responder, opts ...horseracing.Option) (*horseracing.Client, *httpmock.MockTransport) {
	tb.Helper()
	mock := httpmock.NewMockTransport()
	mock.RegisterNoResponder(respond)
	return Connect(tb, Service, &http.Client{Transport: mock}, opts...), mock
}

// Client returns a client whose every request gets respond.
func Client(tb testing.TB, respond httpmock.Responder, opts ...horseracing.Option) *horseracing.Client {
	tb.Helper()
	c, _ := Mocked(tb, respond, opts...)
	return c
}

// InTurn responds to the first request with the first responder, and so on; the last one responds to
// all that follow.
func InTurn(responders ...httpmock.Responder) httpmock.Responder {
	var requests atomic.Int64
	return func(req *http.Request) (*http.Response, error) {
		return responders[min(int(requests.Add(1)), len(responders))-1](req)
	}
}

// Respond responds with a status, a body and header lines ("Retry-After: 3").
func Respond(status int, body string, header ...string) httpmock.Responder {
	return Stream(status, int64(len(body)), func() io.Reader { return strings.NewReader(body) }, header...)
}

// Stream responds with a body that is produced as it is read.
func Stream(status int, length int64, body func() io.Reader, header ...string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return &http.Response{
			StatusCode: status, Header: h, Body: io.NopCloser(body()), ContentLength: length,
			Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

// Sent is a request as a mock got it.
type Sent struct {
	Request *http.Request
	Body    string
}

// Noting notes each request before it is responded to.
func Noting(sent *[]Sent, respond httpmock.Responder) httpmock.Responder {
	var mu sync.Mutex
	return func(req *http.Request) (*http.Response, error) {
		var body strings.Builder
		if req.Body != nil {
			io.Copy(&body, req.Body)
			req.Body = io.NopCloser(strings.NewReader(body.String()))
		}
		mu.Lock()
		*sent = append(*sent, Sent{req, body.String()})
		mu.Unlock()
		return respond(req)
	}
}

// Pages responds to page requests for a listing of n entries, newest first: with those
// that start before start_time_from, or after the offset; at most ten. An entry that is empty is
// left out of its page, as by a service that filters afterwards.
func Pages(n int, start func(i int) int64, entry func(i int) string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		var query struct {
			From   *int64 `json:"start_time_from"`
			Offset int
		}
		if err := json.NewDecoder(req.Body).Decode(&query); err != nil {
			return nil, err
		}
		first := query.Offset
		if query.From != nil {
			first = sort.Search(n, func(i int) bool { return start(i) < *query.From })
		}
		var page []string
		for i := first; i < min(first+10, n); i++ {
			if text := entry(i); text != "" {
				page = append(page, text)
			}
		}
		return Respond(http.StatusOK, List(page...))(req)
	}
}

// Repeated is a header of the requests that a [Gateway] repeats.
const Repeated = "X-Repeated"

// Gateway is a proxy as there are some. It sends each registration twice, and responds as the
// service responds to the second one, unless that is refused for another reason than that the horse
// is registered already. What is read it caches for a minute, by path. It heeds a request that wants
// nothing from caches.
type Gateway struct {
	Next http.RoundTripper

	cached sync.Map // of a page for each path
}

type page struct {
	response []byte // as httputil.DumpResponse writes it
	expires  time.Time
}

// RoundTrip sends a request, or responds from the cache.
func (g *Gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return g.repeat(req)
	}
	cached, _ := g.cached.Load(req.URL.Path)
	if at, ok := cached.(page); ok && time.Now().Before(at.expires) && req.Header.Get("Cache-Control") != "no-cache" {
		return http.ReadResponse(bufio.NewReader(bytes.NewReader(at.response)), req)
	}
	resp, err := g.Next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && req.ContentLength <= 0 { // a body selects a page
		if dump, err := httputil.DumpResponse(resp, true); err == nil {
			g.cached.Store(req.URL.Path, page{dump, time.Now().Add(time.Minute)})
		}
	}
	return resp, err
}

func (g *Gateway) repeat(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	send := func(header http.Header) (*http.Response, error) {
		sent := req.Clone(req.Context())
		sent.Body = io.NopCloser(bytes.NewReader(body))
		maps.Copy(sent.Header, header)
		return g.Next.RoundTrip(sent)
	}
	first, failed := send(nil)
	resp, err := send(http.Header{Repeated: {"yes"}})
	if err == nil && resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusConflict {
		resp.Body.Close()
		return first, failed
	}
	if failed == nil {
		first.Body.Close()
	}
	return resp, err
}

// EachMember calls a function for the members of a type, and of those within, with the path of each.
func EachMember(t reflect.Type, prefix string, do func(path string, field reflect.StructField)) {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			do(prefix+name, field)
			EachMember(field.Type, prefix+name+".", do)
		}
	}
}

var update = flag.Bool("update", false, "write anew what the tests compare with files of testdata")

// Golden compares a text with that of a file.
func Golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		Equal(t, "writing "+path, nil, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	Equal(t, "reading "+path, nil, err)
	Equal(t, path+", which go test -update accepts", string(want), got)
}

// Transcript performs the commands of a file one after another, and compares the text that each
// returns with the lines that follow it, in which an … stands for any text of a line. The line of
// a command begins with "$ ", and a comment with "# ". With -update it writes what differs.
func Transcript(t *testing.T, path string, perform func(command string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	Equal(t, "reading "+path, nil, err)
	var after strings.Builder
	for _, block := range regexp.MustCompile(`(?m)^[$#] .*\n(?:(?:[^$#\n]|[$#][^ ]).*\n|\n)*`).FindAllString(string(text), -1) {
		line, want, _ := strings.Cut(block, "\n")
		if command, isCommand := strings.CutPrefix(line, "$ "); isCommand {
			got := perform(command)
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n"
			}
			switch {
			case fits(want, got):
			case *update:
				want = masked(want, got)
				FailIf(t, !fits(want, got), "%s: %s: what stands beside an … has changed: change the line by hand to fit %s", path, line, got)
			default:
				Equal(t, path+": "+line, want, got)
			}
		}
		after.WriteString(line + "\n" + want)
	}
	if after.String() != string(text) { // it is updated, or a line of it belongs to no command
		Golden(t, path, after.String())
	}
}

// fits reports whether a text is the one that is wanted, in which an … stands for any text of a line.
func fits(want, got string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$").MatchString(got)
}

// masked returns a text with each … of an earlier one whose neighbours are as they were. A line of
// which an … has other neighbours stays the earlier one, for a person to change.
func masked(earlier, text string) string {
	old, lines := strings.Split(earlier, "\n"), strings.Split(text, "\n")
	for i, line := range lines {
		same := slices.IndexFunc(old, func(want string) bool { return fits(want, line) })
		next := slices.IndexFunc(old, func(want string) bool { return strings.Contains(want, "…") })
		switch {
		case same >= 0:
			lines[i], old = old[same], old[same+1:]
		case next >= 0:
			near := regexp.MustCompile(`([^…]{10})[^…]+([^…]{10})`).ReplaceAllString(old[next], "$1\x00$2")
			parts := strings.NewReplacer("…", ").*?(", "\x00", ".*").Replace(regexp.QuoteMeta(near))
			lines[i] = old[next]
			if found := regexp.MustCompile("^(" + parts + ")$").FindStringSubmatch(line); found != nil {
				lines[i] = strings.Join(found[1:], "…")
			}
			old = old[next+1:]
		}
	}
	return strings.Join(lines, "\n")
}
