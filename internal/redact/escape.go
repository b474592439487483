package redact

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reading is how the beginning of a text can be read: as a character, in so many bytes.
type reading struct {
	char   rune
	length int
}

// An escape has at most longestEscape characters that show, as %F0%9F%8F%87 and \ud83c\udfc7 have,
// and is looked for in maxEscape bytes, since others may be between them.
const (
	longestEscape = 12
	maxEscape     = 4 * longestEscape
)

// mayBegin reports whether a text is short enough to be the beginning of an escape.
func mayBegin(text string) bool {
	return len(text) < maxEscape && strings.Contains(`\%~`, text[:1])
}

// unescape reads an escape at the beginning of a text: of JSON or Go, of a JSON pointer, or of a
// URL. Its length is 0 if there is none.
func unescape(text string) (escape reading) {
	if text == "" || !strings.Contains(`\%~+`, text[:1]) {
		return escape
	}
	if escape = decode(text[:min(len(text), longestEscape)]); escape.length > 0 {
		return escape // as nearly always
	}
	visible, ends := make([]byte, 0, longestEscape), make([]int, 0, longestEscape)
	for at, r := range text[:min(len(text), maxEscape)] {
		if len(visible) == longestEscape {
			break
		}
		if shown(r) == r {
			visible, ends = append(visible, byte(min(r, utf8.RuneSelf))), append(ends, at+1)
		}
	}
	if escape = decode(string(visible)); escape.length > 0 {
		escape.length = ends[escape.length-1]
	}
	return escape
}

// decode is unescape for a text of at most longestEscape characters, which all show.
func decode(text string) reading {
	switch {
	case strings.HasPrefix(text, "+"):
		return reading{' ', 1}
	case strings.HasPrefix(text, "~0"):
		return reading{'~', 2}
	case strings.HasPrefix(text, "~1"), strings.HasPrefix(text, `\/`):
		return reading{'/', 2}
	case strings.HasPrefix(text, "%"):
		for n := 3; n <= len(text); n += 3 { // three for each byte of the character
			s, _ := url.PathUnescape(text[:n])
			if r, size := utf8.DecodeRuneInString(s); size == len(s) && utf8.FullRuneInString(s) {
				return reading{r, n}
			}
		}
	case len(text) > 1:
		if r, _, rest, err := strconv.UnquoteChar(text, text[1]); err == nil {
			return reading{r, len(text) - len(rest)}
		}
		var pair string // of surrogates
		if err := json.Unmarshal([]byte(`"`+text+`"`), &pair); err == nil && utf8.RuneCountInString(pair) == 1 {
			return reading{[]rune(pair)[0], len(text)}
		}
	}
	return reading{}
}
