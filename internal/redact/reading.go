package redact

import (
	"encoding/hex"
	"html"
	"strings"
	"unicode/utf8"
)

// nested is how many escapes within each other are undone, such as JSON in a query.
const nested = 2

// readings returns the letters and digits of a text as it is, and without its
// escapes.
func readings(text string) []string {
	text = strings.ToLower(strings.ReplaceAll(text, "\x00", "")) // UTF-16 and UTF-32 have NULs
	plain := letters(text)
	for range nested {
		text = unescape(html.UnescapeString(text))
	}
	return []string{plain, letters(text)}
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

// unescape undoes the escapes of JSON, Go, JSON pointers and URLs in a text in lower
// case. White space and what is not ASCII becomes a space.
func unescape(text string) string {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		char, width := text[0], 1
		switch escape := text[:min(2, len(text))]; escape {
		case `\x`:
			char, width = hexCharacter(text, 2, 4)
		case `\u`:
			char, width = hexCharacter(text, 2, 6)
		case `\a`, `\b`, `\f`, `\n`, `\r`, `\t`, `\v`, "~0", "~1":
			char, width = ' ', 2
		default:
			if char == '%' {
				char, width = hexCharacter(text, 1, 3)
			}
		}
		out = append(out, char)
		text = text[width:]
	}
	return string(out)
}

// hexCharacter returns the character whose number is text[start:end], and end. If
// there is none it returns the first character of the text and 1.
func hexCharacter(text string, start, end int) (char byte, width int) {
	if len(text) < end {
		return text[0], 1
	}
	var number [2]byte
	n, err := hex.Decode(number[:], []byte(text[start:end]))
	switch {
	case err != nil:
		return text[0], 1
	case n == 2 && number[0] != 0 || number[n-1] >= utf8.RuneSelf:
		return ' ', end
	}
	return number[n-1], end
}
