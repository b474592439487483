package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// structured is the first version of the protocol whose results are more than text.
const structured = "2025-06-18"

// add adds a tool, with schemas that are made from In and Out. A result has the time of
// the service. Its text is a line for people, unless the host takes nothing else.
func add[In, Out any](s *server, name string, hints mcp.ToolAnnotations, call func(context.Context, *mcp.CallToolRequest, In) (Out, error)) {
	input, output := schemaOf[In](), schemaOf[Out]()
	for name, p := range input.Properties {
		if p.Type == "integer" {
			p.Minimum, p.Maximum = new(1.0), new(float64(1<<53-1)) // readers of JSON round what is beyond
		}
		if name == "limit" {
			p.Maximum = new(float64(maxLimit))
		}
	}
	output.Properties["now"] = &jsonschema.Schema{Type: "string", Description: "the time of the service"}
	output.Required = append(output.Required, "now")
	text, limit := s.texts[name], callTime
	if !hints.ReadOnlyHint {
		limit += lockTime
	}
	s.AddTool(&mcp.Tool{
		Name: name, Title: text.Title, Description: strings.Join(text.Description, " "), Annotations: &hints, InputSchema: input, OutputSchema: output,
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = context.WithValue(ctx, skipped{}, new([]error))
		in, err := arguments[In](input, req.Params.Arguments)
		if err != nil {
			return failure(err), nil
		}
		out, err := call(ctx, req, in)
		if q, ok := errors.AsType[*question](err); ok {
			return q.result(), nil
		} else if err != nil {
			return failure(err), nil
		}
		body, err := json.Marshal(out)
		if err != nil {
			return nil, err
		}
		all := `{"now":"` + instant(s.clock.now()) + `",` + string(body[1:])
		line := text.Title
		if out, ok := any(out).(fmt.Stringer); ok {
			line = out.String()
		}
		if hello := req.Session.InitializeParams(); s.text || hello != nil && hello.ProtocolVersion < structured {
			line = all
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: line}}, StructuredContent: json.RawMessage(all)}, nil
	})
}

func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // of a type of this program
	}
	return schema
}

// arguments decodes the arguments of a call. It takes a number or a bool for a text and
// the reverse, as models write them, and its errors name the argument.
func arguments[In any](schema *jsonschema.Schema, data json.RawMessage) (in In, err error) {
	var given map[string]json.RawMessage
	if len(data) > 0 && json.Unmarshal(data, &given) != nil {
		return in, invalidf("the arguments must be a JSON object")
	}
	maps.DeleteFunc(given, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	for name, value := range given {
		documented := schema.Properties[name]
		if documented == nil {
			return in, invalidf("there is no argument %q; there are: %s", name, strings.Join(schema.PropertyOrder, ", "))
		}
		if given[name], err = argument(name, documented, value); err != nil {
			return in, err
		}
	}
	for _, name := range schema.Required {
		if given[name] == nil {
			return in, invalidf("the argument %s is missing", name)
		}
	}
	if data, err = json.Marshal(given); err == nil {
		err = json.Unmarshal(data, &in)
	}
	return in, err
}

// argument returns a value in the type that is documented.
func argument(name string, documented *jsonschema.Schema, value json.RawMessage) (json.RawMessage, error) {
	var text, want string
	var fits bool
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	switch documented.Type {
	case "boolean":
		want, fits = "true or false", text == "true" || text == "false"
	case "integer":
		least, most := *documented.Minimum, *documented.Maximum
		n, err := strconv.ParseFloat(text, 64)
		want, fits = fmt.Sprintf("a whole number from %.0f to %.0f", least, most), err == nil && n >= least && n <= most && n == math.Trunc(n)
		text = strconv.FormatFloat(n, 'f', -1, 64)
	default:
		return json.Marshal(text)
	}
	if !fits {
		return nil, invalidf("%s must be %s, not %s", name, want, value)
	}
	return json.RawMessage(text), nil
}

// clock is a transport that notes the time of the service, by the Date of its last
// response.
type clock struct {
	http.RoundTripper
	ahead atomic.Int64
}

func (c *clock) wrap(next http.RoundTripper) http.RoundTripper {
	c.RoundTripper = next
	return c
}

func (c *clock) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.ahead.Store(int64(time.Until(date)))
		}
	}
	return response, err
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// The codes of errors that this program finds itself.
const (
	invalid      = "invalid_argument"
	notConfirmed = "not_confirmed"
)

// coded is an error with a code.
type coded struct{ code, text string }

func (e coded) Error() string { return e.text }

func invalidf(format string, args ...any) error { return coded{invalid, fmt.Sprintf(format, args...)} }

// failure is the result of a call that failed: a code and a sentence. It is text alone,
// because hosts drop the rest of a result that is an error.
func failure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: sentence(err)}}}
}

// sentence returns the code of an error, its text, and what to do. It quotes the
// service's words, which could be meant for the reader.
func sentence(err error) string {
	text := err.Error()
	api, isAPI := errors.AsType[*horseracing.APIError](err)
	_, isTransport := errors.AsType[*horseracing.TransportError](err)
	if isAPI && api.Attempts > 0 && api.Message != "" {
		bare := *api
		bare.Message = ""
		text = strings.Replace(text, api.Error(), fmt.Sprintf("%v; the service's words: %q", &bare, api.Message), 1)
	}
	own, isOwn := errors.AsType[coded](err)
	switch {
	case isOwn:
		return own.code + ": " + text
	case errors.Is(err, ledger.ErrInUse):
		return "in_use: " + text + "; another program uses the ledger: try again later"
	case isTransport, errors.Is(err, horseracing.ErrServer), errors.Is(err, horseracing.ErrRateLimited):
		return "unavailable: " + text + "; the service does not respond or refuses requests: try again in a minute"
	case errors.Is(err, horseracing.ErrNotFound):
		return "not_found: " + text + "; there is none with this id"
	case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden):
		return "unauthorized: " + text + "; only the person can change the key"
	case errors.Is(err, horseracing.ErrInvalidArgument):
		return invalid + ": " + text
	}
	return "failed: " + text
}
