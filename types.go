package horseracing

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// HorseNumber identifies a horse. If it is not positive, methods return
// ErrInvalidArgument without a request.
type HorseNumber int64

// RaceID is the main_race_id that identifies a race. If it is not positive, methods
// return ErrInvalidArgument without a request.
type RaceID int64

// TournamentID is the _id that identifies a tournament. If it is empty, "." or "..", or
// contains a control character, methods return ErrInvalidArgument without a request.
type TournamentID string

// TierID is the number of a tier, as in queries and tournaments. In a query the zero
// value means TierOmega, the service's default.
type TierID int

// TierOmega is the only documented tier id, and the service's default.
const TierOmega TierID = 5

// orDefault returns the tier that a query for t reads.
func (t TierID) orDefault() TierID { return cmp.Or(t, TierOmega) }

// entryID is an id within a path: a HorseNumber, a RaceID or a TournamentID.
type entryID interface {
	text() string
	problem() error // why it is invalid, or nil
}

func (n HorseNumber) text() string   { return strconv.FormatInt(int64(n), 10) }
func (id RaceID) text() string       { return strconv.FormatInt(int64(id), 10) }
func (id TournamentID) text() string { return string(id) }

func (n HorseNumber) problem() error { return notPositive("horse number", int64(n)) }
func (id RaceID) problem() error     { return notPositive("race id", int64(id)) }

func notPositive(what string, n int64) error {
	if n > 0 {
		return nil
	}
	return fmt.Errorf("%s %d is not positive", what, n)
}

func (id TournamentID) problem() error {
	switch {
	case id == "":
		return errors.New("the tournament id is empty")
	case id == "." || id == "..":
		return errors.New("the tournament id is a dot segment, which would change the path")
	case hasControl(string(id)):
		return errors.New("the tournament id contains a control character")
	}
	return nil
}

// identified is an entry with an id.
type identified interface{ entryID() entryID }

// idOf returns the id of an entry as text, or empty if it has none.
func idOf(entry any) string {
	e, ok := entry.(identified)
	if !ok || e.entryID().text() == "0" {
		return ""
	}
	return e.entryID().text()
}

// Timestamp is an instant that is encoded as milliseconds since the Unix epoch. It
// embeds a [time.Time]; one decoded from JSON is in UTC. The zero value means null or
// an absent member. To compare two, name the embedded time: t.Before(other.Time).
type Timestamp struct{ time.Time }

// NewTimestamp returns t in UTC, truncated to the millisecond. The zero time is the
// zero Timestamp.
func NewTimestamp(t time.Time) Timestamp {
	if t.IsZero() {
		return Timestamp{}
	}
	return timestampOf(t.UnixMilli())
}

func timestampOf(milliseconds int64) Timestamp {
	return Timestamp{time.UnixMilli(milliseconds).UTC()}
}

// UnmarshalJSON reads a whole number of milliseconds, however written (5.0, 5e3). null
// is the zero value; a year outside 1 to 9999 is an error.
func (t *Timestamp) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*t = Timestamp{}
		return nil
	}
	var n Number
	if err := n.UnmarshalJSON(data); err != nil {
		return err
	}
	milliseconds, ok := n.Int64()
	if !ok || milliseconds < minMilliseconds || milliseconds > maxMilliseconds {
		return errors.New("not a whole number of milliseconds in the years 1 to 9999")
	}
	*t = timestampOf(milliseconds)
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

// redacted replaces a key in texts.
const redacted = redact.Placeholder

// UserKey is the key of a user, which some operations require. Convert a string:
// UserKey("...").
//
// A UserKey is decoded like a string, but prints, logs and encodes as "[redacted]".
// Only request bodies, including those of [Client.Do], contain the key itself;
// string(key) returns it.
//
// Some parts of Go bypass its methods and reveal the key: fmt in unexported fields
// and with the verbs %p and %w, encoding/json in map keys, and encoding/gob.
type UserKey string

func (k UserKey) problem() error {
	if k == "" {
		return errors.New("the user key is empty")
	}
	return nil
}

// String returns "[redacted]", or the empty string for an empty key.
func (k UserKey) String() string {
	if k == "" {
		return ""
	}
	return redacted
}

// Format prints the redacted form as a string.
func (k UserKey) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), k.String())
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
