package horseracing

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// HorseNumber identifies a horse. If an id is not valid (this and a RaceID must be positive), methods
// return ErrInvalidArgument without a request.
type HorseNumber int64

// RaceID is the main_race_id of a race.
type RaceID int64

// TournamentID is the _id of a tournament. It must not be empty or a dot segment of a path.
type TournamentID string

// pathID is an id within a path: a HorseNumber, a RaceID or a TournamentID.
type pathID interface {
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

// idOf returns the id of an entry as text, or empty if it has none.
func idOf(entry any) string {
	e, ok := entry.(interface{ id() pathID })
	if !ok {
		return ""
	}
	if id := e.id().text(); id != "0" {
		return id
	}
	return ""
}

// feeOf returns the entry fee of a race or a tournament, and of another entry zero.
func feeOf(entry any) (fee BigInt) {
	if e, ok := entry.(interface{ fee() BigInt }); ok {
		fee = e.fee()
	}
	return fee
}

// TierID is the number of a tier, as in queries and tournaments. Zero in a query means TierOmega,
// the service's default and the only documented number.
type TierID int

const TierOmega TierID = 5

// orDefault returns the tier that a query for t reads.
func (t TierID) orDefault() TierID { return cmp.Or(t, TierOmega) }

// TierName is the name of a tier, as in horses and races. Undocumented values of types of strings pass
// through.
type TierName string

const (
	TierNameOmega TierName = "Omega"
	TierNameBeta  TierName = "Beta"
)

// Tier is the number of a tier with its name.
type Tier struct {
	ID   TierID   `json:"id"`
	Name TierName `json:"name"`
}

// TierByName returns the number of a tier by its name, in any case, if it is documented, as only that
// of Omega is; see [RacesService.Tiers].
func TierByName(name TierName) (id TierID, ok bool) {
	if !strings.EqualFold(string(name), string(TierNameOmega)) {
		return 0, false
	}
	return TierOmega, true
}

// Name returns the name of the tier, if it is documented.
func (t TierID) Name() (name TierName, ok bool) {
	if t != TierOmega {
		return "", false
	}
	return TierNameOmega, true
}

// Timestamp is an instant in milliseconds since the Unix epoch, in UTC if it was decoded. The zero value
// means null or an absent member. To compare two, name the embedded time: t.Before(other.Time).
//
// Instants outside the years 1 to 9999 cannot be decoded, nor can numbers that are taken for times in
// seconds (1998 to 5138). In BSON a Timestamp is a date, and in database/sql a time.Time; Scan also
// reads milliseconds, and the texts that drivers of SQLite write.
type Timestamp struct{ time.Time }

// NewTimestamp returns t in UTC, truncated to the millisecond.
func NewTimestamp(t time.Time) Timestamp {
	if t.IsZero() {
		return Timestamp{}
	}
	return timestampOf(t.UnixMilli())
}

func (t *Timestamp) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*t = Timestamp{}
		return nil
	}
	milliseconds, ok := parseInt64(data)
	if !ok || milliseconds < minMilliseconds || milliseconds > maxMilliseconds {
		return errors.New("not a whole number of milliseconds in the years 1 to 9999")
	}
	if minSeconds <= milliseconds && milliseconds < maxSeconds {
		return fmt.Errorf("%d is a time in seconds, and milliseconds were expected", milliseconds)
	}
	*t = timestampOf(milliseconds)
	return nil
}

func (t Timestamp) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, t.UnixMilli(), 10), nil
}

func (t Timestamp) MarshalBSONValue() (kind byte, data []byte, err error) {
	if t.IsZero() {
		return bsonNull, nil, nil
	}
	return bsonDate, binary.LittleEndian.AppendUint64(nil, uint64(t.UnixMilli())), nil
}

func (t *Timestamp) UnmarshalBSONValue(kind byte, data []byte) error {
	switch {
	case kind == bsonNull:
		*t = Timestamp{}
	case kind == bsonDate && len(data) == 8:
		*t = NewTimestamp(time.UnixMilli(int64(binary.LittleEndian.Uint64(data))))
	default:
		return fmt.Errorf("a BSON value of type %#02x is not a date", kind)
	}
	return nil
}

func (t Timestamp) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil //nolint:nilnil // NULL
	}
	return t.UTC(), nil
}

// timeLayouts are of the texts that drivers of SQLite write for a time.
var timeLayouts = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700 MST"} // fractions are read, too

func (t *Timestamp) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*t = Timestamp{}
		return nil
	case time.Time:
		*t = NewTimestamp(value)
		return nil
	case int64:
		return t.UnmarshalJSON(strconv.AppendInt(nil, value, 10))
	case string:
		for _, layout := range timeLayouts {
			if instant, err := time.Parse(layout, value); err == nil {
				*t = NewTimestamp(instant)
				return nil
			}
		}
	}
	return fmt.Errorf("%T %.50v is not a time with its zone", value, value)
}

