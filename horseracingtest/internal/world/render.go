package world

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// JSON is written by appending: the fake must not be what a benchmark of a
// client measures.

// appendInt writes a number after lead.
func appendInt(b []byte, lead string, n int64) []byte {
	return strconv.AppendInt(append(b, lead...), n, 10)
}

func appendBool(b []byte, lead string, v bool) []byte {
	return strconv.AppendBool(append(b, lead...), v)
}

func appendInts(b []byte, lead string, values []int) []byte {
	b = append(append(b, lead...), '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	return append(b, ']')
}

// appendText writes a string after lead.
func appendText(b []byte, lead, s string) []byte {
	return appendString(append(b, lead...), s)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string can always be encoded
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendFloat writes a number in decimal notation.
func appendFloat(b []byte, lead string, v float64) []byte {
	return strconv.AppendFloat(append(b, lead...), v, 'f', -1, 64)
}

// appendList writes the n elements that element writes.
func appendList(b []byte, n int, element func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, i)
	}
	return append(b, ']')
}

// objectID makes an _id of 24 hexadecimal digits, of which the first eight are
// the seconds of an instant.
func objectID(millis int64, n uint64) string {
	return fmt.Sprintf("%08x%016x", uint32(millis/1000), n)
}

// isoMillis is how the service writes an instant as a string.
func isoMillis(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
