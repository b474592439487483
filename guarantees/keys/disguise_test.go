package keys_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// bare leaves of a text what a reader sees of it: no character that does not
// show, no mark on a letter, no space.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || unicode.IsMark(r) || unicode.IsSpace(r) || r == '\u3164' {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

var escape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)`)

// unescaped reads the escapes of Go and JSON in a text.
func unescaped(text string) string {
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		if char, err := strconv.Unquote(`"` + e + `"`); err == nil {
			return char
		}
		return e[1:]
	})
}

// mustNotRead fails if a person can read a key in a text, or most of one.
func mustNotRead(t *testing.T, where, text string) {
	t.Helper()
	once := unescaped(text)
	for _, shown := range []string{text, once, unescaped(once)} {
		shown = bare(shown)
		for _, key := range []string{bare(double.AppKey), bare(double.UserKey)} {
			if strings.Contains(shown, key[:len(key)*3/4]) {
				t.Errorf("%s shows a key: %.300q", where, text)
				return
			}
		}
	}
}

// invisible is what may stand between the characters of a key without being seen.
var invisible = []string{"", "\u00ad", "\x00", "\u200b", "\u2060\u034f", "\u0332", "\ufe0f", "\u3164", "\u202e", "\x1b\x08", "\xff", "\n", "\ufeff"}

// between writes something between the characters of a text.
func between(text, separator string) string { return strings.Join(strings.Split(text, ""), separator) }

// shapes are bodies that hold some words.
var shapes = []func(string) string{
	func(words string) string { return words },
	func(words string) string { return "<html><title>" + words + "</title></html>" },
	func(words string) string { return `{"message":"` + double.JSONText(words) + `"}` },
	func(words string) string { return `{"error":{"message":"` + double.JSONText(words) + `"}}` },
	func(words string) string {
		return `{"errors":["` + double.JSONText(`{"detail":"`+double.JSONText(words)+`"}`) + `"]}`
	},
	func(words string) string { return `[{"number":"` + double.JSONText(words) + `"}]` },
	func(words string) string {
		return `[{"number":7,"name":"a"},{"breeding_cooldown":"` + double.JSONText(words) + `"}]`
	},
	func(words string) string {
		return `[{"` + double.JSONText(words) + `":1,"` + double.JSONText(words) + `":2}]`
	},
	func(words string) string { return `[{"name":"` + words + `"}]` },
}

// Whatever is decoded or dropped on the way to a text, the key is not what is left.
func TestAnEchoInDisguiseIsRedacted(t *testing.T) {
	double.UnlessShort(t)
	t.Parallel()
	for i, shape := range shapes {
		for _, separator := range invisible {
			body := shape("your keys: " + between(double.AppKey, separator) + " and " + between(double.UserKey, separator) + ".")
			for _, status := range []int{200, 401} {
				var logged bytes.Buffer
				var response horseracing.Response
				log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
				c := double.Play(double.Respond(status, body, "X-Echo: "+between(double.AppKey, "\u00ad")+between(double.UserKey, "\u200b"))).Client(t, horseracing.WithLogger(log), double.NoRetries())
				_, err := c.Horses.Owned(t.Context(), double.UserKey, horseracing.CaptureResponse(&response))
				for where, text := range double.Surfaces(err, response, logged.String()) {
					mustNotRead(t, fmt.Sprintf("status %d, shape %d, separator %q: %s", status, i, separator, where), text)
				}
			}
		}
	}
}