const (
	// The years 1 (exclusive of its first instant, which is the zero time) to 9999: what
	// RFC 3339 and most databases can hold.
	minMilliseconds = -62135596800000 + 1
	maxMilliseconds = 253402300799999

	// The years 1998 to 5138 in seconds.
	minSeconds = 900_000_000
	maxSeconds = 100_000_000_000
)

func timestampOf(milliseconds int64) Timestamp {
	return Timestamp{time.UnixMilli(milliseconds).UTC()}
}

// UserKey is the key of a user, which some operations require. It is decoded like a string, but
// prints, logs and encodes as "[redacted]", and database/sql refuses it. Only request bodies,
// including those of [Client.Do], contain the key itself; string(key) returns it.
//
// Some parts of Go reveal it: fmt in unexported fields and with the verbs %p and %w, encoding/json
// as a map key, encoding/gob, BSON and CBOR, and GODEBUG=http2debug=2.
type UserKey string

func (k UserKey) problem() error { return checkPasted("the user key", string(k)) }

func (k UserKey) String() string {
	if k == "" {
		return ""
	}
	return redact.Placeholder
}

func (k UserKey) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), k.String())
}

func (k UserKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

func (k UserKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *UserKey) UnmarshalText(text []byte) error {
	*k = UserKey(text)
	return nil
}

func (k UserKey) Value() (driver.Value, error) {
	return nil, errors.New("a UserKey is not written to a database: convert it to a string if it must be")
}

type Gender string

const GenderStallion Gender = "Stallion"

// RaceType is which time wins, the best or the worst, as its values suggest.
type RaceType string

const (
	RaceTypeBestTime  RaceType = "best_time"
	RaceTypeWorstTime RaceType = "worst_time"
)

// RaceStatus is the state of a race, empty on finished ones.
type RaceStatus string

const RaceStatusInProgress RaceStatus = "In progress" // of open races

// MissionPeriod is how often a mission is assigned.
type MissionPeriod string

const (
	MissionPeriodDaily   MissionPeriod = "daily"
	MissionPeriodWeekly  MissionPeriod = "weekly"
	MissionPeriodMonthly MissionPeriod = "monthly"
)

// MissionKind is what a mission requires.
type MissionKind string

const (
	MissionKindAllDaily                MissionKind = "all_daily"
	MissionKindAllWeekly               MissionKind = "all_weekly"
	MissionKindRunAll                  MissionKind = "run_all"
	MissionKindRunAllOnZHippodrome     MissionKind = "run_all_on_z_hippodrome"
	MissionKindRunOnXHippodrome        MissionKind = "run_on_x_hippodrome"
	MissionKindRunXFurlongRace         MissionKind = "run_x_furlong_race"
	MissionKindRunXRaces               MissionKind = "run_x_races"
	MissionKindRunXRacesOfYFurlongsOnZ MissionKind = "run_x_races_of_y_furlongs_on_z"
	MissionKindRunXRacesOnZ            MissionKind = "run_x_races_on_z"
	MissionKindRunXRacesOnZHippodrome  MissionKind = "run_x_races_on_z_hippodrome"
	MissionKindRunXRacesYFurlong       MissionKind = "run_x_races_y_furlong"
	MissionKindTakeIPlaceXRaces        MissionKind = "take_i_place_x_races"
	MissionKindTakePrizePlaceInXRaces  MissionKind = "take_prize_place_in_x_races"
)

// documentedForm returns the documented form of a value of a type in another notation: 12 for 12.0,
// null for "" if null is documented, and an instant with its zone for one without, which is in UTC, or
// in milliseconds. It returns nil if there is none.
func documentedForm(value jsontext.Value, t reflect.Type) jsontext.Value {
	isOptional := t.Kind() == reflect.Pointer
	if isOptional {
		t = t.Elem()
	}
	n, isInteger := parseInt64(value)
	switch isInstant := t == reflect.TypeFor[time.Time](); {
	case isOptional && string(value) == `""`:
		return jsontext.Value("null")
	case isInstant && isInteger:
		var stamp Timestamp
		if stamp.UnmarshalJSON(value) != nil {
			return nil
		}
		return stamp.AppendFormat(nil, `"`+time.RFC3339Nano+`"`)
	case isInstant:
		return append(bytes.TrimSuffix(bytes.Clone(value), []byte(`"`)), `Z"`...)
	case isInteger && reflect.Zero(t).CanInt():
		return strconv.AppendInt(nil, n, 10)
	}
	return nil
}
