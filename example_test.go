package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/jarcoal/httpmock"
	"golang.org/x/time/rate"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// The examples run on a fake of the service. A program of your own begins with
// NewClientFromEnv or NewClient; the rest stays the same.
func Example() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()
	ctx := context.Background()

	races, err := client.Races.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(races), "races are open")

	results := client.Races.Results(horseracing.ResultsQuery{})
	for race, err := range results.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		finishers, err := race.Finishers()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("the latest result: %s, won by horse %d\n", race.Info.Name, finishers[0].Number)
		break
	}
	// Output:
	// 10 races are open
	// the latest result: Amber Handicap, won by horse 279
}

// A client with settings of its own. Without options it retries reads three
// times, gives an attempt 30 seconds, and sends without a limit until the service
// refuses a request.
func ExampleNewClient() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	baseURL, apiKey := fake.URL, fake.APIKey // those of the real service in a program

	client, err := horseracing.NewClient(baseURL, apiKey,
		horseracing.WithRateLimit(5, 10), // requests per second, and at once
		horseracing.WithRetry(horseracing.Retry{Max: 5, MaxWait: time.Minute}),
		horseracing.WithAttemptTimeout(10*time.Second),
	)
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // for the whole call
	defer cancel()
	horse, err := client.Horses.Get(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	color, _ := horse.Trait("mane_color")
	fmt.Println(horse.Name, "of level", horse.Level, "with a mane of", color)
	// Output:
	// Bold Echo of level 15 with a mane of palomino
}

// Base URL and key from the environment, where neither code nor shell history
// sees the key.
func ExampleNewClientFromEnv() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	os.Setenv("HORSERACING_BASE_URL", fake.URL) // set outside of the program
	os.Setenv("HORSERACING_API_KEY", fake.APIKey)
	defer os.Unsetenv("HORSERACING_BASE_URL")
	defer os.Unsetenv("HORSERACING_API_KEY")

	client, err := horseracing.NewClientFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	catalogue, err := client.Missions.Catalogue(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for period, mission := range catalogue.All() {
		if mission.Type == horseracing.MissionKindRunXRaces {
			fmt.Println(period, mission.Min, "to", mission.Max)
		}
	}
	// Output:
	// daily 1 to 10
	// weekly 20 to 50
	// monthly 80 to 100
}

// errors.Is finds out what an error means.
func Example_errors() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	race, err := client.Races.Get(ctx, 987654321)
	switch {
	case err == nil:
		fmt.Println(race.Info.Name)
	case errors.Is(err, horseracing.ErrNotFound):
		fmt.Println("there is no such race")
	case errors.Is(err, horseracing.ErrUnauthorized):
		fmt.Println("the API key is wrong")
	case errors.Is(err, horseracing.ErrRateLimited), errors.Is(err, horseracing.ErrServer):
		fmt.Println("later, perhaps")
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("it took too long")
	default:
		log.Fatal(err)
	}
	// Output:
	// there is no such race
}

// errors.As finds the response that an error comes from.
func ExampleAPIError() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{
		Status: http.StatusServiceUnavailable,
		Header: http.Header{"Retry-After": {"120"}},
		Body:   `{"error":"closed for maintenance"}`,
	})
	client := fake.Client()

	_, err := client.Races.Open(context.Background())
	if failed, ok := errors.AsType[*horseracing.APIError](err); ok {
		fmt.Println("status:", failed.StatusCode)
		fmt.Println("message:", failed.Message)
		fmt.Println("wait:", failed.RetryAfter)
	}
	fmt.Println(err)
	// Output:
	// status: 503
	// message: closed for maintenance
	// wait: 2m0s
	// GET /api/v1/races/open: status 503 Service Unavailable: closed for maintenance; wait 2m0s before the next request
}

// An operation that the SDK has no method for, such as a new one for stables. Do
// calls it under the same rules as all the others.
func ExampleClient_Do() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/stables/7", Status: http.StatusOK, Body: `{"name":"North End","boxes":12}`})
	client := fake.Client()

	var stable struct {
		Name  string `json:"name"`
		Boxes int    `json:"boxes"`
	}
	err := client.Do(context.Background(), http.MethodGet, "/api/v1/stables/7", nil, &stable)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stable.Name, "has", stable.Boxes, "boxes")
	// Output:
	// North End has 12 boxes
}

// The response as it came, for its header, its status, or a member that the types
// do not have.
func ExampleCaptureResponse() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(
		horseracingtest.Fault{Status: http.StatusBadGateway}, // for the first attempt
		horseracingtest.Fault{Status: http.StatusOK, Body: `{"number":1,"name":"Bold Echo","color":"bay"}`},
	)
	client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: 1, MaxWait: time.Millisecond}))

	var response horseracing.Response
	horse, err := client.Horses.Get(context.Background(), 1, horseracing.CaptureResponse(&response))
	if err != nil {
		log.Fatal(err)
	}
	var more struct {
		Color string `json:"color"`
	}
	if err := json.Unmarshal(response.Body, &more); err != nil {
		log.Fatal(err)
	}
	fmt.Println(horse.Name, "is", more.Color)
	fmt.Println("status", response.StatusCode, "after", response.Attempts, "attempts")
	// Output:
	// Bold Echo is bay
	// status 200 after 2 attempts
}

