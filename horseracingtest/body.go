package horseracingtest

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// readRequest reads the body of a request, whatever the operation.
func readRequest(w http.ResponseWriter, r *http.Request) ([]byte, *world.Refusal) {
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
// documents. An empty body is read as an empty object.
func parseBody(body []byte, members ...member) *world.Refusal {
	object := map[string]jsontext.Value{}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &object); err != nil || object == nil {
			return world.Refuse(http.StatusBadRequest, "invalid_body", "the request body must be one JSON object: %v", err)
		}
	}
	for _, m := range members {
		value, exists := object[m.name]
		delete(object, m.name)
		switch {
		case exists:
			if r := m.set(value); r != nil {
				return r
			}
		case m.required:
			return world.Refuse(http.StatusBadRequest, "missing_member", "the request body lacks the required member %q; this operation takes %s", m.name, names(members))
		}
	}
	for name := range object {
		return world.Refuse(http.StatusBadRequest, "unknown_member", "the request body has an unknown member %q; this operation takes %s", name, names(members))
	}
	return nil
}

// set takes the value of the member, if it is of the documented type.
func (m *member) set(value jsontext.Value) *world.Refusal {
	kind, want := value.Kind(), "a number"
	if m.text != nil {
		want = "a string"
	}
	switch {
	case m.text != nil && kind == '"':
		_ = json.Unmarshal(value, m.text) // it was read before
		return nil
	case m.text != nil || kind != '0':
		return world.Refuse(http.StatusBadRequest, "invalid_type", "%s must be %s, not %v", m.name, want, kind)
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return world.Refuse(http.StatusBadRequest, "out_of_range", "%s is out of range: %.40s", m.name, value)
	} else if err != nil {
		return world.Refuse(http.StatusBadRequest, "invalid_type", "%s must be a plain integer, got %.40s", m.name, value)
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
