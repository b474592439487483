package keys_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/horseracing-go/horseracing"
)

func jsonText(s string) string {
	quoted, _ := json.Marshal(s)
	return strings.Trim(string(quoted), `"`)
}

// everyError ranges over an error and all that it wraps.
func everyError(err error) func(func(error) bool) {
	var walk func(error, func(error) bool) bool
	walk = func(err error, yield func(error) bool) bool {
		if err == nil {
			return true
		}
		if !yield(err) {
			return false
		}
		switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
		case interface{ Unwrap() error }:
			return walk(e.Unwrap(), yield)
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if !walk(inner, yield) {
					return false
				}
			}
		}
		return true
	}
	return func(yield func(error) bool) { walk(err, yield) }
}

// surfaces are all texts that a caller, a log or a terminal can see of a failed call.
func surfaces(err error, response horseracing.Response, logged string) map[string]string {
	texts := map[string]string{
		"the log": logged, "Response.Body": string(response.Body), "Response.Header": fmt.Sprint(response.Header), "Response": fmt.Sprintf("%v %+v %#v", response, response, response),
	}
	for e := range everyError(err) {
		values := []any{e}
		switch e := e.(type) { //nolint:errorlint // each error of the tree by itself
		case *horseracing.APIError:
			texts["Message"], texts["Body"], texts["Header"], values = e.Message, string(e.Body), fmt.Sprint(e.Header), append(values, *e)
		case *horseracing.DecodeError:
			texts["Raw"], texts["Field"], texts["DecodeError.ID"], values = string(e.Raw), e.Field, e.ID, append(values, *e)
		case *horseracing.TransportError:
			values = append(values, *e)
		}
		for _, value := range values {
			maps.Copy(texts, printed(value))
		}
	}
	return texts
}

var verbs = []string{"v", "+v", "#v", "s", "q", "+q", "#q", "x", "X", "#x", "d", "t", "T", "b", "o", "O", "e", "f", "g", "c", "U", "20v", ".3s", "-5q"}

// printed are the texts that fmt, slog and encoders write of a value.
func printed(value any) map[string]string {
	texts := map[string]string{}
	name := fmt.Sprintf("%T ", value)
	for _, verb := range verbs {
		texts[name+"with %"+verb] = fmt.Sprintf("%"+verb, value)
	}
	texts[name+"in a list"] = fmt.Sprintf("%v %+v", []any{value}, []any{value})
	var text, encoded bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&encoded, nil)} {
		slog.New(handler).Error("m", "error", value, slog.Group("g", "value", value))
	}
	texts[name+"in slog's text"], texts[name+"in slog's JSON"] = text.String(), encoded.String()
	switch value.(type) {
	case horseracing.Response, *horseracing.Response, horseracing.RegistrationReceipt, *horseracing.RegistrationReceipt:
		return texts // encoded they are what the service sent
	}
	for kind, encode := range map[string]func(any) ([]byte, error){"JSON": json.Marshal, "XML": xml.Marshal} {
		if text, err := encode([]any{value}); err == nil {
			texts[name+"as "+kind] = string(text)
		}
	}
	return texts
}
