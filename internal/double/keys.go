package double

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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

// Escaped writes each byte of a text with a format, such as \\u%04x in JSON.
func Escaped(format, text string) (escaped string) {
	for _, b := range []byte(text) {
		escaped += fmt.Sprintf(format, b)
	}
	return escaped
}

// KeyForms are the ways in which a key could be written out.
func KeyForms(key string) []string {
	quoted, _ := json.Marshal(key)
	return []string{
		Escaped("%%%02x", key), Escaped("%%%02X", key), Escaped(`\u%04x`, key), Escaped(`\u%04X`, key),
		key, strings.Trim(string(quoted), `"`), strings.Trim(fmt.Sprintf("%q", key), `"`), url.QueryEscape(key), url.PathEscape(key),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		strings.Trim(fmt.Sprint([]byte(key)), "[]"), strings.Trim(fmt.Sprintf("%#v", []byte(key)), "[]byte{}"),
		strings.NewReplacer("~", "~0", "/", "~1").Replace(key), // in a JSON pointer
	}
}

// MustNotShowKeys fails if a text holds one of the keys in any form, even if something between
// its characters does not show.
func MustNotShowKeys(t *testing.T, where, text string) {
	t.Helper()
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != utf8.RuneError {
			return -1
		}
		return r
	}, text)
	for _, key := range []string{AppKey, UserKey} {
		for _, form := range KeyForms(key) {
			if strings.Contains(text, form) {
				t.Errorf("%s shows a key: %.300s", where, text)
			}
		}
	}
}
