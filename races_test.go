package horseracing_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestRacesOpenHasNoRaceWithoutAnID(t *testing.T) {
	const body = `[{"main_race_id":1},{"start_time":1767312000000},{"main_race_id":0},{"main_race_id":2},null]`
	var skipped []string
	handler := horseracing.WithSkipHandler(func(_ context.Context, err error) { skipped = append(skipped, err.(*horseracing.DecodeError).Field) })
	races := double.Must(responding(t, body, handler).Races.Open(t.Context()))
	double.Equal(t, "races", []horseracing.Race{{MainRaceID: 1}, {MainRaceID: 2}}, races)
	double.Equal(t, "skipped", []string{"/1/main_race_id", "/2", "/4"}, skipped)
}

func TestTiersFindsTheNumbersThatAreNotDocumented(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Status: http.StatusNotFound}) // no tier has the number 1
	tiers, err := fake.Client().Races.Tiers(t.Context())
	double.NoError(t, err)
	double.Equal(t, "tiers", "[{2 Beta} {3 Gamma} {4 Delta} {5 Omega}]", fmt.Sprint(tiers))
	fake.Inject(horseracingtest.Fault{Status: http.StatusForbidden})
	tiers, err = fake.Client().Races.Tiers(t.Context())
	double.FailIf(t, tiers != nil || err == nil, "after a refusal: %v, %v", tiers, err)
}

func TestTierByNameAndBackKnowsTheDocumentedTier(t *testing.T) {
	id, ok := horseracing.TierByName("omega")
	name, hasName := horseracing.TierOmega.Name()
	double.Equal(t, "Omega", "5 true Omega true\n", fmt.Sprintln(id, ok, name, hasName))
	_, ok = horseracing.TierByName(horseracing.TierNameBeta)
	_, hasName = horseracing.TierID(3).Name()
	double.FailIf(t, ok || hasName, "an undocumented tier is known")
}

func TestRaceFinishersFollowTheFinalOrder(t *testing.T) {
	three := []horseracing.RaceParticipant{{Number: 10}, {Number: 20}, {Number: 30}}
	for name, test := range map[string]struct {
		order, want []int // of participants
	}{
		"every place":      {[]int{2, 0, 1}, []int{2, 0, 1}},
		"the first only":   {[]int{1}, []int{1}},
		"none yet":         {nil, nil},
		"beyond the last":  {[]int{0, 3}, nil},
		"before the first": {[]int{-1}, nil},
		"twice the same":   {[]int{1, 1}, nil},
	} {
		race := horseracing.Race{Participants: three, FinalOrder: test.order}
		got, err := race.Finishers()
		var want []horseracing.RaceParticipant
		for _, i := range test.want {
			want = append(want, three[i])
		}
		double.Equal(t, name, want, got)
		winner, ok := race.Winner()
		double.Equal(t, fmt.Sprintf("%s: an error, %v", name, err), len(want) < len(test.order), err != nil)
		double.Equal(t, name+": the winner", append(want, horseracing.RaceParticipant{})[0], winner)
		double.Equal(t, name+": a winner", len(want) > 0, ok)
	}
}

