package wire

import (
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

func TestARequestIsReadStrictly(t *testing.T) {
	const now = 1748779200000
	for _, test := range []struct {
		method, target, body string
		want                 request
		refused              string
	}{
		{"GET", "/api/v1/horses/user", `{"user_key":"k"}`, request{does: world.UserHorses, body: world.Body{Tier: 5, StartTimeFrom: now, UserKey: "k"}}, ""},
		{"GET", "/api/v1/horses/311", "", request{does: world.GetHorse, argument: world.Argument{Number: 311, Text: "311"}, body: world.DefaultBody(now)}, ""},
		{"GET", "/api/v2/races/results", `{"tier":2,"start_time_from":7}`, request{does: world.RaceResults, body: world.Body{Tier: 2, StartTimeFrom: 7}}, ""},
		{"GET", "/api/v1/races/results", `{"offset":20}`, request{does: world.RaceResultsV1, body: world.Body{Tier: 5, StartTimeFrom: now, Offset: 20}}, ""},
		{"GET", "/api/v1/tournaments/a%2Fb", "", request{does: world.GetTournament, argument: world.Argument{Text: "a/b"}, body: world.DefaultBody(now)}, ""},
		{"GET", "/api/v1/horses/0311", "", request{}, "invalid_path"},
		{"GET", "/api/v1/horses/311?x=1", "", request{}, "unexpected_query"},
		{"GET", "/api/v1/horses/311", "{}", request{}, "unexpected_body"},
		{"GET", "/api/v1/races/results", `{"start_time_from":7}`, request{}, "unknown_member"},
		{"POST", "/api/v1/races/open", "", request{}, "wrong_method"},
		{"GET", "/api/v3/races/open", "", request{}, "unknown_path"},
	} {
		r := httptest.NewRequest(test.method, test.target, nil)
		r.Header.Set("X-Api-Key", "key")
		r.Header.Set("Content-Type", "application/json")
		c := &call{request: r, arrived: Request{Body: []byte(test.body)}}
		got, no := parse(c, headers{"key"}, now)
		if no != nil && no.Code == test.refused {
			continue
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(request{})); diff != "" || no != nil || test.refused != "" {
			t.Errorf("%s %s %s: refused %v, want %q\n%s", test.method, test.target, test.body, no, test.refused, diff)
		}
	}
}
