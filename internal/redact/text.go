package redact

import (
	"bytes"
	"encoding/binary"
	"mime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible returns a foreign text as it can be shown: white space becomes a
// space, and what does not show (controls, formatting, fillers) is dropped, so
// that it plays no tricks with a terminal, a log or a reader.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || isVisible(r):
			return r
		}
		return -1
	}, text)
}

// isVisible reports whether a character shows. An invalid byte, or what stands
// for one, does not: it is dropped or replaced on the way to a text.
func isVisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r != 0x7f || r == '\n' || r == '\t' || r == '\r'
	}
	const blankBraille = '\u2800'
	return r != utf8.RuneError && r != blankBraille && (unicode.IsPrint(r) || unicode.IsSpace(r)) &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Decode returns a body as UTF-8. It is read as UTF-16 or UTF-32 if it has
// their byte order mark or NULs, as Latin-1 where that is what contentType
// declares and it is not UTF-8, and is returned as it is otherwise. The keys in
// UTF-16 and UTF-32 are redacted before: a text with NULs between its letters
// only looks like them, and what it became could show most of a key.
func (k Keys) Decode(body []byte, contentType string) string {
	mark, width, order := encodingOf(body)
	switch {
	case width == 1 && isLatin(contentType) && !utf8.Valid(body):
		text := make([]rune, len(body))
		for i, char := range body {
			text[i] = rune(char)
		}
		return string(text)
	case width == 1:
		return string(body[mark:])
	}
	body = k.redactUnits(body[mark:], width, order)
	if width == 2 {
		return decode16(body, order)
	}
	return decode32(body, order)
}

// redactUnits redacts the keys in a text of wide units, before it is decoded.
func (k Keys) redactUnits(body []byte, width int, order binary.ByteOrder) []byte {
	found, _ := find(string(body), k(), false)
	if len(found) == 0 {
		return body
	}
	unit := make([]byte, 4)
	var out []byte
	copied := 0
	for _, s := range found {
		from, to := s.from-s.from%width, (s.to+width-1)/width*width
		if from < s.from && isZero(body[s.from:min(from+width, len(body))]) { // a NUL of the character before
			from += width
		}
		if to > s.to && isZero(body[to-width:s.to]) { // or of the one behind
			to -= width
		}
		if from > copied {
			out = append(out, body[copied:from]...)
		}
		for _, char := range Placeholder {
			if width == 2 {
				order.PutUint16(unit, uint16(char))
			} else {
				order.PutUint32(unit, uint32(char))
			}
			out = append(out, unit[:width]...)
		}
		copied = min(to, len(body))
	}
	return append(out, body[copied:]...)
}

func isZero(bytes []byte) bool {
	return !slices.ContainsFunc(bytes, func(b byte) bool { return b != 0 })
}

// encodingOf returns the length of a body's byte order mark, and the width and
// the order of its units.
func encodingOf(body []byte) (mark, width int, order binary.ByteOrder) {
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe\x00\x00")):
		return 4, 4, binary.LittleEndian
	case bytes.HasPrefix(body, []byte("\x00\x00\xfe\xff")):
		return 4, 4, binary.BigEndian
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return 2, 2, binary.LittleEndian
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return 2, 2, binary.BigEndian
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return 3, 1, nil
	case len(body) >= 4: // a page and JSON begin with an ASCII character
		switch zero := [4]bool{body[0] == 0, body[1] == 0, body[2] == 0, body[3] == 0}; zero {
		case [4]bool{false, true, true, true}:
			return 0, 4, binary.LittleEndian
		case [4]bool{true, true, true, false}:
			return 0, 4, binary.BigEndian
		case [4]bool{false, true, false, true}, [4]bool{false, true, false, false}:
			return 0, 2, binary.LittleEndian
		case [4]bool{true, false, true, false}, [4]bool{true, false, false, false}:
			return 0, 2, binary.BigEndian
		}
	}
	return 0, 1, nil
}

func isLatin(contentType string) bool {
	_, params, _ := mime.ParseMediaType(contentType)
	switch strings.ToLower(params["charset"]) {
	case "iso-8859-1", "latin1", "windows-1252", "us-ascii":
		return true
	}
	return false
}

func decode16(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return string(utf16.Decode(units))
}

func decode32(body []byte, order binary.ByteOrder) string {
	text := make([]rune, len(body)/4)
	for i := range text {
		text[i] = rune(order.Uint32(body[4*i:]))
	}
	return string(text)
}