func TestRaceCheckEntryNamesAllThatKeepsAHorseOut(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	open := horseracing.Race{
		MainRaceID: 4711, RegistrationDeadline: horseracing.NewTimestamp(now.Add(time.Minute)), Places: 2, MinLevel: 10, MaxLevel: 20,
		Participants: []horseracing.RaceParticipant{{Number: 8}},
	}
	horse := &horseracing.Horse{Number: 7, Level: 10, Tier: horseracing.TierNameOmega}
	for name, test := range map[string]struct {
		change func(*horseracing.Race)
		horse  *horseracing.Horse
		want   []string // parts of the text, or none for no error
	}{
		"nothing":                  {nil, horse, nil},
		"nothing, without a horse": {nil, nil, nil},
		"the deadline":             {func(r *horseracing.Race) { r.RegistrationDeadline = horseracing.NewTimestamp(now) }, horse, []string{"registration closed at 2026-01-02T15:00:00.000Z"}},
		"finished":                 {func(r *horseracing.Race) { r.FinalOrder = []int{0} }, horse, []string{"has finished"}},
		"more horses than places":  {func(r *horseracing.Race) { r.Places = 0 }, nil, []string{"none of its 0 places is free"}},
		"the highest level":        {nil, &horseracing.Horse{Number: 7, Level: 20}, nil},
		"too high a level":         {nil, &horseracing.Horse{Number: 7, Level: 21}, []string{"level 21"}},
		"too low a level":          {nil, &horseracing.Horse{Number: 7, Level: 9}, []string{"level 9 of horse 7", "10 to 20"}},
		"no upper bound":           {func(r *horseracing.Race) { r.MaxLevel = 0 }, &horseracing.Horse{Number: 7, Level: 9}, []string{"10 or above"}},
		"it is in":                 {nil, &horseracing.Horse{Number: 8, Level: 10}, []string{"horse 8 is already in it"}},
		"no id":                    {func(r *horseracing.Race) { r.MainRaceID = 0 }, nil, []string{"race 0: it has no id"}},
		"everything": {func(r *horseracing.Race) { r.Places, r.RegistrationDeadline = 1, horseracing.NewTimestamp(now) }, &horseracing.Horse{Number: 8, Level: 9},
			[]string{"registration closed", "places", "level 9", "already in it"}},
	} {
		race := open
		if test.change != nil {
			test.change(&race)
		}
		err := race.CheckEntry(test.horse, now)
		double.Equal(t, fmt.Sprintf("%s: no error, %v", name, err), test.want == nil, err == nil)
		double.Equal(t, name+": open with a result or without a deadline", false, race.RegistrationOpenAt(now) && (race.Finished() || race.RegistrationDeadline.IsZero()))
		for _, part := range append(test.want, fmt.Sprintf("race %d", race.MainRaceID)) {
			double.Equal(t, fmt.Sprintf("%s: %v contains %s", name, err, part), true, err == nil || strings.Contains(err.Error(), part))
		}
	}
}

func TestRegisterIsDecidedByTheStatusAndTheBody(t *testing.T) {
	const registered, refused, unknown = "registered", "refused", "unknown"
	for _, test := range []struct {
		status int
		body   string // or a file of testdata
		header string
		want   string
		is     error // of an outcome that is not registered
	}{
		{200, "register.json", "", registered, nil},
		{204, "", "", registered, nil},
		{299, "null", "", registered, nil},
		{200, "OK", "", registered, nil},
		{200, `{"ok":true,"success":"false","error":null,"errors":[ ]}`, "", registered, nil},
		{200, `{"data":{"success":false}}`, "", registered, nil},
		{200, "\ufeff{\"ok\":true}", "", registered, nil},
		{200, "{\"name\":\"Caf\xe9\"}", "", registered, nil}, // Latin-1

		{202, `{"queued":true}`, "", unknown, nil},
		{200, " false\n", "", unknown, nil},
		{200, `{"success": false}`, "", unknown, nil},
		{200, "\ufeff{\"ok\":false,\"message\":\"full\"}", "", unknown, nil},
		{200, `{"ok":`, "", unknown, nil},
		{200, `{"ok":false,"ok":true}`, "", unknown, nil},
		{200, `{"\u0065rror":"full"}`, "", unknown, nil},
		{200, "<!DOCTYPE html><html>", "", unknown, nil},
		{200, "<?xml version='1.0'?><a/>", "", unknown, nil},
		{200, strings.Repeat(" ", 2000), "", unknown, horseracing.ErrResponseTooLarge},
		{200, "\x1f\x8b\x08denied", "", unknown, nil}, // gzip
		{200, "\x78\x9cdenied", "", unknown, nil},     // zlib
		{200, "\xff\xfeO\x00K\x00", "", unknown, nil}, // UTF-16
		{200, "\xfe\xff\x4f\x4b", "", unknown, nil},
		{200, "O\x00K\x00", "", unknown, nil},
		{200, "\x1f\x8b\x08denied", "Content-Encoding: identity\nContent-Encoding: gzip", unknown, nil},
		{303, "", "Location: /done", unknown, horseracing.ErrRedirect},

		{400, `{"message":"registration for this race is already closed"}`, "", refused, nil},
		{403, "", "Retry-After: 1", refused, horseracing.ErrRateLimited},
		{409, `{"message":"Horse is already registered"}`, "", refused, nil},
		{429, "", "Retry-After: 3600", refused, horseracing.ErrRateLimited},

		{408, "", "", unknown, nil},
		{500, `{"message":"not registered"}`, "", unknown, horseracing.ErrServer},
		{503, "", "Retry-After: 1", unknown, horseracing.ErrServer},
	} {
		t.Run(fmt.Sprintf("%d %.30s", test.status, test.body), func(t *testing.T) {
			body, header := test.body, strings.Split(cmp.Or(test.header, "Content-Type: application/json"), "\n")
			if strings.HasSuffix(body, ".json") {
				body = string(payload(t, body))
			}
			c, mock := double.Mocked(t, double.Respond(test.status, body, header...), horseracing.WithMaxResponseBytes(1000))
			receipt, err := c.Races.Register(t.Context(), double.Entry)
			got := "another error"
			if _, isAPI := errors.AsType[*horseracing.APIError](err); errors.Is(err, horseracing.ErrOutcomeUnknown) {
				got = unknown
			} else if isAPI {
				got = refused
			} else if err == nil {
				got = registered
				want := &horseracing.RegistrationReceipt{StatusCode: test.status}
				if body = strings.TrimPrefix(body, "\ufeff"); json.Valid([]byte(body)) {
					want.Body = json.RawMessage(body)
				}
				double.Equal(t, "the receipt", want, receipt)
			}
			double.Equal(t, fmt.Sprintf("the outcome, %v", err), test.want, got)
			double.Equal(t, fmt.Sprintf("%v is %v", err, test.is), true, test.is == nil || errors.Is(err, test.is))
			double.Equal(t, "requests", 1, mock.GetTotalCallCount())
		})
	}
}

