package guarantees_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
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
	for _, shown := range []string{text, once, unescaped(once), string(utf16.Decode(units(text)))} {
		shown = bare(shown)
		for _, key := range []string{bare(appKey), bare(userKey)} {
			if strings.Contains(shown, key[:len(key)*3/4]) {
				t.Errorf("%s shows a key: %.300q", where, text)
				return
			}
		}
	}
}

func units(text string) []uint16 {
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = uint16(text[2*i]) | uint16(text[2*i+1])<<8
	}
	return units
}

// encodings of a text of characters below 65,536.
var encodings = []func(string) string{
	func(text string) string { return text },
	func(text string) string { return wide(text, 2, false) }, func(text string) string { return wide(text, 2, true) },
	func(text string) string { return wide(text, 4, false) }, func(text string) string { return wide(text, 4, true) },
	func(text string) string { return wide("\ufeff"+text, 2, false) }, func(text string) string { return wide("\ufeff"+text, 2, true) },
	func(text string) string { return wide("\ufeff"+text, 4, false) }, func(text string) string { return wide("\ufeff"+text, 4, true) },
	func(text string) string { return "\ufeff" + text },
}

// wide encodes a text in units of so many bytes, the lowest first or last.
func wide(text string, width int, big bool) string {
	var out []byte
	for _, r := range text {
		for i := range width {
			if big {
				i = width - 1 - i
			}
			out = append(out, byte(r>>(8*i)))
		}
	}
	return string(out)
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

// failure calls an operation that sends both keys, and returns all that can be seen when it fails.
func failure(t *testing.T, s *script, opts ...horseracing.Option) map[string]string {
	t.Helper()
	var logged bytes.Buffer
	var response horseracing.Response
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts = append(opts, horseracing.WithLogger(log), horseracing.WithRetry(horseracing.Retry{Max: -1}))
	if _, err := s.client(t, opts...).Horses.Owned(t.Context(), userKey, horseracing.CaptureResponse(&response)); err != nil {
		if text := err.Error(); len(text) >= 2048 {
			t.Errorf("a text of %d bytes", len(text))
		}
		return surfaces(err, response, logged.String())
	}
	return nil
}

// Whatever is decoded or dropped on the way to a text, the key is not what is left.
func TestAnEchoInDisguiseIsRedacted(t *testing.T) {
	unlessShort(t)
	t.Parallel()
	for i, shape := range shapes {
		for j, encode := range encodings {
			for k, separator := range invisible {
				if j > 0 && k > 3 {
					continue
				}
				body := encode(shape("your keys: " + between(appKey, separator) + " and " + between(userKey, separator) + "."))
				for _, status := range []int{200, 401} {
					seen := failure(t, play(respond(status, body, "X-Echo: "+between(appKey, "\u00ad")+between(userKey, "\u200b"))))
					for where, text := range seen {
						mustNotRead(t, fmt.Sprintf("status %d, shape %d, encoding %d, separator %q: %s", status, i, j, separator, where), text)
					}
				}
			}
		}
	}
}

func TestATransportsErrorInDisguiseIsRedacted(t *testing.T) {
	for _, separator := range invisible {
		cause := fmt.Errorf("malformed %q, %s: %w", between(appKey, separator), between(userKey, separator), errReset)
		for where, text := range failure(t, play(broken(cause))) {
			mustNotRead(t, fmt.Sprintf("separator %q: %s", separator, where), text)
		}
		if _, err := play(broken(cause)).client(t, briefly).Races.Open(t.Context()); !errors.Is(err, errReset) {
			t.Errorf("got %v", err)
		}
	}
}

// quiet is an error whose text is not all that it holds.
type quiet struct{ detail string }

func (quiet) Error() string { return "refused" }

// A limiter or a transport of the caller's own may hold the key in a field.
func TestAKeyInTheFieldsOfAnErrorIsRedacted(t *testing.T) {
	for name, seen := range map[string]map[string]string{
		"transport": failure(t, play(broken(quiet{appKey}))),
		"wrapped":   failure(t, play(broken(fmt.Errorf("dialing: %w", quiet{"key " + userKey})))),
		"limiter":   failure(t, play(respond(200, "[]")), horseracing.WithLimiter(refusing{quiet{appKey}})),
		"the body":  failure(t, play(stream(401, 1000, func() reader { return readers("x", quiet{appKey}) }))),
	} {
		for where, text := range seen {
			mustNotRead(t, name+": "+where, text)
		}
	}
}

type refusing struct{ err error }

func (r refusing) Wait(context.Context) error { return r.err }

// FuzzEchoes writes both keys into a response, in any shape, encoding and
// disguise, and cuts it: nobody can read a key, or most of one, in what is seen.
func FuzzEchoes(f *testing.F) {
	for i := range shapes {
		f.Add("keys ", 401, uint8(i), uint8(i), uint8(i), uint16(40))
		f.Add("", 200, uint8(i), uint8(0), uint8(i+1), uint16(0))
	}
	f.Add("", 200, uint8(0), uint8(0), uint8(2), uint16(0))      // looks like UTF-16
	f.Add("\xce", 200, uint8(0), uint8(4), uint8(12), uint16(0)) // does not look like UTF-32
	f.Fuzz(func(t *testing.T, before string, status int, shape, encoding, separator uint8, cut uint16) {
		if status < 200 || status > 599 || len(before) > 100 {
			return
		}
		hidden, encode := invisible[int(separator)%len(invisible)], encodings[int(encoding)%len(encodings)]
		if strings.ContainsFunc(encode(hidden), func(r rune) bool { return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) }) {
			return // its code in UTF-16 is read as letters
		}
		words := before + between(appKey, hidden) + " " + between(userKey, hidden)
		body := encode(shapes[int(shape)%len(shapes)](words))
		down := respond(status, body, "X-Echo: "+words)
		opts := []horseracing.Option{}
		switch n := int(cut) % (len(body) + 1); {
		case cut%2 == 1:
			down = stream(status, -1, func() reader { return readers(body[:n], errReset) })
		case n > 0:
			opts = append(opts, horseracing.WithMaxResponseBytes(int64(n)))
		}
		for where, text := range failure(t, play(down), opts...) {
			mustNotRead(t, where, text)
		}
	})
}
