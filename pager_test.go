package horseracing

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A page is kept in memory with its JSON only if Entries yields it.
func TestAPagerKeepsJSONOnlyForEntries(t *testing.T) {
	pages := transportFunc(func(req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		page := `[{"main_race_id":2,"start_time":1700000060000},{"main_race_id":1,"start_time":1700000000000}]`
		if strings.Contains(string(body), "start_time_from") {
			page = "[]"
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page)), Request: req}, nil
	})
	client, err := NewClient("https://api.example", "a-key-of-the-tests", WithHTTPClient(&http.Client{Transport: pages}))
	if err != nil {
		t.Fatal(err)
	}
	pager, read := client.Races.Results(ResultsQuery{}), 0
	for e := range pager.entries(t.Context()) {
		if read++; e.Err != nil || e.Value.Value == nil || e.Value.JSON != nil {
			t.Errorf("%+v", e)
		}
	}
	for e, err := range client.Races.Results(ResultsQuery{}).Entries(t.Context()) {
		if read++; err != nil || len(e.JSON) == 0 {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if read != 4 {
		t.Errorf("%d entries", read)
	}
}
