package horseracingtest

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// request is a request to a documented operation with the right headers.
type request struct {
	argument string // the value of the path's parameter
	body     []byte
	now      int64
}

// operation is one of the documented operations.
type operation struct {
	method, path string // path may end in one parameter: "/api/v1/horses/{horse_number}"
	takesBody    bool
	respond      func(*Server, *request) ([]byte, *refusal)
}

// operations are in the order of the API reference. A parameter stands behind
// the operations whose fixed path it would also match.
//
// See docs/service.md, section 4.
var operations = []operation{
	{http.MethodGet, "/api/v1/horses/user", true, (*Server).userHorses},
	{http.MethodGet, "/api/v1/horses/{horse_number}", false, (*Server).horse},
	{http.MethodGet, "/api/v1/horses/missions/{horse_number}", false, (*Server).missions},
	{http.MethodGet, "/api/v1/horses/breeding/open", false, (*Server).breeding},
	{http.MethodGet, "/api/v2/races/results", true, (*Server).results},
	{http.MethodGet, "/api/v1/races/results", true, (*Server).resultsV1},
	{http.MethodGet, "/api/v1/races/open", false, (*Server).openRaces},
	{http.MethodPost, "/api/v1/races/register", true, (*Server).register},
	{http.MethodGet, "/api/v1/races/{raceId}", false, (*Server).race},
	{http.MethodGet, "/api/v1/tournaments/results", true, (*Server).tournamentResults},
	{http.MethodGet, "/api/v1/tournaments/open", false, (*Server).openTournaments},
	{http.MethodGet, "/api/v1/tournaments/{tournamentId}", false, (*Server).tournament},
	{http.MethodGet, "/api/v1/missions", false, (*Server).missionCatalogue},
}

// find returns the operation at a path, as it was escaped in the request.
func find(path string) (op *operation, argument string, no *refusal) {
	for i := range operations {
		op := &operations[i]
		fixed, _, parameter := strings.Cut(op.path, "{")
		rest, ok := strings.CutPrefix(path, fixed)
		switch {
		case !ok, !parameter && rest != "", parameter && (rest == "" || strings.Contains(rest, "/")):
			continue
		}
		argument, err := url.PathUnescape(rest)
		if err != nil {
			return nil, "", refuse(http.StatusBadRequest, "invalid_path", "the path is badly escaped: %v", err)
		}
		return op, argument, nil
	}
	return nil, "", refuse(http.StatusNotFound, "unknown_path", "there is no operation at the path %.200s", path)
}

// respond returns the response of the service to a request at that time.
// unread is why its body could not be read.
func (s *Server) respond(r *http.Request, body []byte, unread *refusal, now int64) response {
	op, argument, no := find(r.URL.EscapedPath())
	if no != nil {
		return no.response()
	}
	if r.Method != op.method {
		no := refuse(http.StatusMethodNotAllowed, "wrong_method", "%s takes %s, not %s", op.path, op.method, r.Method)
		no.allow = op.method
		return no.response()
	}
	if no := s.checkHeaders(r); no != nil {
		return no.response()
	}
	no = unread
	switch {
	case r.URL.RawQuery != "" || r.URL.ForceQuery:
		no = refuse(http.StatusBadRequest, "unexpected_query", "%s %s takes no query parameters: %s", op.method, op.path, whereParametersGo(op))
	case no == nil && !op.takesBody && len(body) > 0:
		no = refuse(http.StatusBadRequest, "unexpected_body", "%s %s takes no request body, but %d bytes came", op.method, op.path, len(body))
	}
	if no != nil {
		return no.response()
	}
	b, no := op.respond(s, &request{argument: argument, body: body, now: now})
	if no != nil {
		return no.response()
	}
	return response{status: http.StatusOK, body: b}
}

func whereParametersGo(op *operation) string {
	if op.takesBody {
		return "they go into the JSON body"
	}
	return "it takes nothing but its path"
}

// checkHeaders checks the two headers that every operation requires.
func (s *Server) checkHeaders(r *http.Request) *refusal {
	switch keys := r.Header.Values("X-Api-Key"); {
	case len(keys) == 0:
		return refuse(http.StatusUnauthorized, "no_api_key", "the header x-api-key is missing")
	case len(keys) > 1:
		return refuse(http.StatusBadRequest, "invalid_header", "the header x-api-key came %d times", len(keys))
	case keys[0] == "":
		return refuse(http.StatusUnauthorized, "no_api_key", "the header x-api-key is empty")
	case !slices.Contains(s.settings.apiKeys, keys[0]):
		return refuse(http.StatusUnauthorized, "unknown_api_key", "the header x-api-key holds no API key of this service")
	}
	switch types := r.Header.Values("Content-Type"); {
	case len(types) == 0:
		return refuse(http.StatusUnsupportedMediaType, "no_content_type", "the header content-type is missing; every operation requires application/json, GET too")
	case len(types) > 1:
		return refuse(http.StatusBadRequest, "invalid_header", "the header content-type came %d times", len(types))
	case types[0] == "application/json":
	default:
		kind, parameters, err := mime.ParseMediaType(types[0])
		charset, named := parameters["charset"]
		if err != nil || kind != "application/json" || named && !strings.EqualFold(charset, "utf-8") || len(parameters) > 1 || len(parameters) == 1 && !named {
			return refuse(http.StatusUnsupportedMediaType, "wrong_content_type", "the header content-type must be application/json, not %.100q", types[0])
		}
	}
	return nil
}

// integer reads the path parameter of an operation that takes a number.
func (r *request) integer(name string) (int64, *refusal) {
	n, err := strconv.ParseInt(r.argument, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != r.argument {
		return 0, refuse(http.StatusBadRequest, "invalid_path", "%s in the path must be an integer, got %.100q", name, r.argument)
	}
	return n, nil
}
