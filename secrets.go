package horseracing

import (
	"errors"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// secrets returns the keys that must not be seen in any output. It is a
// function, not a list: fmt and log packages can look into every field, even
// an unexported one, but not into a closure.
type secrets func() []string

// and adds keys to the ones already known.
func (s secrets) and(more ...string) secrets {
	more = slices.DeleteFunc(more, func(key string) bool { return key == "" })
	if len(more) == 0 {
		return s
	}
	all := append(more, s()...)
	return func() []string { return all }
}

// readings are the ways to look for a key: by the characters that begin an
// escape. None: as it is. A backslash: JSON, Go's %q. A percent sign: a URL; a
// plus: a query's space. A tilde: a JSON pointer. An ampersand: HTML. All: more
// than one of them. One at a time, for a key may itself hold these characters.
var readings = []string{"", `\`, "%", "%+", "~", "&", `\%+~&`}

// scrub removes every key from a text.
func (s secrets) scrub(text string) string { return s.scrubPart(text, false) }

// scrubPart removes every key from a text. Where the text was cut, what may be
// the first part of a key at its end goes as well.
func (s secrets) scrubPart(text string, cut bool) string {
	for _, escapes := range readings {
		if escapes != "" && !strings.ContainsAny(text, escapes) {
			continue
		}
		for _, key := range s() {
			text = scrubKey(text, key, escapes, cut)
		}
	}
	return text
}

// scrubBeginning returns the beginning of a text, without the keys.
func (s secrets) scrubBeginning(text string, limit int, cut bool) string {
	if len(text) > limit {
		text, cut = text[:limit], true
	}
	text = s.scrubPart(text, cut)
	return text[:min(len(text), limit)]
}

// scrubHeader returns a copy of the header without the keys.
func (s secrets) scrubHeader(h http.Header) http.Header {
	clean := make(http.Header, len(h))
	for name, values := range h {
		kept := make([]string, len(values))
		for i, v := range values {
			kept[i] = s.scrub(v)
		}
		clean[s.scrub(name)] = kept
	}
	return clean
}

// scrubError keeps an error as it is unless its text holds a key (net/http
// quotes parts of a malformed answer, say).
func (s secrets) scrubError(err error) error {
	text := err.Error()
	if clean := s.scrub(text); clean != text {
		return &scrubbedError{clean, func(target error) bool { return errors.Is(err, target) }}
	}
	return err
}

// scrubbedError is an error without the keys in its text. errors.Is finds what
// it stands for, errors.As does not: that would give the text away.
type scrubbedError struct {
	text string
	is   func(error) bool
}

func (e *scrubbedError) Error() string        { return e.text }
func (e *scrubbedError) Is(target error) bool { return e.is(target) }

// scrubKey removes a key from a text, in one of the readings. Its cost grows
// with the text alone, whatever the text and the key look like.
func scrubKey(text, key, escapes string, cut bool) string {
	plain, at := text, func(i int) int { return i }
	if escapes != "" {
		plain, at = unescape(text, escapes, cut)
	}
	var b strings.Builder
	searched, copied := 0, 0 // the first of plain, the second of text
	for {
		i := strings.Index(plain[searched:], key)
		if i < 0 {
			break
		}
		b.WriteString(text[copied:at(searched+i)])
		b.WriteString(redacted)
		searched += i + len(key)
		copied = at(searched)
	}
	end := len(plain)
	for n := min(len(key), end-searched); cut && n > 0; n-- {
		if strings.HasSuffix(plain, key[:n]) {
			end -= n
			break
		}
	}
	b.WriteString(text[copied:at(end)])
	return b.String()
}

// unescape reads a text. Where the i-th byte of what it says stands in the
// text is at(i). An escape that the cut has broken is left out.
func unescape(text, escapes string, cut bool) (plain string, at func(i int) int) {
	said := make([]byte, 0, len(text))
	places := make([]int, 0, len(text)+1)
	i := 0
	for i < len(text) {
		char, width := text[i:i+1], 1
		if strings.IndexByte(escapes, text[i]) >= 0 {
			char, width = unescapeOne(text[i:])
		}
		if width == 0 {
			if cut && len(text)-i < longestEscape {
				break
			}
			char, width = text[i:i+1], 1
		}
		for range len(char) {
			places = append(places, i)
		}
		said = append(said, char...)
		i += width
	}
	places = append(places, i)
	return string(said), func(i int) int { return places[i] }
}

const longestEscape = len(`\ud83c\udfc7`)

// unescapeOne reads the escape at the beginning of text, and how many bytes
// stand for it; 0: it is none.
func unescapeOne(text string) (char string, width int) {
	switch text[0] {
	case '\\':
		return unquote(text)
	case '%':
		if len(text) >= 3 {
			if code, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
				return string([]byte{byte(code)}), 3
			}
		}
	case '+':
		return " ", 1
	case '~':
		switch {
		case strings.HasPrefix(text, "~0"):
			return "~", 2
		case strings.HasPrefix(text, "~1"):
			return "/", 2
		}
	case '&':
		if end := strings.IndexByte(text[:min(len(text), longestEscape)], ';'); end > 0 {
			if plain := html.UnescapeString(text[:end+1]); plain != text[:end+1] {
				return plain, end + 1
			}
		}
	}
	return "", 0
}

// unquote reads one backslash escape of JSON or of Go at the beginning of text.
func unquote(text string) (char string, width int) {
	if len(text) >= 2 && strings.IndexByte(`/'"\`, text[1]) >= 0 {
		return text[1:2], 2
	}
	if r, multibyte, tail, err := strconv.UnquoteChar(text, 0); err == nil {
		if char = string(r); !multibyte {
			char = string([]byte{byte(r)})
		}
		return char, len(text) - len(tail)
	}
	// JSON writes what lies beyond the first 65,536 characters as two halves.
	if len(text) >= 12 && text[:2] == `\u` && text[6:8] == `\u` {
		high, err1 := strconv.ParseUint(text[2:6], 16, 16)
		low, err2 := strconv.ParseUint(text[8:12], 16, 16)
		if r := utf16.DecodeRune(rune(high), rune(low)); err1 == nil && err2 == nil && r != utf8.RuneError {
			return string(r), 12
		}
	}
	return "", 0
}
