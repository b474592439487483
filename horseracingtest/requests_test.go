package horseracingtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

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
		{"POST to a listing", "POST", openPath, "", nil, 405, "takes GET, not POST"},
		{"no API key", "GET", openPath, "", header("x-api-key"), 401, "x-api-key is missing"},
		{"unknown API key", "GET", openPath, "", header("x-api-key", "secret-x"), 401, "no API key of this service"},
		{"no content type", "GET", openPath, "", header("content-type"), 415, "content-type is missing"},
		{"body where none is documented", "GET", breedingPath, "{}", nil, 400, "takes no request body, but 2 bytes came"},
		{"chunked body", "GET", resultsPath, "", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), -1
		}, 411, "without a Content-Length"},
		{"huge body", "GET", resultsPath, strings.Repeat(" ", 65<<10), nil, 413, "larger than"},
		{"unknown member", "GET", resultsPath, `{"start_time":1}`, nil, 400, `unknown object member name "start_time"`},
		{"start_time_from in version 1", "GET", resultsV1Path, `{"start_time_from":5}`, nil, 400, `unknown object member name "start_time_from"`},
		{"string for a number", "GET", resultsPath, `{"tier":"5"}`, nil, 400, `JSON string into Go int64 within "/tier"`},
		{"unknown tier", "GET", resultsPath, `{"tier":6}`, nil, 400, "no tier 6; this fake has 1 to 5"},
		{"negative offset", "GET", resultsV1Path, `{"offset":-1}`, nil, 400, "must not be negative"},
		{"race id that is a word", "GET", "/api/v1/races/first", "", nil, 400, `raceId in the path must be an integer, got "first"`},
		{"horse number with a zero", "GET", "/api/v1/horses/missions/01", "", nil, 400, `got "01"`},
		{"unknown user key", "GET", userPath, `{"user_key":"secret-y"}`, nil, 403, "belongs to no user"},
		{"registration without a race", "POST", registerPath, `{"horse_number":1,"user_key":"x"}`, nil, 400, "needs horse_number, user_key and main_race_id"},
	} {
		r := newRequest(t, s, test.method, test.path, test.body)
		if test.change != nil {
			test.change(r)
		}
		response, body := do(t, s, r)
		if message := strings.ReplaceAll(body, `\"`, `"`); response.StatusCode != test.status || !strings.Contains(message, test.words) {
			t.Errorf("%s: status %d: %s\nwant %d and %q", test.name, response.StatusCode, body, test.status, test.words)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s: the refusal repeats a key: %s", test.name, body)
		}
	}
}
