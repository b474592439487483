package horseracing

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// HorseNumber identifies a horse (number in the interface document, section
// 2.1). Valid numbers are positive; the zero value is refused before any
// request is made.
type HorseNumber int64

// RaceID identifies a race: main_race_id in the interface document, section
// 2.4. Valid ids are positive; the zero value is refused before any request.
type RaceID int64

// TournamentID identifies a tournament: _id in the interface document, section
// 2.5. The empty id is refused before any request.
type TournamentID string

// TierID is a tier as queries and tournaments carry it: a number. In a query
// the zero value leaves the choice to the service, whose default is TierOmega.
type TierID int

// TierOmega is the only tier id whose meaning the interface document shows
// (section 4.5). It is also what the service takes where none is given.
const TierOmega TierID = 5

// TierName is a tier as horses and races carry it: a word. The interface
// document does not list all of them; a name not seen there passes through.
type TierName string

// The tier names that occur in the interface document, sections 2.1 to 2.4.
const (
	TierNameOmega TierName = "Omega"
	TierNameBeta  TierName = "Beta"
)

// Gender of a horse. The interface document does not list all values; one not
// seen there passes through.
type Gender string

// GenderStallion is the gender that occurs in the interface document, section 2.1.
const GenderStallion Gender = "Stallion"

// RaceType says, going by its names, which time wins a race or a tournament. A
// value not seen in the interface document passes through.
type RaceType string

// The types that occur in the interface document: both for races (section 2.4),
// the best time for tournaments (section 2.5).
const (
	RaceTypeBestTime  RaceType = "best_time"
	RaceTypeWorstTime RaceType = "worst_time"
)

// RaceStatus is the state of a race. The interface document shows neither all
// values nor the transitions (section 3); a value not seen there passes through.
type RaceStatus string

// The race states that occur in the interface document, section 3.
const (
	RaceStatusFinished   RaceStatus = ""            // carried by finished races
	RaceStatusInProgress RaceStatus = "In progress" // carried by open races
)

// Timestamp is an instant that travels as milliseconds since the Unix epoch.
// It embeds a [time.Time] in UTC, so all of its methods are at hand. The zero
// value stands for null and for a member that is absent.
type Timestamp struct{ time.Time }

// NewTimestamp returns t as a Timestamp: in UTC, cut to the millisecond that
// the wire can carry. The zero time stays the zero Timestamp.
func NewTimestamp(t time.Time) Timestamp {
	if t.IsZero() {
		return Timestamp{}
	}
	return timestampOf(t.UnixMilli())
}

func timestampOf(milliseconds int64) Timestamp {
	return Timestamp{time.UnixMilli(milliseconds).UTC()}
}

// UnmarshalJSON reads an integer number of milliseconds, in any of the
// notations that [BigInt] reads except a quoted one; null gives the zero value.
func (t *Timestamp) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*t = Timestamp{}
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		return errors.New("a timestamp is a number of milliseconds, not a string")
	}
	var n BigInt
	if err := n.UnmarshalJSON(data); err != nil {
		return err
	}
	if n.big != nil || n.small < minMilliseconds || n.small > maxMilliseconds {
		return errors.New("timestamp out of range")
	}
	*t = timestampOf(n.small)
	return nil
}

// The years 1 (exclusive of its first instant, which is the zero time) to
// 9999: what RFC 3339 and most databases can hold.
const (
	minMilliseconds = -62135596800000 + 1
	maxMilliseconds = 253402300799999
)

// MarshalJSON writes milliseconds since the epoch; the zero value is null.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, t.UnixMilli(), 10), nil
}

// redacted stands where a key stood.
const redacted = redact.Placeholder

// UserKey is the key of a user, as the operations that act for one carry it
// (interface document, section 5). Convert a string to it: UserKey("...").
//
// It reads from JSON and text like a string, but prints, logs and encodes to
// both as "[redacted]"; string(key) is the way to its text. A request body
// given to [Client.Do] may hold a UserKey; there the key itself is written.
//
// Go itself looks past that in a few places: fmt in unexported fields and for
// the misuses that go vet reports (%p, %w), encoding/json in the keys of a map,
// and encoding/gob.
type UserKey string

// String returns "[redacted]", or the empty string for an empty key.
func (k UserKey) String() string {
	if k == "" {
		return ""
	}
	return redacted
}

// Format prints the redacted form whatever the verb.
func (k UserKey) Format(s fmt.State, verb rune) {
	if verb == 'q' || s.Flag('#') {
		fmt.Fprintf(s, "%q", k.String())
		return
	}
	io.WriteString(s, k.String())
}

// LogValue makes slog log the redacted form.
func (k UserKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText returns the redacted form, for JSON and every other encoding.
func (k UserKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the key itself.
func (k *UserKey) UnmarshalText(text []byte) error {
	*k = UserKey(text)
	return nil
}
