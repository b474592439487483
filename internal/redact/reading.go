package redact

import (
	"html"
	"strconv"
	"strings"
)

// readings returns the letters and digits of a text as it is, without escapes, and
// without the escapes within these, such as JSON in a query. Undoing twice what is
// escaped once can lose letters: \\u0062 becomes \b, a control character.
func readings(text string) []string {
	text = strings.ReplaceAll(text, "\x00", "") // UTF-16 and UTF-32 have NULs
	all := []string{letters(text)}
	for range 2 {
		escaped := text
		if text = unescape(text); text != escaped {
			all = append(all, letters(text))
		}
	}
	return all
}

// letters returns the ASCII letters and digits of a text in lower case.
func letters(text string) string {
	out := make([]byte, 0, len(text))
	for _, char := range []byte(strings.ToLower(text)) {
		if 'a' <= char && char <= 'z' || '0' <= char && char <= '9' {
			out = append(out, char)
		}
	}
	return string(out)
}

// unescape undoes the escapes of HTML, JSON, Go and URLs in a text. Those of JSON
// pointers and of surrogates, which are not escapes of letters, are dropped.
func unescape(text string) string {
	text = html.UnescapeString(text)
	out := make([]byte, 0, len(text))
	for i := strings.IndexAny(text, `~\%`); i >= 0; i = strings.IndexAny(text, `~\%`) {
		out = append(out, text[:i]...)
		text = text[i:]
		char, rest := text[:1], text[1:]
		switch {
		case strings.HasPrefix(text, "~0"), strings.HasPrefix(text, "~1"):
			char, rest = " ", text[2:]
		case strings.HasPrefix(text, `\ud`), strings.HasPrefix(text, `\uD`):
			char, rest = " ", text[min(6, len(text)):]
		case char == `\` && !strings.HasPrefix(rest, `\`): // of two, the second may begin an escape
			if unquoted, _, tail, err := strconv.UnquoteChar(text, 0); err == nil {
				char, rest = string(unquoted), tail
			}
		case char == "%" && len(rest) >= 2:
			if unquoted, _, _, err := strconv.UnquoteChar(`\x`+rest[:2], 0); err == nil {
				char, rest = string(unquoted), rest[2:]
			}
		}
		out = append(out, char...)
		text = rest
	}
	return string(out) + text
}
