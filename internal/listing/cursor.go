package listing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// version is the prefix of every cursor's text. It changes with the format.
const version = "hr4"

const maxText = 64 << 10 // of a cursor that is parsed

// Problems of the text of a cursor.
var (
	ErrDamaged = errors.New("the text is not a cursor, or is damaged")
	ErrVersion = errors.New("the cursor is from another version of the SDK")
)

// CursorText returns the text of a cursor: version, kind of the listing, tier, payload and checksum.
// The payload, a [Range] or a follow.Watermark, consists of integers and strings.
func CursorText(kind string, tier int, payload any) string {
	encoded, _ := json.Marshal(payload) // it does not fail for integers and strings
	text := fmt.Sprintf("%s.%s.%d.%s", version, kind, tier, base64.RawURLEncoding.EncodeToString(encoded))
	return text + "." + checksum(text)
}

func checksum(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// CheckCursor returns what is wrong with the text of a cursor, or nil.
func CheckCursor(text string) error {
	prefix, _, isCursor := strings.Cut(text, ".")
	end := strings.LastIndexByte(text, '.')
	switch {
	case strings.TrimSpace(text) != text:
		return errors.New("the cursor begins or ends with white space: was it read from a file together with the newline?")
	case !isCursor || strings.TrimRight(prefix, "0123456789") != "hr":
		return ErrDamaged
	case prefix != version:
		return ErrVersion
	case len(text) > maxText || checksum(text[:end]) != text[end+1:]:
		return ErrDamaged
	}
	return nil
}

// OpenCursor reads the payload of a cursor of a kind of listing, and returns its tier. If tier is not
// zero, the cursor has to be of that tier.
func OpenCursor(text, kind string, tier int, payload any) (saved int, problem error) {
	fields := strings.Split(text, ".")
	if len(fields) != 5 {
		return 0, ErrDamaged
	}
	saved, err := strconv.Atoi(fields[2])
	if err != nil || fields[1] != kind || saved < 1 || tier != 0 && tier != saved {
		return 0, errors.New("the cursor in Resume is of another listing or of another tier")
	}
	encoded, err := base64.RawURLEncoding.DecodeString(fields[3])
	if err != nil || json.Unmarshal(encoded, payload) != nil {
		return saved, ErrDamaged
	}
	return saved, nil
}
