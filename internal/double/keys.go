package double

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
)

// CheckError fails unless an error is of the documented kinds and fit to read.
func CheckError(t *testing.T, name string, err error) {
	t.Helper()
	var api *horseracing.APIError
	var decode *horseracing.DecodeError
	var transport *horseracing.TransportError
	var tie *horseracing.TieOverflowError
	switch {
	case errors.As(err, &api), errors.As(err, &decode), errors.As(err, &transport), errors.As(err, &tie):
	case errors.Is(err, horseracing.ErrNotFound), errors.Is(err, horseracing.ErrBodyIgnored):
	default:
		t.Errorf("%s: an error of type %T: %v", name, err, err)
	}
	text := err.Error()
	if len(text) >= 2048 || !strings.Contains(text, "/api/v") || strings.ContainsAny(text, "\n\x1b\x00") {
		t.Errorf("%s: not fit to read: %q", name, text)
	}
	MustNotShowKeys(t, name, text)
}

// KeyForms are the ways in which a key could be written out.
func KeyForms(key string) []string {
	quoted, _ := json.Marshal(key)
	return []string{
		key, strings.Trim(string(quoted), `"`), strings.Trim(fmt.Sprintf("%q", key), `"`), url.QueryEscape(key), url.PathEscape(key),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		strings.Trim(fmt.Sprint([]byte(key)), "[]"), strings.Trim(fmt.Sprintf("%#v", []byte(key)), "[]byte{}"),
		strings.NewReplacer("~", "~0", "/", "~1").Replace(key), // in a JSON pointer
	}
}

// MustNotShowKeys fails if a text holds one of the keys in any form.
func MustNotShowKeys(t *testing.T, where, text string) {
	t.Helper()
	for _, key := range []string{AppKey, UserKey} {
		for _, form := range KeyForms(key) {
			if strings.Contains(text, form) {
				t.Errorf("%s shows a key: %.300s", where, text)
			}
		}
	}
}

func JSONText(s string) string {
	quoted, _ := json.Marshal(s)
	return strings.Trim(string(quoted), `"`)
}

// EveryError ranges over an error and all that it wraps.
func EveryError(err error) func(func(error) bool) {
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

// Surfaces are all texts that a caller, a log or a terminal can see of a failed call.
func Surfaces(err error, response horseracing.Response, logged string) map[string]string {
	texts := map[string]string{
		"the log": logged, "Response.Body": string(response.Body), "Response.Header": fmt.Sprint(response.Header), "Response": fmt.Sprintf("%v %+v %#v", response, response, response),
	}
	for e := range EveryError(err) {
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
			maps.Copy(texts, Printed(value))
		}
	}
	return texts
}

var verbs = []string{"v", "+v", "#v", "s", "q", "+q", "#q", "x", "X", "#x", "d", "t", "T", "b", "o", "O", "e", "f", "g", "c", "U", "20v", ".3s", "-5q"}

// Printed are the texts that fmt, slog and encoders write of a value.
func Printed(value any) map[string]string {
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
