package redact

import (
	"bytes"
	"encoding/binary"
	"mime"
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

// Decode returns a body as UTF-8. It is read as UTF-16 or UTF-32 where its byte
// order mark or its NULs say so, as Latin-1 where that is what contentType
// declares and it is not UTF-8, and is returned as it is otherwise.
func Decode(body []byte, contentType string) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe\x00\x00")):
		return decode32(body[4:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte("\x00\x00\xfe\xff")):
		return decode32(body[4:], binary.BigEndian)
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return decode16(body[2:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return decode16(body[2:], binary.BigEndian)
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return string(body[3:])
	case len(body) >= 4: // a page and JSON begin with an ASCII character
		switch zero := [4]bool{body[0] == 0, body[1] == 0, body[2] == 0, body[3] == 0}; zero {
		case [4]bool{false, true, true, true}:
			return decode32(body, binary.LittleEndian)
		case [4]bool{true, true, true, false}:
			return decode32(body, binary.BigEndian)
		case [4]bool{false, true, false, true}, [4]bool{false, true, false, false}:
			return decode16(body, binary.LittleEndian)
		case [4]bool{true, false, true, false}, [4]bool{true, false, false, false}:
			return decode16(body, binary.BigEndian)
		}
	}
	if _, params, _ := mime.ParseMediaType(contentType); isLatin(params["charset"]) && !utf8.Valid(body) {
		text := make([]rune, len(body))
		for i, char := range body {
			text[i] = rune(char)
		}
		return string(text)
	}
	return string(body)
}

func isLatin(charset string) bool {
	switch strings.ToLower(charset) {
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
