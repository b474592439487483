// Package double has what the guarantees share: services that misbehave as a test demands, and
// checks that every error has to pass.
package double

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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

// Test is a test, also one of rapid.
type Test interface {
	Helper()
	Errorf(format string, args ...any)
}

// Equal fails unless two values are equal, and shows what differs.
func Equal(t Test, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
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
