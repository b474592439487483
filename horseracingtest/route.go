package horseracingtest

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
	"github.com/horseracing-go/horseracing/internal/route"
)

// operation is how a documented operation is requested.
type operation struct {
	method, path string // path may have one parameter: "/api/v1/horses/{horse_number}"
	does         world.Operation
	takesText    bool                       // the parameter is not a number
	takes        func(*world.Body) []member // what the body may have, or nil if there is none
}

// operations are in the order of the API reference. A parameter comes after
// the operations whose fixed path it would also match.
//
// See docs/service.md, section 4.
var operations = []operation{
	{http.MethodGet, "/api/v1/horses/user", world.UserHorses, false, userKey},
	{http.MethodGet, "/api/v1/horses/{horse_number}", world.GetHorse, false, nil},
	{http.MethodGet, "/api/v1/horses/missions/{horse_number}", world.HorseMissions, false, nil},
	{http.MethodGet, "/api/v1/horses/breeding/open", world.OpenBreeding, false, nil},
	{http.MethodGet, "/api/v2/races/results", world.RaceResults, false, tierAndTime},
	{http.MethodGet, "/api/v1/races/results", world.RaceResultsV1, false, tierAndOffset},
	{http.MethodGet, "/api/v1/races/open", world.OpenRaces, false, nil},
	{http.MethodPost, "/api/v1/races/register", world.Register, false, registration},
	{http.MethodGet, "/api/v1/races/{raceId}", world.GetRace, false, nil},
	{http.MethodGet, "/api/v1/tournaments/results", world.TournamentResults, false, tierAndTime},
	{http.MethodGet, "/api/v1/tournaments/open", world.OpenTournaments, false, nil},
	{http.MethodGet, "/api/v1/tournaments/{tournamentId}", world.GetTournament, true, nil},
	{http.MethodGet, "/api/v1/missions", world.Catalogue, false, nil},
}

func userKey(b *world.Body) []member {
	return []member{{name: "user_key", text: &b.UserKey, required: true}}
}

func tierAndTime(b *world.Body) []member {
	return []member{{name: "tier", number: &b.Tier}, {name: "start_time_from", number: &b.StartTimeFrom}}
}

func tierAndOffset(b *world.Body) []member {
	return []member{{name: "tier", number: &b.Tier}, {name: "offset", number: &b.Offset}}
}

func registration(b *world.Body) []member {
	return []member{
		{name: "horse_number", number: &b.Horse, required: true},
		{name: "user_key", text: &b.UserKey, required: true},
		{name: "main_race_id", number: &b.Race, required: true},
	}
}

// find returns the operation at a path, as it was escaped in the request.
func find(path string) (op *operation, argument string, no *world.Refusal) {
	for i := range operations {
		rest, ok := route.Match(operations[i].path, path)
		if !ok {
			continue
		}
		argument, err := url.PathUnescape(rest)
		if err != nil {
			return nil, "", world.Refuse(http.StatusBadRequest, "invalid_path", "the path is badly escaped: %v", err)
		}
		return &operations[i], argument, nil
	}
	return nil, "", world.Refuse(http.StatusNotFound, "unknown_path", "there is no operation at the path %.200s", path)
}

// request is a valid request.
type request struct {
	does     world.Operation
	argument world.Argument
	body     world.Body
}

// parse reads a request to the service, strictly.
func parse(c *call, keys headers, now int64) (request, *world.Refusal) {
	r, body := c.request, c.arrived.Body
	op, text, no := find(r.URL.EscapedPath())
	if no != nil {
		return request{}, no
	}
	if r.Method != op.method {
		return request{}, world.Refuse(http.StatusMethodNotAllowed, "wrong_method", "%s takes %s, not %s", op.path, op.method, r.Method)
	}
	if no := keys.check(r); no != nil {
		return request{}, no
	}
	parsed := request{op.does, world.Argument{Text: text}, world.DefaultBody(now)}
	no = c.unread
	switch {
	case r.URL.RawQuery != "" || r.URL.ForceQuery:
		no = world.Refuse(http.StatusBadRequest, "unexpected_query", "%s %s takes no query parameters: %s", op.method, op.path, whereParametersGo(op))
	case no != nil:
	case op.takes == nil && len(body) > 0:
		no = world.Refuse(http.StatusBadRequest, "unexpected_body", "%s %s takes no request body, but %d bytes came", op.method, op.path, len(body))
	case op.takes != nil:
		no = parseBody(body, op.takes(&parsed.body)...)
	}
	if no == nil && text != "" && !op.takesText {
		parsed.argument.Number, no = op.integer(text)
	}
	return parsed, no
}

func whereParametersGo(op *operation) string {
	if op.takes != nil {
		return "they go into the JSON body"
	}
	return "it takes nothing but its path"
}

// integer reads the path parameter of an operation that takes a number.
func (op *operation) integer(text string) (int64, *world.Refusal) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		_, name, _, _ := route.Cut(op.path)
		return 0, world.Refuse(http.StatusBadRequest, "invalid_path", "%s in the path must be an integer, got %.100q", name, text)
	}
	return n, nil
}

// service is the end of the chain.
func service(reading *reading, late *late, keys headers) handle {
	return func(c *call) response {
		now := late.catchUp()
		parsed, no := parse(c, keys, now)
		if no != nil {
			out := refused(no)
			if op, _, _ := find(c.request.URL.EscapedPath()); no.Status == http.StatusMethodNotAllowed {
				out.header = http.Header{"Allow": {op.method}}
			}
			return out
		}
		return reading.do(parsed.does, parsed.argument, parsed.body, now)
	}
}
