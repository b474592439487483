package keys_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
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

// escaped writes each byte of a text with a format, such as \\u%04x in JSON.
func escaped(format, text string) (out string) {
	for _, b := range []byte(text) {
		out += fmt.Sprintf(format, b)
	}
	return out
}

// keyForms are the ways in which a key could be written out.
func keyForms(key string) []string {
	quoted, _ := json.Marshal(key)
	return []string{
		escaped("%%%02x", key), escaped("%%%02X", key), escaped(`\u%04x`, key), escaped(`\u%04X`, key),
		key, strings.Trim(string(quoted), `"`), strings.Trim(fmt.Sprintf("%q", key), `"`), url.QueryEscape(key), url.PathEscape(key),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		strings.Trim(fmt.Sprint([]byte(key)), "[]"), strings.Trim(fmt.Sprintf("%#v", []byte(key)), "[]byte{}"),
		strings.NewReplacer("~", "~0", "/", "~1").Replace(key), // in a JSON pointer
	}
}

// mustNotShowKeys fails if a text holds one of the keys in any form, even if something between
// its characters does not show.
func mustNotShowKeys(t *testing.T, where, text string) {
	t.Helper()
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != utf8.RuneError {
			return -1
		}
		return r
	}, text)
	for _, key := range []string{double.AppKey, double.UserKey} {
		for _, form := range keyForms(key) {
			if strings.Contains(text, form) {
				t.Errorf("%s shows a key: %.300s", where, text)
			}
		}
	}
}
