package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text from outside as it can be shown: white space becomes a
// space, and characters that do not show (controls, formatting, fillers) are
// dropped, so that they cannot confuse a terminal, a log or a reader.
func Visible(text string) string { return strings.Map(shown, text) }

// shown returns a character as it can be shown, or -1 if it does not show.
func shown(r rune) rune {
	switch {
	case ' ' <= r && r <= '~': // most
		return r
	case unicode.IsSpace(r):
		return ' '
	case r != utf8.RuneError && (!unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)):
		return -1
	}
	return r
}

// Clip cuts a text to limit bytes, at the end of a character.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}
