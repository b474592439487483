package listing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
)

// version is the prefix of every cursor's text. It changes with the format.
const version = "hr4"

const maxText = 64 << 10 // of a cursor that is parsed

// ErrDamaged is the problem of a text that is not that of a cursor.
var ErrDamaged = errors.New("the text is not a cursor, or is damaged")

// anyVersion is the prefix of the text of a cursor, of this version or of another.
var anyVersion = regexp.MustCompile(`^hr[0-9]{1,3}\.`)

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
	end := strings.LastIndexByte(text, '.')
	switch prefix := anyVersion.FindString(text); {
	case strings.TrimSpace(text) != text:
		return errors.New("the cursor begins or ends with white space: was it read from a file together with the newline?")
	case prefix == version+"." && len(text) <= maxText && checksum(text[:end]) == text[end+1:]:
		return nil
	case prefix != "" && prefix != version+".":
		return errors.New("the cursor is from another version of the SDK: start without it, " +
			"a Follower with Since an hour (for tournaments a day) before the newest entry that is stored, and skip what is stored")
	}
	return ErrDamaged
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
