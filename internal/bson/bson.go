// Package bson writes and reads values of BSON, without a driver.
package bson

import (
	"encoding"
	"encoding/binary"
	"fmt"
)

// Types of values.
const (
	String byte = 0x02
	Date   byte = 0x09
	Null   byte = 0x0a
)

// Text returns a string: its length, the text and a NUL.
func Text(text string) (kind byte, data []byte, err error) {
	data = binary.LittleEndian.AppendUint32(nil, uint32(len(text)+1))
	return String, append(append(data, text...), 0), nil
}

// ReadText reads a string.
func ReadText(out encoding.TextUnmarshaler, kind byte, data []byte) error {
	end := len(data) - 1
	if kind != String || end < 4 || int(binary.LittleEndian.Uint32(data)) != end-3 || data[end] != 0 {
		return fmt.Errorf("a BSON value of type %#02x is not a string", kind)
	}
	return out.UnmarshalText(data[4:end])
}
