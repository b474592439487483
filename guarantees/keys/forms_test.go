package keys_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing/internal/double"
)

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
