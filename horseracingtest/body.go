package horseracingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// maxBody is how much of a request body the fake reads. The documented bodies
// take a hundred bytes or two.
const maxBody = 64 << 10

// member is a member that the body of an operation may have, and where its
// value goes: to number or to text.
type member struct {
	name     string
	number   *int64
	text     *string
	required bool
}

// readBody reads the body of a request, whatever the operation.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *world.Refusal) {
	if r.ContentLength < 0 {
		return nil, world.Refuse(http.StatusLengthRequired, "no_content_length",
			"the request body was sent without a Content-Length (chunked?); proxies on the way to the service drop such bodies: give the request a body of known length")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, world.Refuse(http.StatusRequestEntityTooLarge, "body_too_large", "the request body is larger than %d bytes", maxBody)
	case err != nil:
		return nil, world.Refuse(http.StatusBadRequest, "invalid_body", "the request body ended early: %v", err)
	}
	return body, nil
}

// parseBody reads a JSON object with exactly the members that the operation
// documents. An empty body stands for an empty object.
func parseBody(body []byte, members ...member) *world.Refusal {
	seen := make([]bool, len(members))
	if len(body) > 0 {
		if r := parseObject(body, members, seen); r != nil {
			return r
		}
	}
	for i, m := range members {
		if m.required && !seen[i] {
			return world.Refuse(http.StatusBadRequest, "missing_member", "the request body lacks the required member %q; this operation takes %s", m.name, names(members))
		}
	}
	return nil
}

func parseObject(body []byte, members []member, seen []bool) *world.Refusal {
	if !utf8.Valid(body) {
		return invalidBody("the request body is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	start, err := decoder.Token()
	if err != nil {
		return syntax(err)
	}
	if start != json.Delim('{') {
		return invalidBody("the request body must be a JSON object, not %s", kindOf(start))
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return syntax(err)
		}
		i := 0
		for i < len(members) && members[i].name != name {
			i++
		}
		if i == len(members) {
			return world.Refuse(http.StatusBadRequest, "unknown_member", "the request body has an unknown member %q; this operation takes %s", name, names(members))
		}
		if seen[i] {
			return world.Refuse(http.StatusBadRequest, "duplicate_member", "the request body has the member %q twice", name)
		}
		seen[i] = true
		value, err := decoder.Token()
		if err != nil {
			return syntax(err)
		}
		if r := members[i].set(value); r != nil {
			return r
		}
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return syntax(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return invalidBody("the request body goes on behind the JSON object, at byte %d", decoder.InputOffset())
	}
	return nil
}

// set takes the value of the member, if it is of the documented type.
func (m *member) set(value json.Token) *world.Refusal {
	if m.text != nil {
		s, ok := value.(string)
		if !ok {
			return world.Refuse(http.StatusBadRequest, "invalid_type", "%s must be a string, not %s", m.name, kindOf(value))
		}
		*m.text = s
		return nil
	}
	literal, ok := value.(json.Number)
	if !ok {
		return world.Refuse(http.StatusBadRequest, "invalid_type", "%s must be a number, not %s", m.name, kindOf(value))
	}
	n, err := strconv.ParseInt(literal.String(), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return world.Refuse(http.StatusBadRequest, "out_of_range", "%s is out of range: %.40s", m.name, literal)
	} else if err != nil {
		return world.Refuse(http.StatusBadRequest, "invalid_type", "%s must be a plain integer, got %.40s", m.name, literal)
	}
	*m.number = n
	return nil
}

func names(members []member) string {
	all := make([]string, len(members))
	for i, m := range members {
		all[i] = m.name
	}
	return strings.Join(all, ", ")
}

func kindOf(token json.Token) string {
	switch token.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	}
	if token == json.Delim('{') {
		return "an object"
	}
	return "an array"
}

func invalidBody(format string, args ...any) *world.Refusal {
	return world.Refuse(http.StatusBadRequest, "invalid_body", format, args...)
}

func syntax(err error) *world.Refusal {
	// Go 1.27 has the last of these as an error of encoding/json's own.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.HasPrefix(err.Error(), "unexpected end") {
		return invalidBody("the request body is cut short: it is no complete JSON object")
	}
	return invalidBody("the request body is no JSON: %v", err)
}
