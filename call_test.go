package horseracing_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

// operationTest is one operation as a call: what it sends and what comes back.
// Other tests range over them too, so that adding an operation is: its method, its
// row, its file in testdata, and its route in the fake.
type operationTest struct {
	Call     func(context.Context, *horseracing.Client) (any, error)
	Further  func(ctx context.Context, c *horseracing.Client, n int) (any, error) // of a paged listing: its first n entries
	Request  string                                                               // its method and path
	Body     string                                                               // none is sent if it is empty
	Response string                                                               // its file in testdata
	Others   []string                                                             // further files, whose responses have the same members
	As       any                                                                  // points to a value of the response's type
}

// files returns those of responses of the operation, or of the same type.
func (op operationTest) files() []string { return append([]string{op.Response}, op.Others...) }

// read calls an operation; of a paged listing it reads n entries.
func (op operationTest) read(ctx context.Context, c *horseracing.Client, n int) (any, error) {
	if op.Further != nil {
		return op.Further(ctx, c, n)
	}
	return op.Call(ctx, c)
}

// fakes is the folder of the fake's responses.
const fakes = "../horseracingtest/fixtures/"

// operations returns all of them, by name.
func operations() map[string]operationTest {
	type ctx = context.Context
	type client = *horseracing.Client
	const userKey, cup = `user "key" <1>`, "64aa10f2c3d4e5f601234999"
	v2 := horseracing.ResultsQuery{Tier: horseracing.TierOmega, Before: time.UnixMilli(1767225600251)}
	v1 := horseracing.OffsetQuery{Tier: horseracing.TierOmega, Offset: 20}
	newest, byOffset := horseracing.ResultsQuery{}, horseracing.OffsetQuery{}
	register := func(ctx ctx, c client) (any, error) {
		receipt, err := c.Races.Register(ctx, horseracing.Registration{Horse: 1042, Race: 880200, UserKey: userKey})
		if err != nil {
			return nil, err
		}
		return receipt.Body, nil
	}
	return map[string]operationTest{
		"Horses.Get": {
			Request: "GET /api/v1/horses/1042", Response: "horse.json", As: new(horseracing.Horse), Others: []string{fakes + "horse.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Horses.Get(ctx, 1042) },
		},
		"Horses.Missions": {
			Request: "GET /api/v1/horses/missions/1042", Response: "horse_missions.json", As: new(horseracing.HorseMissions), Others: []string{"horse_missions_optionals.json", fakes + "horse_missions.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Horses.Missions(ctx, 1042) },
		},
		"Horses.OpenForBreeding": {
			Request: "GET /api/v1/horses/breeding/open", Response: "breeding_open.json", As: new([]horseracing.BreedingListing), Others: []string{fakes + "breeding.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Horses.OpenForBreeding(ctx) },
		},
		"Horses.Owned": {
			Request: "GET /api/v1/horses/user", Response: "horses_user.json", As: new([]horseracing.Horse), Body: `{"user_key":"user \"key\" <1>"}`,
			Others: []string{"horses_unseen_values.json"},
			Call:   func(ctx ctx, c client) (any, error) { return c.Horses.Owned(ctx, userKey) },
		},
		"Races.Get": {
			Request: "GET /api/v1/races/880200", Response: "race.json", As: new([]horseracing.Race), Others: []string{"races_unseen_values.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Races.Get(ctx, 880200) },
		},
		"Races.Open": {
			Request: "GET /api/v1/races/open", Response: "races_open.json", As: new([]horseracing.Race), Others: []string{"races_amounts.json", fakes + "race.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Races.Open(ctx) },
		},
		"Races.Register": {
			Request: "POST /api/v1/races/register", Response: "register.json", As: new(json.RawMessage), Body: `{"horse_number":1042,"user_key":"user \"key\" <1>","main_race_id":880200}`, Call: register,
		},
		"Races.Results": {
			Request: "GET /api/v2/races/results", Response: "races_results_v2.json", As: new([]horseracing.Race), Body: `{"tier":5,"start_time_from":1767225600251}`,
			Call:    func(ctx ctx, c client) (any, error) { return c.Races.Results(v2).Take(ctx, 2) },
			Further: func(ctx ctx, c client, n int) (any, error) { return c.Races.Results(newest).Take(ctx, n) },
		},
		"Races.ResultsV1": {
			Request: "GET /api/v1/races/results", Response: "races_results_v1.json", As: new([]horseracing.Race), Body: `{"tier":5,"offset":20}`,
			Call:    func(ctx ctx, c client) (any, error) { return c.Races.ResultsV1(v1).Take(ctx, 1) },
			Further: func(ctx ctx, c client, n int) (any, error) { return c.Races.ResultsV1(byOffset).Take(ctx, n) },
		},
		"Tournaments.Get": {
			Request: "GET /api/v1/tournaments/" + cup, Response: "tournament.json", As: new(horseracing.Tournament), Others: []string{"tournament_currency_prize.json", fakes + "tournament.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Tournaments.Get(ctx, cup) },
		},
		"Tournaments.Open": {
			Request: "GET /api/v1/tournaments/open", Response: "tournaments_open.json", As: new([]horseracing.Tournament), Others: []string{"tournament_array_of_one.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Tournaments.Open(ctx) },
		},
		"Tournaments.Results": {
			Request: "GET /api/v1/tournaments/results", Response: "tournaments_results.json", As: new([]horseracing.Tournament), Body: `{"tier":5,"start_time_from":1767225600251}`,
			Call:    func(ctx ctx, c client) (any, error) { return c.Tournaments.Results(v2).Take(ctx, 1) },
			Further: func(ctx ctx, c client, n int) (any, error) { return c.Tournaments.Results(newest).Take(ctx, n) },
		},
		"Missions.Catalogue": {
			Request: "GET /api/v1/missions", Response: "missions.json", As: new(horseracing.MissionCatalogue), Others: []string{"missions_optionals.json", fakes + "missions.json"},
			Call: func(ctx ctx, c client) (any, error) { return c.Missions.Catalogue(ctx) },
		},
	}
}

// The result is encoded again to be compared with the response: nothing of it may
// be lost. That each member is in the right field is shown beside each resource.
func TestOperationsSendAndReadWhatIsDocumented(t *testing.T) {
	for name, test := range operations() {
		t.Run(name, func(t *testing.T) {
			var sent []double.Sent
			base, mock := double.Service+"/a%2Fb", httpmock.NewMockTransport()
			method, path, _ := strings.Cut(test.Request, " ")
			mock.RegisterResponder(method, base+path, double.Noting(&sent, httpmock.NewBytesResponder(http.StatusOK, payload(t, test.Response))))
			got, err := test.Call(t.Context(), double.Connect(t, base+"/", &http.Client{Transport: mock}, horseracing.WithUserAgent("stable/3")))
			if err != nil || len(sent) != 1 {
				t.Fatalf("%d requests were sent, want one: %v", len(sent), err)
			}
			encoded, _ := json.Marshal(got)
			want := exactJSON(t, payload(t, test.Response))
			if name == "Races.Get" { // whose response is a list of one
				want = want.([]any)[0]
			}
			double.Equal(t, "result", want, exactJSON(t, encoded), byNumber)
			header := http.Header{"X-Api-Key": {double.AppKey}, "Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"stable/3"}}
			if method == http.MethodGet && test.Body != "" {
				header.Set("Cache-Control", "no-cache") // caches do not compare the bodies of reads
			}
			double.Equal(t, "header", header, sent[0].Request.Header)
			double.Equal(t, "body", test.Body, sent[0].Body)
			// With a known length the body does not go out in chunks,
			// which fewer servers expect of a GET.
			double.Equal(t, "Content-Length", int64(len(test.Body)), sent[0].Request.ContentLength)
		})
	}
}

// payload returns a file of testdata.
func payload(t testing.TB, name string) []byte {
	t.Helper()
	return bytes.TrimSpace(double.Must(os.ReadFile(filepath.Join("testdata", name))))
}

// documented returns what an operation reads of its documented response.
func documented[T any](t *testing.T, operation string) T {
	t.Helper()
	return double.Must(valueOf(t, operation, string(payload(t, operations()[operation].Response)))).(T)
}

// decode reads a body as the SDK does.
func decode(body []byte, out any) error {
	via := &http.Client{Transport: double.TripFunc(httpmock.NewBytesResponder(http.StatusOK, body))}
	c := double.Must(horseracing.NewClient(double.Service, double.AppKey, horseracing.WithHTTPClient(via)))
	return c.Do(context.Background(), http.MethodGet, "/", nil, out)
}

// responding returns a client whose every call gets a response with status 200 and
// that body.
func responding(t testing.TB, body string, opts ...horseracing.Option) *horseracing.Client {
	t.Helper()
	return double.Client(t, httpmock.NewStringResponder(http.StatusOK, body), opts...)
}

func bigInt(text string) horseracing.BigInt { return double.Must(horseracing.ParseUnits(text, 0)) }

func number(text string) (n horseracing.Number) {
	if err := n.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return n
}

func at(milliseconds int64) horseracing.Timestamp {
	return horseracing.NewTimestamp(time.UnixMilli(milliseconds))
}

// Each operation by id, also one of a new resource: the type has the method id. Nothing is ErrNotFound, whatever it looks like.
func TestGetRefusesAnEntryWithAnotherIDThanTheRequestedOne(t *testing.T) {
	byID, n := regexp.MustCompile(`^GET .*/([0-9]+|[0-9a-f]{24})$`), 0
	for name, test := range operations() {
		found := byID.FindStringSubmatch(test.Request)
		if found == nil {
			continue
		}
		n++
		id, other := found[1], found[1][:len(found[1])-1]+"1"
		response := strings.ReplaceAll(string(payload(t, test.Response)), id, other)
		_, err := test.Call(t.Context(), double.Client(t, double.Respond(200, response)))
		_, isDecodeError := errors.AsType[*horseracing.DecodeError](err)
		double.Error(t, name, err, other+", which was not requested", err)
		double.Equal(t, fmt.Sprint(name, ": ", err), true, isDecodeError)
		for body, status := range map[string]int{"404": 404, "": 204, " null\n": 200, "[\n]": 200} {
			_, err := test.Call(t.Context(), double.Client(t, httpmock.NewStringResponder(status, body)))
			double.Error(t, name+", "+body, horseracing.ErrNotFound, "", err)
		}
	}
	double.FailIf(t, n < 4, "%d operations by id", n)
}

func TestGetReturnsTheEntryThatWasRequested(t *testing.T) {
	for _, test := range []struct {
		name, response string // with #5 for the id of a race and of a tournament
		want           string
	}{
		{"one of several", `[{#4,"places":{}},{#5}]`, "5 for 0"},
		{"beside one that cannot be read at all", `[{#5},null]`, "damaged"},
		{"twice, the dearer one last", `[{#5,"entry_fee":1},{#5,"entry_fee":2}]`, "5 for 2"},
		{"twice, the dearer one first", `[{#5,"entry_fee":2},{#5,"entry_fee":1}]`, "5 for 2"},
		{"twice, once unreadable", `[{#5},{#5,"entry_fee":{}}]`, "damaged"},
		{"unreadable", `[{#4},{#5,"places":{}}]`, "damaged"},
		{"unreadable and alone", `{#5,"places":{}}`, "damaged"},
		{"perhaps itself", `[{#4},{"main_race_id":[5],"_id":5}]`, "damaged"},
		{"a single one with another id", `[{#6}]`, "not 6"},
		{"a single one without an id", `{"places":6}`, "0 for 0"},
		{"several without an id", `[{"places":6},{"places":6}]`, "damaged"},
		{"others", `[{#3},{#6,"places":{}}]`, "not 6"},
	} {
		check := func(kind string, err error, found func() string) {
			got, damaged := fmt.Sprint("another error: ", err), new(horseracing.DecodeError)
			switch {
			case err == nil:
				got = found()
			case errors.As(err, &damaged) && strings.Contains(err.Error(), "it contains 6, which"):
				got = "not 6"
			case damaged.ID == "5":
				got = "damaged"
			}
			double.Equal(t, kind+", "+test.name, test.want, got)
		}
		c := responding(t, regexp.MustCompile(`#(\d)`).ReplaceAllString(test.response, `"main_race_id":$1,"_id":"$1"`))
		race, err := c.Races.Get(t.Context(), 5)
		check("race", err, func() string { return fmt.Sprint(race.MainRaceID, " for ", race.EntryFee) })
		cup, err := c.Tournaments.Get(t.Context(), "5")
		check("tournament", err, func() string { return cmp.Or(string(cup.ID), "0") + " for " + cup.EntryFee.String() })
	}
}

// A body may be cut at a length that the response announces. Another attempt may get all of it.
func TestReadIsRetriedIfItsBodyEndsTooEarlyOrIsEmpty(t *testing.T) {
	do := func(ctx context.Context, c *horseracing.Client) error {
		return c.Do(ctx, http.MethodGet, "/x", nil, new(struct{ Name string }))
	}
	for name, test := range map[string]struct {
		call         func(context.Context, *horseracing.Client) error
		begin, whole string
	}{
		"a list":     {double.OpenRaces, "[{},", "[]"},
		"a race":     {double.OneRace, "", `{"main_race_id":11}`},
		"a caller's": {do, "", `{"name":"Comet"}`},
		"a page":     {double.OpenRaces, "<html>", "[]"},
	} {
		for _, body := range []string{"", " \n", `{"main_race_id":11,"tier":"Ome`, `{"prizes":[1]`, `{"info":{}`} {
			synctest.Test(t, func(t *testing.T) {
				c, mock := double.Mocked(t, double.InTurn(httpmock.NewStringResponder(200, test.begin+body), httpmock.NewStringResponder(200, test.whole)))
				double.Error(t, name+", "+body, nil, "", test.call(t.Context(), c))
				double.Equal(t, name+", "+body+": requests", 2, mock.GetTotalCallCount())
			})
		}
	}
	c, mock := double.Mocked(t, httpmock.NewStringResponder(200, `[7,{"prizes":}]`)) // as long as it ought to be
	if err := double.OpenRaces(t.Context(), c); err == nil || mock.GetTotalCallCount() != 1 {
		t.Errorf("a list that is not JSON: %v after %d requests", err, mock.GetTotalCallCount())
	}
}

// The types of a caller are read as encoding/json reads them.
func TestDoDecodesAsTheStandardLibrary(t *testing.T) {
	type own struct {
		Name   string
		Number json.Number
		Any    any
		Raw    json.RawMessage
		Wait   time.Duration
		ID     int `json:"id"`
		//lint:ignore SA5008 the standard library ignores the option
		List []int `json:"list,string"`
	}
	for _, body := range []string{
		`{"name":"Comet","number":123456789012345678901234567890,"any":[1,{"a":null}],"raw":{"b": 2},"wait":5,"ID":7}`,
		`{"NAME":"Comet","number":"1.50","any":"x"}`, `{"name":"a","name":"b"}`, `{"number":null,"any":null}`, `{"list":[1]}`, "{\"name\":\"\xff\"}", `{}`,
	} {
		var got, want own
		err := responding(t, body).Do(t.Context(), http.MethodGet, "/x", nil, &got)
		double.Error(t, body, nil, "", errors.Join(err, json.Unmarshal([]byte(body), &want)))
		double.Equal(t, body, want, got)
	}
}

// A mock may return such values, which no method of a Client has made.
func TestValuesThatNobodyMadeAreErrors(t *testing.T) {
	var pager horseracing.Pager[horseracing.Race]
	var follower horseracing.Follower[horseracing.Race]
	var races horseracing.RacesService
	zero := new(horseracing.Client)
	ctx := double.Within(t, time.Minute)
	errs := map[string]error{
		"a Pager": errorsOf(pager.All(ctx)), "Take of a Pager": errorOf(pager.Take(ctx, 1)), "a Follower": errorsOf(follower.All(ctx)),
		"CatchUp of a Follower": errorsOf(follower.CatchUp(ctx)), "a service": errorOf(races.Open(ctx)), "a Client": zero.Do(ctx, http.MethodGet, "/x", nil, nil),
		"Registered of a Client": errorOf(zero.Races.Registered(ctx, 11, 7)), "Follow of a Client": errorsOf(zero.Races.Follow(horseracing.FollowQuery{}).All(ctx)),
		"Watch of a Client": errorsOf(zero.Races.Watch(ctx, horseracing.WatchQuery{})),
	}
	for operation, op := range operations() {
		errs[operation+" of a Client"] = errorOf(op.Call(ctx, zero))
	}
	for name, err := range errs {
		double.Error(t, name, horseracing.ErrInvalidArgument, "", err)
	}
	double.Error(t, "the time", nil, "", ctx.Err())
	zero.Close()
	double.Equal(t, "a Client that nobody made", "horseracing.Client()", zero.String()+zero.BaseURL())
	double.Equal(t, "its pace", horseracing.Pace{}, zero.Pace())
	double.Equal(t, "the positions of a Follower and a Pager", make([]horseracing.Cursor, 2), []horseracing.Cursor{follower.Cursor(), pager.Cursor()})
}

func TestCallLeavesTheCallersHTTPClientAlone(t *testing.T) {
	pool := &http.Transport{MaxIdleConnsPerHost: 3}
	mine := &http.Client{Transport: pool}
	c := double.Connect(t, double.Refused, mine, double.NoRetries())
	double.Connect(t, double.Service, nil)
	_, _ = double.OpenRaces(t.Context(), c), double.Register(t.Context(), c)
	if mine.Transport != pool || mine.CheckRedirect != nil || mine.Jar != nil || mine.Timeout != 0 {
		t.Errorf("changed to %+v", mine)
	}
	if def := http.DefaultTransport.(*http.Transport); pool.DisableKeepAlives || pool.MaxIdleConnsPerHost != 3 || def.MaxIdleConnsPerHost != 0 || def.DisableKeepAlives {
		t.Error("a transport was changed")
	}
}

// hang responds when the context ends.
func hang(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, double.ErrReset // unlike httpmock, not every RoundTripper returns the context's error
}

// The error is that of the last attempt, too, and counts the requests that were sent. An unknown outcome
// matches no earlier refusal: a program that tests for the refusal first would register again.
func TestContextThatEndsStopsACall(t *testing.T) {
	forever := horseracing.WithRetry(horseracing.Retry{MinWait: 1000 * time.Hour, MaxWait: 1000 * time.Hour})
	for name, test := range map[string]struct {
		limit     time.Duration
		call      func(context.Context, *horseracing.Client) error
		respond   httpmock.Responder
		attempts  int
		isUnknown bool
		text      string
	}{
		"before a read":         {0, double.OpenRaces, double.Respond(200, "[]"), 0, false, ": context deadline exceeded"},
		"before a registration": {0, double.Register, double.Respond(200, "{}"), 0, false, ": context deadline exceeded"},
		"waiting, by a status":  {time.Minute, double.OpenRaces, double.Respond(503, "", "Retry-After: 3600"), 1, false, "context deadline exceeded after status 503"},
		"again, after a status": {10 * time.Second, double.OpenRaces, double.InTurn(double.Respond(429, "", "Retry-After: 1"), hang), 2, false, "context deadline exceeded: connection reset by peer after status 429 (after 2 attempts)"},
		"waiting, by a reset":   {time.Minute, double.OpenRaces, httpmock.NewErrorResponder(double.ErrReset), 1, false, "context deadline exceeded after: connection reset by peer"},
		"waiting, with a fee":   {time.Minute, double.Register, double.Respond(429, "", "Retry-After: 3600"), 1, false, "context deadline exceeded after status 429"},
		"in a registration":     {time.Second, double.Register, hang, 1, true, "context deadline exceeded: connection reset by peer"},
		"in one after a status": {10 * time.Second, double.Register, double.InTurn(double.Respond(429, "", "Retry-After: 1"), hang), 2, true, "context deadline exceeded: connection reset by peer after status 429 (after 2 attempts); the outcome is unknown"},
	} {
		double.Run(t, name, func(t *testing.T) {
			var sent []double.Sent
			started := time.Now()
			c := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(double.Noting(&sent, test.respond))}, forever)
			err := test.call(double.Within(t, test.limit), c)
			transport := new(horseracing.TransportError)
			double.FailIf(t, !errors.As(err, &transport), "no *TransportError: %v", err)
			double.Error(t, "error", context.DeadlineExceeded, test.text, err)
			double.Equal(t, "attempts, requests, time", fmt.Sprint(test.attempts, test.attempts, test.limit), fmt.Sprint(transport.Attempts, len(sent), time.Since(started)))
			double.Equal(t, "the outcome is unknown", test.isUnknown, errors.Is(err, horseracing.ErrOutcomeUnknown))
			_, isAPI := errors.AsType[*horseracing.APIError](err)
			double.Equal(t, "an *APIError", strings.Contains(test.text, "status") && !test.isUnknown, isAPI)
		})
	}
}

// onePage is the call of a walk for its first page.
func onePage(ctx context.Context, c *horseracing.Client) error {
	return errorOf(c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1))
}

func TestLogHasAnAttemptWithoutKeysAtDebug(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 1} {
		var log bytes.Buffer
		broken := httpmock.NewErrorResponder(errors.New(double.AppKey + " is wrong\x1b" + strings.Repeat("x", 5000)))
		c := double.Client(t, broken, double.NoRetries(), horseracing.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))))
		_, _ = c.Races.Open(t.Context())
		text := log.String()
		if strings.Count(text, "horseracing: attempt") != want || strings.Contains(text, double.AppKey) || strings.Contains(text, "x1b") || strings.Contains(text, "status") || len(text) > 2200 {
			t.Errorf("at %v: %s", level, text)
		}
	}
}
