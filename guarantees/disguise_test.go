package guarantees_test

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
		for _, key := range []string{bare(appKey), bare(userKey)} {
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
	func(words string) string { return `{"message":"` + jsonText(words) + `"}` },
	func(words string) string { return `{"error":{"message":"` + jsonText(words) + `"}}` },
	func(words string) string {
		return `{"errors":["` + jsonText(`{"detail":"`+jsonText(words)+`"}`) + `"]}`
	},
	func(words string) string { return `[{"number":"` + jsonText(words) + `"}]` },
	func(words string) string {
		return `[{"number":7,"name":"a"},{"breeding_cooldown":"` + jsonText(words) + `"}]`
	},
	func(words string) string { return `[{"` + jsonText(words) + `":1,"` + jsonText(words) + `":2}]` },
	func(words string) string { return `[{"name":"` + words + `"}]` },
}

// Whatever is decoded or dropped on the way to a text, the key is not what is left.
func TestAnEchoInDisguiseIsRedacted(t *testing.T) {
	unlessShort(t)
	t.Parallel()
	for i, shape := range shapes {
		for _, separator := range invisible {
			body := shape("your keys: " + between(appKey, separator) + " and " + between(userKey, separator) + ".")
			for _, status := range []int{200, 401} {
				var logged bytes.Buffer
				var response horseracing.Response
				log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
				c := play(respond(status, body, "X-Echo: "+between(appKey, "\u00ad")+between(userKey, "\u200b"))).client(t, horseracing.WithLogger(log), noRetries())
				_, err := c.Horses.Owned(t.Context(), userKey, horseracing.CaptureResponse(&response))
				for where, text := range surfaces(err, response, logged.String()) {
					mustNotRead(t, fmt.Sprintf("status %d, shape %d, separator %q: %s", status, i, separator, where), text)
				}
			}
		}
	}
}
