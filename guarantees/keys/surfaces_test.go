package keys_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"testing"

	"github.com/horseracing-go/horseracing"
)

// mustHide fails if an error, or one that it wraps, shows a key to a caller, a log or a terminal.
func mustHide(t *testing.T, name string, err error) {
	t.Helper()
	for _, text := range surfaces(err) {
		mustNotShowKeys(t, name, text)
	}
}

// surfaces are all texts that can be seen of an error and of all that it wraps.
func surfaces(err error) []string {
	texts := printed(err)
	switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
	case *horseracing.APIError:
		texts = append(append(texts, e.Message, string(e.Body), fmt.Sprint(e.Header)), printed(*e)...)
	case *horseracing.DecodeError:
		texts = append(append(texts, e.Field, string(e.Raw), e.ID), printed(*e)...)
	case *horseracing.TransportError:
		texts = append(texts, printed(*e)...)
	}
	switch e := err.(type) { //nolint:errorlint // likewise
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			texts = append(texts, surfaces(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			texts = append(texts, surfaces(inner)...)
		}
	}
	return texts
}

// printed are the texts that fmt, slog and encoders write of a value.
func printed(value any) []string {
	texts := []string{fmt.Sprintf("%v %+v", []any{value}, []any{value})}
	for _, verb := range []string{"v", "+v", "#v", "s", "q", "x", "#x", "d", "t", "T", "U", "20v", ".3s"} {
		texts = append(texts, fmt.Sprintf("%"+verb, value))
	}
	var text, encoded bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&encoded, nil)} {
		slog.New(handler).Error("m", "error", value, slog.Group("g", "value", value))
	}
	texts = append(texts, text.String(), encoded.String())
	switch value.(type) {
	case horseracing.Response, *horseracing.Response, horseracing.RegistrationReceipt, *horseracing.RegistrationReceipt:
		return texts // encoded they are what the service sent
	}
	for _, encode := range []func(any) ([]byte, error){json.Marshal, xml.Marshal} {
		if text, err := encode([]any{value}); err == nil {
			texts = append(texts, string(text))
		}
	}
	return texts
}
