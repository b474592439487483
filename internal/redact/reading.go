package redact

import (
	"bytes"
	"encoding/binary"
	"html"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// reading is a text as it is read in one way.
type reading struct {
	plain []byte
	at    []span // where each byte of plain is in the text
}

// read reads a text as it is.
func read(text string) reading {
	r := reading{[]byte(text), make([]span, len(text))}
	for i := range r.at {
		r.at[i] = span{i, i + 1}
	}
	return r
}

// escapes are the sets of characters that may begin an escape. A backslash:
// JSON, Go's %q. A percent sign: a URL; a plus: the space of a query. A tilde:
// a JSON pointer. An ampersand: HTML. One at a time, because a key may hold
// these characters itself, and all, because a text may hold several.
var escapes = []string{`\`, "%", "%+", "~", "&", `\%~&`, `\%+~&`}

// readings ranges over the ways in which a key in a text can be read: with and
// without what is invisible, as UTF-16 where it holds NULs, with each set of
// escapes, and with those twice, because an escaped text may be quoted in
// another.
func readings(text string, truncated bool) iter.Seq[reading] {
	return func(yield func(reading) bool) {
		sources := []reading{read(text)}
		if shown := sources[0].keep(isVisible); len(shown.plain) < len(text) {
			sources = append(sources, shown)
		}
		if strings.IndexByte(text, 0) >= 0 {
			for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
				sources = append(sources, sources[0].wide(0, order), sources[0].wide(1, order))
			}
		}
		for _, source := range sources {
			if !yield(source) {
				return
			}
			for _, chars := range escapes {
				r := source
				for level := 0; level < 2 && bytes.ContainsAny(r.plain, chars); level++ {
					if r = r.unescape(chars, truncated); !yield(r) {
						return
					}
				}
			}
		}
	}
}

// keep returns the reading without some of its characters.
func (r reading) keep(keep func(rune) bool) reading {
	return r.mapRunes(func(char rune) rune {
		if keep(char) {
			return char
		}
		return -1
	})
}

// fold returns the reading as keys are compared: lower case letters, nothing
// that does not show, and nothing between the letters, as a line break that
// becomes a space.
func (r reading) fold() reading {
	return r.mapRunes(func(char rune) rune {
		if unicode.IsSpace(char) || unicode.IsMark(char) || !isVisible(char) {
			return -1
		}
		return unicode.ToLower(char)
	})
}

// wide returns the text as UTF-16 from its byte at start on. In
// UTF-32 the same characters have NULs between them.
func (r reading) wide(start int, order binary.ByteOrder) reading {
	out := reading{make([]byte, 0, len(r.plain)), make([]span, 0, len(r.plain))}
	for i := start; i+1 < len(r.plain); i += 2 {
		char, width := rune(order.Uint16(r.plain[i:])), 2
		if utf16.IsSurrogate(char) && i+3 < len(r.plain) {
			char, width = utf16.DecodeRune(char, rune(order.Uint16(r.plain[i+2:]))), 4
		}
		out.plain = utf8.AppendRune(out.plain, char)
		out.fill(r.at[i].from, r.at[i+width-1].to)
		i += width - 2
	}
	return out
}

// mapRunes replaces each character, and drops it for -1.
func (r reading) mapRunes(mapping func(rune) rune) reading {
	out := reading{make([]byte, 0, len(r.plain)), make([]span, 0, len(r.plain))}
	for i := 0; i < len(r.plain); {
		char, width := rune(r.plain[i]), 1
		if char >= utf8.RuneSelf {
			char, width = utf8.DecodeRune(r.plain[i:])
		}
		if char = mapping(char); char >= 0 {
			out.plain = utf8.AppendRune(out.plain, char)
			out.fill(r.at[i].from, r.at[i+width-1].to)
		}
		i += width
	}
	return out
}

// fill notes where the bytes just appended to plain come from.
func (r *reading) fill(from, to int) {
	for len(r.at) < len(r.plain) {
		r.at = append(r.at, span{from, to})
	}
}

// unescape reads the escapes that begin with one of the characters. Where the
// text is truncated, it stops before an escape that may have been cut.
func (r reading) unescape(chars string, truncated bool) reading {
	out := reading{make([]byte, 0, len(r.plain)), make([]span, 0, len(r.plain))}
	text := string(r.plain)
	for i := 0; i < len(text); {
		char, width := text[i:i+1], 1
		if strings.IndexByte(chars, text[i]) >= 0 {
			plain, length := unescapeOne(text[i:min(i+longestEscape, len(text))])
			if length == 0 && truncated && mayBegin(text[i:]) {
				break
			}
			if length > 0 {
				char, width = plain, length
			}
		}
		out.plain = append(out.plain, char...)
		out.fill(r.at[i].from, r.at[i+width-1].to)
		i += width
	}
	return out
}

const longestEscape = len(`\ud83c\udfc7`)

// mayBegin reports whether a text may be the beginning of an escape.
func mayBegin(text string) bool {
	if len(text) >= longestEscape {
		return false
	}
	if text[0] == '&' {
		return strings.Trim(text[1:], "#0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
	}
	for _, rest := range []string{"0", "00", "000", "0000", "00000", "000000", "0000000", "00000000", `\ud83c\udfc7`[len(text):]} {
		if _, width := unescapeOne(text + rest); width == len(text)+len(rest) {
			return true
		}
	}
	return false
}

// unescapeOne reads the escape at the beginning of text, and of how many bytes
// it is; 0: there is none.
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
		if end := strings.IndexByte(text, ';'); end > 0 {
			if plain := html.UnescapeString(text[:end+1]); plain != text[:end+1] {
				return plain, end + 1
			}
		}
	}
	return "", 0
}

// unquote reads a backslash escape of JSON or Go at the beginning of text.
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