// One limit for two clients, such as of two keys. A limit that several processes
// share is a type of your own with a Wait method: examples/sharedlimit in the
// repository has one in Redis.
func ExampleWithLimiter() {
	fake := horseracingtest.NewServer()
	defer fake.Close()

	limiter := rate.NewLimiter(rate.Every(time.Hour), 2)
	first := fake.Client(horseracing.WithLimiter(limiter))
	second := fake.Client(horseracing.WithLimiter(limiter))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, client := range []*horseracing.Client{first, second, first} {
		_, err := client.Races.Open(ctx)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// GET /api/v1/races/open: waiting for the limiter: rate: Wait(n=1) would exceed context deadline
}

// Every attempt is logged at level Debug and every retry at level Warn: never a
// header, a body or a key.
func ExampleWithLogger() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Status: http.StatusServiceUnavailable}) // for the first attempt

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug, // LevelWarn in production
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Value.Kind() == slog.KindDuration {
				return slog.Attr{} // differs in every run of the example
			}
			return a
		},
	}))
	client := fake.Client(horseracing.WithLogger(logger), horseracing.WithRetry(horseracing.Retry{Max: 3, MaxWait: time.Millisecond}))
	if _, err := client.Horses.Get(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	// Output:
	// level=DEBUG msg="horseracing: attempt" operation="GET /api/v1/horses/1" attempt=1 status=503
	// level=WARN msg="horseracing: retry" operation="GET /api/v1/horses/1" attempt=1 status=503
	// level=DEBUG msg="horseracing: attempt" operation="GET /api/v1/horses/1" attempt=2 status=200
}

// A refusal with a Retry-After holds all calls of its route, and those of other
// routes if the next one of them is refused too. PerSecond is the rate that the
// client has learned, zero after this single refusal.
func ExampleClient_Pace() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"120"}}})
	client := fake.Client()

	_, err := client.Races.Open(context.Background())
	fmt.Println("refused:", errors.Is(err, horseracing.ErrRateLimited))
	pace := client.Pace()
	fmt.Println(pace.PerSecond, "requests a second; nothing is sent for", time.Until(pace.Until).Round(time.Minute))

	_, err = client.Races.Open(context.Background()) // fails at once, since two minutes are more than Retry.MaxWait
	fmt.Println("refused:", errors.Is(err, horseracing.ErrRateLimited), "after", fake.RequestCount(), "request")
	// Output:
	// refused: true
	// 0 requests a second; nothing is sent for 2m0s
	// refused: true after 1 request
}

// In a test, github.com/jarcoal/httpmock can respond in the service's place. It
// is given to the client as the transport of an http.Client. The package
// horseracingtest does more: it is a fake of the whole service.
func ExampleWithHTTPClient_httpmock() {
	mock := httpmock.NewMockTransport()
	mock.RegisterResponder(http.MethodGet, "https://races.example/api/v1/races/open",
		httpmock.NewStringResponder(http.StatusOK, `[{"main_race_id":7,"info":{"name":"Dawn"},"places":12,"participants":[{"number":3}]}]`))

	client, err := horseracing.NewClient("https://races.example", "any key",
		horseracing.WithHTTPClient(&http.Client{Transport: mock}))
	if err != nil {
		log.Fatal(err)
	}
	races, err := client.Races.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, race := range races {
		fmt.Println(race.Info.Name, "has", race.FreePlaces(), "places left")
	}
	fmt.Println(mock.GetTotalCallCount(), "request")
	// Output:
	// Dawn has 11 places left
	// 1 request
}

// The short races that a horse could enter now.
func ExampleRacesService_Open() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()
	ctx := context.Background()

	horse, err := client.Horses.Get(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	races, err := client.Races.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	now := fake.Now() // time.Now in a program
	for _, race := range races {
		if race.Length > 3 || race.FreePlaces() == 0 || !race.RegistrationOpenAt(now) || !race.AcceptsLevel(horse.Level) {
			continue
		}
		fmt.Printf("%s, %d furlongs: %d places left, until %s\n",
			race.Info.Name, race.Length, race.FreePlaces(), race.RegistrationDeadline.Format(time.TimeOnly))
	}
	// Output:
	// Northern Mile, 2 furlongs: 6 places left, until 12:21:00
	// Clover Cup, 3 furlongs: 10 places left, until 12:36:00
	// Clover Cup, 2 furlongs: 12 places left, until 12:29:00
}

