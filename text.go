package horseracing

import (
	"slices"
	"strings"
	"unicode"

	"github.com/horseracing-go/horseracing/internal/redact"
)

const maxErrorText = 1800 // bytes of any error's text

// errorText returns the text of an error without invisible characters, and cut.
func errorText(text string) string { return clip(redact.Visible(text), maxErrorText) }

// clip cuts a text to limit bytes, at the end of a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, unicode.IsControl)
}

// hasDotSegment reports whether a path contains . or .., which servers resolve.
func hasDotSegment(path string) bool {
	segments := strings.Split(path, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}
