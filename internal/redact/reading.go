package redact

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readings returns the letters and digits of a text as it is, and without its
// escapes.
func readings(text string) []string {
	text = strings.ToLower(strings.ReplaceAll(text, "\x00", "")) // UTF-16 and UTF-32 have NULs
	return []string{letters(text), letters(unescape(text))}
}

// letters returns the ASCII letters and digits of a text in lower case.
func letters(text string) string {
	out := make([]byte, 0, len(text))
	for _, char := range []byte(text) {
		if 'a' <= char && char <= 'z' || '0' <= char && char <= '9' {
			out = append(out, char)
		}
	}
	return string(out)
}

// unescape undoes the escapes of JSON, Go, JSON pointers, URLs and HTML in a text
// in lower case, and those within them: it starts at the end, so that the text
// after an escape has none.
func unescape(text string) string {
	out := make([]byte, len(text))
	start := len(text)
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '\\' && i > 0 && text[i-1] == '\\' {
			continue // JSON within JSON has several
		}
		char, width := unescapeOne(text[i], out[start:])
		for width > 0 {
			start += width
			char, width = unescapeOne(char, out[start:])
		}
		start--
		out[start] = char
	}
	return string(out[start:])
}

// unescapeOne returns the character that char and rest are an escape of, and how
// much of rest belongs to it: 0 if there is no escape.
func unescapeOne(char byte, rest []byte) (unescaped byte, width int) {
	next := byte(0)
	if len(rest) > 0 {
		next = rest[0]
	}
	switch {
	case char == '%':
		return number(char, rest, 0, 2, 16)
	case char == '\\' && next == 'x':
		return number(char, rest, 1, 3, 16)
	case char == '\\' && next == 'u':
		return number(char, rest, 1, 5, 16)
	case char == '\\' && strings.IndexByte("abfnrtv", next) >= 0:
		return ' ', 1
	case char == '~' && (next == '0' || next == '1'):
		return "~/"[next-'0'], 1
	case char != '&':
		return char, 0
	}
	end := bytes.IndexByte(rest[:min(len(rest), len("#x10ffff;"))], ';')
	switch {
	case end < 0:
		return char, 0
	case string(rest[:end]) == "amp":
		return '&', end + 1
	case next == '#' && rest[1] == 'x':
		unescaped, _ = number(' ', rest, 2, end, 16)
	case next == '#':
		unescaped, _ = number(' ', rest, 1, end, 10)
	}
	return unescaped, end + 1
}

// number returns the ASCII character whose number is rest[start:end], and end. If
// there is none it returns char and 0.
func number(char byte, rest []byte, start, end, base int) (unescaped byte, width int) {
	if end > len(rest) {
		return char, 0
	}
	value, err := strconv.ParseUint(string(rest[start:end]), base, 32)
	if err != nil {
		return char, 0
	}
	return byte(unicode.ToLower(rune(min(value, utf8.RuneSelf)))), end
}