// A user's horses that can breed now.
func ExampleHorsesService_Owned() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()
	userKey := fake.UserKey(0) // horseracing.UserKey(os.Getenv("USER_KEY")) in a program

	horses, err := client.Horses.Owned(context.Background(), userKey)
	if err != nil {
		log.Fatal(err)
	}
	for _, horse := range horses {
		if horse.CanBreedAt(fake.Now()) {
			fmt.Println(horse.Number, horse.Name)
		}
	}
	fmt.Println("the key does not print:", userKey)
	// Output:
	// 1 Bold Echo
	// 2 Bold Echo
	// 4 Iron Jester
	// 5 Amber Breeze
	// the key does not print: [redacted]
}

// Registering spends the race's entry fee. Where the response is lost, the SDK
// does not send the registration again, for that might pay twice: Settle reports
// whether it took effect, and only its false makes it safe to register again.
func ExampleRacesService_Register() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10), Participants: []horseracing.RaceParticipant{{Number: 9999}}})
	fake.Inject(horseracingtest.Fault{Method: http.MethodPost, ResetBefore: true}) // the connection breaks
	client := fake.Client()
	ctx := context.Background()

	entry := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
	receipt, err := client.Races.Register(ctx, entry)
	var refusal *horseracing.APIError
	switch {
	case err == nil:
		fmt.Println("registered, with status", receipt.StatusCode)
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		fake.Advance(3 * time.Hour) // otherwise Settle waits until the race's result, or longer
		registered, err := client.Races.Settle(ctx, entry.Race, entry.Horse)
		switch {
		case err != nil:
			log.Fatal(err) // still unknown: call Settle again
		case registered:
			fmt.Println("registered, although the response was lost")
		default:
			fmt.Println("not registered, and no fee is spent")
		}
	case errors.As(err, &refusal):
		fmt.Println("refused:", refusal.Message)
	default:
		log.Fatal(err) // not sent
	}
	// Output:
	// not registered, and no fee is spent
}

// A bot that keeps its records in a database of its own: a row before the registration
// is sent, so that a crash leaves a trace of it.
func ExampleOnSend() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10)})
	client, rows := fake.Client(), map[horseracing.RaceID]string{} // rows stands for a table

	entry := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
	_, err := client.Races.Register(context.Background(), entry, horseracing.OnSend(func() error {
		rows[entry.Race] = "sending" // an error here, and nothing is sent
		return nil
	}))
	switch {
	case err == nil:
		rows[entry.Race] = "entered"
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		rows[entry.Race] = "unknown" // Settle finds out
	default:
		rows[entry.Race] = "refused"
	}
	fmt.Println(rows)
	// Output:
	// map[7:entered]
}

// Amounts are exact at any size. That this one counts in units of 10^-18 is
// the caller's knowledge; the unit is undocumented.
func ExampleTimestamp() {
	first := horseracing.Race{StartTime: horseracing.NewTimestamp(time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC))}
	second := horseracing.Race{StartTime: horseracing.NewTimestamp(time.Date(2025, 6, 1, 12, 5, 0, 0, time.UTC))}

	fmt.Println(first.StartTime.Before(second.StartTime.Time))
	fmt.Println(second.StartTime.Sub(first.StartTime.Time))

	// Output:
	// true
	// 5m0s
}

func ExampleBigInt_FormatUnits() {
	var fee horseracing.BigInt
	if err := fee.UnmarshalText([]byte("2500000000000000000001")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(fee)
	fmt.Println(fee.FormatUnits(18))
	// Output:
	// 2500000000000000000001
	// 2500.000000000000000001
}

// spans prints a line for every request that passes. It stands for the
// RoundTripper of a tracing library.
type spans struct{ next http.RoundTripper }

func (s spans) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		fmt.Println("span:", req.Method, req.URL.Path, err)
		return nil, err
	}
	fmt.Println("span:", req.Method, req.URL.Path, resp.StatusCode)
	return resp, nil
}

// OpenTelemetry, and whatever else is an http.RoundTripper, wraps the client's
// transport. Every attempt passes through it, so that a retry is a span of its
// own, under the span in the call's context. With OpenTelemetry's otelhttp wrap is
//
//	func(next http.RoundTripper) http.RoundTripper { return otelhttp.NewTransport(next) }
//
// and examples/otel in the repository is the whole program. The API key is in
// a header and a user's key in a body: record neither.
func ExampleWithTransportWrapper() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Status: http.StatusServiceUnavailable}) // for the first attempt

	client, err := horseracing.NewClient(fake.URL, fake.APIKey,
		horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper { return spans{next} }),
		horseracing.WithRetry(horseracing.Retry{Max: 3, MaxWait: time.Millisecond}))
	if err != nil {
		log.Fatal(err)
	}
	races, err := client.Races.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(races), "races are open")
	// Output:
	// span: GET /api/v1/races/open 503
	// span: GET /api/v1/races/open 200
	// 10 races are open
}
