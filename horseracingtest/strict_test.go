package horseracingtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func itoa[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func TestEveryMistakeIsRefusedWithAMessageThatNamesIt(t *testing.T) {
	s := start(t)
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(name)
			for _, v := range values {
				r.Header.Add(name, v)
			}
		}
	}
	const breedingPath, userPath = "/api/v1/horses/breeding/open", "/api/v1/horses/user"
	for _, test := range []struct {
		name         string
		method, path string
		body         string
		change       func(*http.Request)
		status       int
		words        string
	}{
		{"unknown path", "GET", "/api/v1/race/open", "", nil, 404, "no operation at the path /api/v1/race/open"},
		{"trailing slash", "GET", openPath + "/", "", nil, 404, "no operation at the path"},
		{"GET to register", "GET", registerPath, "", nil, 405, "takes POST, not GET"},
		{"POST to a listing", "POST", openPath, "", nil, 405, "takes GET, not POST"},
		{"no API key", "GET", openPath, "", header("x-api-key"), 401, "x-api-key is missing"},
		{"unknown API key", "GET", openPath, "", header("x-api-key", "secret-x"), 401, "no API key of this service"},
		{"two API keys", "GET", openPath, "", header("x-api-key", "a", "b"), 400, "came 2 times"},
		{"no content type", "GET", openPath, "", header("content-type"), 415, "content-type is missing"},
		{"other content type", "GET", openPath, "", header("content-type", "text/plain"), 415, `not "text/plain"`},
		{"query on a listing with a body", "GET", resultsPath + "?tier=5", "", nil, 400, "they go into the JSON body"},
		{"body where none is documented", "GET", breedingPath, "{}", nil, 400, "takes no request body, but 2 bytes came"},
		{"chunked body", "GET", resultsPath, "", func(r *http.Request) {
			r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader("{}")), -1, nil
		}, 411, "without a Content-Length"},
		{"huge body", "GET", resultsPath, strings.Repeat(" ", 65<<10), nil, 413, "larger than"},
		{"no JSON", "GET", resultsPath, "tier=5", nil, 400, "one JSON object: jsontext: invalid"},
		{"cut JSON", "GET", resultsPath, `{"tier":5`, nil, 400, "unexpected EOF"},
		{"something behind", "GET", resultsPath, `{"tier":5}{}`, nil, 400, "after top-level value"},
		{"array", "GET", resultsPath, `[]`, nil, 400, "one JSON object: json: cannot unmarshal JSON array"},
		{"bad UTF-8", "GET", userPath, "{\"user_key\":\"\xff\"}", nil, 400, "invalid UTF-8"},
		{"unknown member", "GET", resultsPath, `{"start_time":1}`, nil, 400, `unknown member "start_time"; this operation takes tier, start_time_from`},
		{"start_time_from in version 1", "GET", resultsV1Path, `{"start_time_from":5}`, nil, 400, `takes tier, offset`},
		{"duplicate member", "GET", resultsPath, `{"tier":5,"tier":5}`, nil, 400, `duplicate object member name "tier"`},
		{"string for a number", "GET", resultsPath, `{"tier":"5"}`, nil, 400, "tier must be a number, not string"},
		{"fraction", "GET", resultsPath, `{"start_time_from":1.5}`, nil, 400, "must be a plain integer, got 1.5"},
		{"out of range", "GET", resultsPath, `{"start_time_from":99999999999999999999}`, nil, 400, "out of range"},
		{"unknown tier", "GET", resultsPath, `{"tier":6}`, nil, 400, "no tier 6; this fake has 1 to 5"},
		{"negative offset", "GET", resultsV1Path, `{"offset":-1}`, nil, 400, "must not be negative"},
		{"race id that is a word", "GET", "/api/v1/races/first", "", nil, 400, `raceId in the path must be an integer, got "first"`},
		{"horse number with a zero", "GET", "/api/v1/horses/missions/01", "", nil, 400, `got "01"`},
		{"unknown horse", "GET", "/api/v1/horses/5000", "", nil, 404, "no horse 5000"},
		{"no user key", "GET", userPath, "", nil, 400, `lacks the required member "user_key"`},
		{"number for a user key", "GET", userPath, `{"user_key":1}`, nil, 400, "user_key must be a string, not number"},
		{"unknown user key", "GET", userPath, `{"user_key":"secret-y"}`, nil, 403, "belongs to no user"},
		{"registration without a race", "POST", registerPath, `{"horse_number":1,"user_key":"x"}`, nil, 400, `lacks the required member "main_race_id"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest(t, s, test.method, test.path, test.body)
			if test.change != nil {
				test.change(r)
			}
			response, body := do(t, s, r)
			if response.StatusCode != test.status {
				t.Errorf("status %d, want %d: %s", response.StatusCode, test.status, body)
			}
			var refusal struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal([]byte(body), &refusal); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if refusal.Error.Code == "" || !strings.Contains(refusal.Error.Message, test.words) {
				t.Errorf("the refusal is %s, want one that says %q", body, test.words)
			}
			if strings.Contains(body, "secret") {
				t.Errorf("the refusal repeats a key: %s", body)
			}
			if test.status == http.StatusMethodNotAllowed && response.Header.Get("Allow") == "" {
				t.Error("the response does not say which method is allowed")
			}
		})
	}
}

func TestWhatTheDocumentAllowsIsTaken(t *testing.T) {
	s := start(t)
	for _, body := range []string{"", "{}", " { } ", `{"tier":5}`, `{"start_time_from":-5}`, `{"start_time_from":1748779200000,"tier":1}`, `{"tier":5}` + "\n"} {
		r := newRequest(t, s, "GET", resultsPath, body)
		r.Header.Set("content-type", "application/json; charset=UTF-8")
		if response, text := do(t, s, r); response.StatusCode != http.StatusOK {
			t.Errorf("body %s: status %d: %s", body, response.StatusCode, text)
		} else if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
			t.Errorf("body %s: content type %s", body, kind)
		}
	}
}
