package horseracingtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBody is how much of a request body the fake reads. The documented bodies take at most
// two hundred bytes.
const maxBody = 64 << 10

// refusal is why a request is refused. Error bodies are undocumented, so the shape is the
// fake's own:
//
//	{"error":{"code":"invalid_body","message":"..."}}
type refusal struct {
	status        int
	code, message string
	allow         string // the method that the path takes, if that is the reason
}

func refuse(status int, code, format string, args ...any) *refusal {
	return &refusal{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

func (r *refusal) response() response {
	body, err := json.Marshal(map[string]any{"error": map[string]string{"code": r.code, "message": r.message}})
	must(err)
	out := response{status: r.status, body: body}
	if r.allow != "" {
		out.header = http.Header{"Allow": {r.allow}}
	}
	return out
}

// action is what a valid request does at a time.
type action func(w *world, now time.Time) ([]byte, *refusal)

// operation is how a documented operation is requested.
type operation struct {
	method string
	path   string // a pattern of path.Match
	parse  func(argument string, body []byte) (action, *refusal)
}

// takesBody parses requests with a JSON object, in which unknown members are refused. An
// empty body is an empty object.
func takesBody[Body any](do func(*world, Body, time.Time) ([]byte, *refusal)) func(string, []byte) (action, *refusal) {
	return func(_ string, text []byte) (action, *refusal) {
		var body Body
		if len(text) > 0 {
			err := jsonv2.Unmarshal(text, &body, jsonv2.RejectUnknownMembers(true))
			if err == nil && jsontext.Value(text).Kind() != '{' {
				err = errors.New("it is not an object")
			}
			if err != nil {
				return nil, refuse(http.StatusBadRequest, "invalid_body", "the request body must be one JSON object with the documented members: %v", err)
			}
		}
		return func(w *world, now time.Time) ([]byte, *refusal) { return do(w, body, now) }, nil
	}
}

// takesText parses requests with a parameter in the path.
func takesText(do func(*world, string, time.Time) ([]byte, *refusal)) func(string, []byte) (action, *refusal) {
	return func(argument string, body []byte) (action, *refusal) {
		if len(body) > 0 {
			return nil, refuse(http.StatusBadRequest, "unexpected_body", "the operation takes no request body, but %d bytes came", len(body))
		}
		return func(w *world, now time.Time) ([]byte, *refusal) { return do(w, argument, now) }, nil
	}
}

// takesNothing parses requests without a parameter.
func takesNothing(do func(*world, time.Time) ([]byte, *refusal)) func(string, []byte) (action, *refusal) {
	return takesText(func(w *world, _ string, now time.Time) ([]byte, *refusal) { return do(w, now) })
}

// takesNumber parses requests with a number in the path.
func takesNumber(name string, do func(*world, int64, time.Time) ([]byte, *refusal)) func(string, []byte) (action, *refusal) {
	return func(argument string, body []byte) (action, *refusal) {
		n, err := strconv.ParseInt(argument, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != argument {
			return nil, refuse(http.StatusBadRequest, "invalid_path", "%s in the path must be an integer, got %.100q", name, argument)
		}
		return takesText(func(w *world, _ string, now time.Time) ([]byte, *refusal) { return do(w, n, now) })(argument, body)
	}
}

// parse reads a request to the service, strictly.
func parse(c *call, keys []string) (action, *refusal) {
	escaped := c.http.URL.EscapedPath()
	i := slices.IndexFunc(operations, func(o operation) bool {
		matches, _ := path.Match(o.path, escaped)
		return matches
	})
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "unknown_path", "there is no operation at the path %.200s", escaped)
	}
	op := operations[i]
	if c.Method != op.method {
		no := refuse(http.StatusMethodNotAllowed, "wrong_method", "%s takes %s, not %s", op.path, op.method, c.Method)
		no.allow = op.method
		return nil, no
	}
	if no := checkHeaders(c.http.Header, keys); no != nil {
		return nil, no
	}
	if url := c.http.URL; url.RawQuery != "" || url.ForceQuery {
		return nil, refuse(http.StatusBadRequest, "unexpected_query", "%s %s takes no query parameters; those of a listing go into the JSON body", op.method, op.path)
	}
	if c.unread != nil {
		return nil, c.unread
	}
	argument, err := url.PathUnescape(path.Base(escaped))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "invalid_path", "the path is badly escaped: %v", err)
	}
	return op.parse(argument, c.Body)
}

// checkHeaders checks the two headers that every operation requires.
func checkHeaders(header http.Header, accepted []string) *refusal {
	switch keys := header.Values("X-Api-Key"); {
	case len(keys) == 0 || keys[0] == "":
		return refuse(http.StatusUnauthorized, "no_api_key", "the header x-api-key is missing")
	case len(keys) > 1:
		return refuse(http.StatusBadRequest, "invalid_header", "the header x-api-key came %d times", len(keys))
	case !slices.Contains(accepted, keys[0]):
		return refuse(http.StatusUnauthorized, "unknown_api_key", "the header x-api-key holds no API key of this service")
	}
	switch types := header.Values("Content-Type"); {
	case len(types) == 0:
		return refuse(http.StatusUnsupportedMediaType, "no_content_type", "the header content-type is missing; every operation requires application/json, GET too")
	case len(types) > 1:
		return refuse(http.StatusBadRequest, "invalid_header", "the header content-type came %d times", len(types))
	case types[0] != "application/json":
		kind, parameters, err := mime.ParseMediaType(types[0])
		charset, isNamed := parameters["charset"]
		delete(parameters, "charset")
		if err != nil || kind != "application/json" || isNamed && !strings.EqualFold(charset, "utf-8") || len(parameters) > 0 {
			return refuse(http.StatusUnsupportedMediaType, "wrong_content_type", "the header content-type must be application/json, not %.100q", types[0])
		}
	}
	return nil
}

// read reads the body of a request, whatever its operation.
func (s *Server) read(w http.ResponseWriter, c *call) {
	if c.http.ContentLength < 0 {
		c.unread = refuse(http.StatusLengthRequired, "no_content_length",
			"the request body was sent without a Content-Length (chunked?); proxies on the way to the service drop such bodies: give the request a body of known length")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, c.http.Body, maxBody))
	if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
		c.unread = refuse(http.StatusRequestEntityTooLarge, "body_too_large", "the request body is larger than %d bytes", maxBody)
	} else if err != nil {
		c.unread = refuse(http.StatusBadRequest, "invalid_body", "the request body ended early: %v", err)
	} else {
		c.Body = body
	}
	s.log.update(c, func(r *Request) { r.Body = c.Body })
}
