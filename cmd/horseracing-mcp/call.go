package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// structured is the first version of the protocol whose results are more than text.
const structured = "2025-06-18"

// result is the result of a tool. Its summary is a line for people.
type result interface{ summary() string }

type tool struct {
	name, title, description string
	hints                    mcp.ToolAnnotations
	limit                    time.Duration // of one call
}

// add adds a tool. Its schemas are made from In and Out. Each result has the time of the
// service, and is sent once: as text only to a host that takes nothing else.
func add[In any, Out result](s *mcp.Server, set settings, t tool, call func(context.Context, *mcp.CallToolRequest, In) (Out, error)) {
	input, output := schemaOf[In](true), schemaOf[Out](false)
	output.Properties["now"] = &jsonschema.Schema{Type: "string", Description: "the time of the service"}
	output.Required = append(output.Required, "now")
	described := &mcp.Tool{Name: t.name, Title: t.title, Description: t.description, Annotations: &t.hints, InputSchema: input, OutputSchema: output}
	s.AddTool(described, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, t.limit)
		defer cancel()
		in, err := arguments[In](input, req.Params.Arguments)
		if err != nil {
			return failure(err), nil
		}
		out, err := call(ctx, req, in)
		if q, ok := errors.AsType[*question](err); ok {
			return q.result(), nil
		}
		if err != nil {
			return failure(err), nil
		}
		body, err := json.Marshal(out)
		if err != nil {
			return nil, err
		}
		body = slices.Concat([]byte(`{"now":"`+instant(set.clock.now())+`",`), body[1:])
		text := out.summary()
		if hello := req.Session.InitializeParams(); set.text || hello != nil && hello.ProtocolVersion < structured {
			text = string(body)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: json.RawMessage(body)}, nil
	})
}

// plain is the call of a tool that needs nothing but its arguments.
func plain[In, Out any](call func(context.Context, In) (Out, error)) func(context.Context, *mcp.CallToolRequest, In) (Out, error) {
	return func(ctx context.Context, _ *mcp.CallToolRequest, in In) (Out, error) { return call(ctx, in) }
}

// arguments decodes the arguments of a call. It takes a number or a bool for a text and
// the reverse, as models write them, and its errors name the argument.
func arguments[In any](schema *jsonschema.Schema, data json.RawMessage) (in In, err error) {
	given := map[string]json.RawMessage{}
	if len(data) > 0 && json.Unmarshal(data, &given) != nil {
		return in, coded{invalid, "the arguments must be a JSON object"}
	}
	for _, name := range schema.PropertyOrder {
		value, isGiven := given[name]
		if isGiven && string(value) == "null" {
			delete(given, name)
			isGiven = false
		}
		switch {
		case !isGiven && slices.Contains(schema.Required, name):
			return in, coded{invalid, fmt.Sprintf("the argument %s is missing", name)}
		case isGiven:
			if given[name], err = argument(name, schema.Properties[name], value); err != nil {
				return in, err
			}
		}
	}
	for name := range given {
		if schema.Properties[name] == nil {
			return in, coded{invalid, fmt.Sprintf("there is no argument %q; there are: %s", name, strings.Join(schema.PropertyOrder, ", "))}
		}
	}
	if data, err = json.Marshal(given); err == nil {
		err = json.Unmarshal(data, &in)
	}
	return in, err
}

// argument returns a value in the type that is documented.
func argument(name string, documented *jsonschema.Schema, value json.RawMessage) (json.RawMessage, error) {
	text := string(value)
	if err := json.Unmarshal(value, &text); err != nil && strings.ContainsAny(text, "[{") {
		return nil, coded{invalid, fmt.Sprintf("%s must be one value, not a list or an object", name)}
	}
	switch documented.Type {
	case "string":
		return json.Marshal(text)
	case "boolean":
		isTrue, err := strconv.ParseBool(text)
		if err != nil {
			return nil, coded{invalid, fmt.Sprintf("%s must be true or false, not %q", name, text)}
		}
		return json.Marshal(isTrue)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != float64(int64(n)) || n < *documented.Minimum || n > *documented.Maximum {
		return nil, coded{invalid, fmt.Sprintf("%s must be a whole number from %.0f to %.0f, not %q", name, *documented.Minimum, *documented.Maximum, text)}
	}
	return json.Marshal(int64(n))
}

// clock is that of the service, by the Date of its last response.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// wrap returns a transport that sets the clock.
func (c *clock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil {
			if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
				c.ahead.Store(int64(time.Until(date)))
			}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
