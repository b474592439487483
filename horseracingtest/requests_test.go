package horseracingtest_test

import (
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/internal/double"
)

func TestEveryMistakeIsRefusedWithAMessageThatNamesIt(t *testing.T) {
	s := start(t)
	const breedingPath = "/api/v1/horses/breeding/open"
	for _, test := range []struct {
		name, method, path, body string
		header, value            string // a header that has this value instead, or is missing
		status                   int
		words                    string
	}{
		{"unknown path", "GET", "/api/v1/race/open", "", "", "", 404, "no operation at the path /api/v1/race/open"},
		{"POST to a listing", "POST", openPath, "", "", "", 405, "takes GET, not POST"},
		{"no API key", "GET", openPath, "", "x-api-key", "", 401, "x-api-key is missing"},
		{"unknown API key", "GET", openPath, "", "x-api-key", "secret-x", 401, "no API key of this service"},
		{"another content type", "GET", openPath, "", "content-type", "text/plain", 415, "content-type must be application/json"},
		{"body where none is documented", "GET", breedingPath, "{}", "", "", 400, "takes no request body, but 2 bytes came"},
		{"huge body", "GET", resultsPath, strings.Repeat(" ", 65<<10), "", "", 413, "larger than"},
		{"unknown member", "GET", resultsPath, `{"start_time":1}`, "", "", 400, `unknown object member name "start_time"`},
		{"string for a number", "GET", resultsPath, `{"tier":"5"}`, "", "", 400, `JSON string into Go int64 within "/tier"`},
		{"unknown tier", "GET", resultsPath, `{"tier":6}`, "", "", 400, "no tier 6; this fake has 1 to 5"},
		{"race id that is a word", "GET", "/api/v1/races/first", "", "", "", 400, `raceId in the path must be an integer, got "first"`},
		{"registration without a race", "POST", registerPath, `{"horse_number":1,"user_key":"x"}`, "", "", 400, "needs horse_number, user_key and main_race_id"},
	} {
		r := newRequest(t, s, test.method, test.path, test.body)
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		response, body := do(t, s, r)
		double.Equal(t, test.name, test.status, response.StatusCode)
		double.Equal(t, test.name+": "+body+" contains "+test.words, true, strings.Contains(strings.ReplaceAll(body, `\"`, `"`), test.words))
		double.Equal(t, test.name+": "+body+" repeats a key", false, strings.Contains(body, "secret"))
	}
}