// What may change something follows the same rules, through Do too: every method but GET.
func TestRegisterIsRepeatedAfter429Alone(t *testing.T) {
	for status, requests := range map[int]int{429: 4, 403: 1, 408: 1, 503: 1} {
		for _, method := range []string{"Register", "POST", "HEAD", "PURGE"} {
			synctest.Test(t, func(t *testing.T) {
				c, mock := double.Mocked(t, func(req *http.Request) (*http.Response, error) {
					double.FailIf(t, req.ContentLength == 0, "%s has no body: net/http would repeat it", method)
					return httpmock.NewStringResponder(status, "").HeaderSet(http.Header{"Retry-After": {"1"}})(req)
				})
				call := func() error { return c.Do(t.Context(), method, "/api/v9/thing", nil, nil) }
				if method == "Register" {
					call = func() error { return double.Register(t.Context(), c) }
				}
				err := call()
				double.Equal(t, fmt.Sprintf("%s, status %d: requests", method, status), requests, mock.GetTotalCallCount())
				double.Equal(t, fmt.Sprintf("%s: an unknown outcome, %v", method, err), status == 408 || status == 503, errors.Is(err, horseracing.ErrOutcomeUnknown))
			})
		}
	}
}

func TestRegisterIsSentOnceWhateverBreaks(t *testing.T) {
	respondWith := func(text string) func(net.Conn) {
		return func(c net.Conn) { io.WriteString(c, text); c.Close() }
	}
	for name, act := range map[string]func(net.Conn){
		"closed":              func(c net.Conn) { c.Close() },
		"reset":               func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() },
		"half a status line":  respondWith("HTTP/1.1 20"),
		"half a body":         respondWith("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"registered\":"),
		"half a chunked body": respondWith("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"ok\""),
		"a body without end":  respondWith("HTTP/1.1 200 OK\r\n\r\n{\"ok\""),
		"silence":             func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent.Add(1)
				io.Copy(io.Discard, r.Body)
				connection, _, _ := http.NewResponseController(w).Hijack()
				act(connection)
			}))
			defer server.Close()
			c := double.Connect(t, server.URL, nil, double.Briefly, horseracing.WithAttemptTimeout(200*time.Millisecond))
			_, err := c.Races.Register(t.Context(), double.Entry)
			double.Error(t, "it breaks", horseracing.ErrOutcomeUnknown, "", err)
			double.Equal(t, "requests", 1, int(sent.Load()))
		})
	}
}
