package horseracing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

var decoders = map[string]func([]byte, any) error{"this SDK's": decode, "encoding/json": json.Unmarshal}

var encoders = map[string]func(any) ([]byte, error){
	"encoding/json": json.Marshal,
	"version 2":     func(v any) ([]byte, error) { return jsonv2.Marshal(v) },
}

func TestUserKeyIsReadAsItsTextAndWrittenRedacted(t *testing.T) {
	const key = "secret-of-user-9"
	for name, read := range decoders {
		var keys []horseracing.UserKey
		double.Error(t, name, nil, "", read([]byte(`["`+key+`"]`), &keys))
		double.Equal(t, name+" reads the key", true, slices.Equal(keys, []horseracing.UserKey{key}))
		for name, encode := range encoders {
			double.Equal(t, name, `["[redacted]"]`, string(double.Must(encode(keys))))
		}
	}
}

// The instants that a Timestamp holds, from year 1 to year 9999.
const earliestMilliseconds, latestMilliseconds = -62135596800000 + 1, 253402300799999

func TestTimestampIsWrittenInMilliseconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(earliestMilliseconds, latestMilliseconds).Filter(func(ms int64) bool { return ms < 9e8 || ms >= 1e11 }).Draw(t, "ms")
		zone := time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "zone"))
		instant := time.UnixMilli(ms).Add(time.Duration(rapid.Int64Range(0, 999_999).Draw(t, "ns"))).In(zone)

		stamp := horseracing.NewTimestamp(instant)
		double.Equal(t, fmt.Sprintf("NewTimestamp(%v) is %v", instant, stamp), true, stamp.Time == time.UnixMilli(ms).UTC())
		for name, s := range map[string]horseracing.Timestamp{"made": stamp, "made by hand": {Time: instant}} {
			encoded := double.Must(json.Marshal(s))
			double.Equal(t, name, fmt.Sprint(ms), string(encoded))
			var again horseracing.Timestamp
			double.Error(t, name, nil, "", decode(encoded, &again))
			double.Equal(t, fmt.Sprintf("%s is read as %v", encoded, again), true, again == stamp)
		}
	})
}

func TestTimestampReadsWholeMillisecondsAlone(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "899999999": 899999999, "100000000000": 1e11, "1767225600250.0": 1767225600250, "1.7e12": 17e11, "253402300799999": latestMilliseconds, "-62135596799999": earliestMilliseconds,
	} {
		var got horseracing.Timestamp
		double.Error(t, text, nil, "", got.UnmarshalJSON([]byte(text)))
		double.Equal(t, fmt.Sprintf("%s is read as %v", text, got), true, got == at(want) && !got.IsZero())
	}
	none := at(42)
	double.Error(t, "null", nil, "", none.UnmarshalJSON([]byte("null")))
	double.Equal(t, "null is the zero Timestamp", true, none.IsZero())
	for _, text := range []string{
		"", "1.5", "0x10", "1_0", "true", "[]", `"1767225600250"`, `"2026-01-01T00:00:00Z"`, `""`,
		"900000000", "1767225600", "1767225600.0", "99999999999", // in seconds
		"253402300800000", "-62135596800000", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e21", "1e1000000",
	} {
		got := at(42)
		double.Equal(t, text+" is refused", true, got.UnmarshalJSON([]byte(text)) != nil && got == at(42))
	}
}

// payloadTypes are the types of the files of testdata.
var payloadTypes = map[string]reflect.Type{
	"breeding_*":      reflect.TypeFor[[]horseracing.BreedingListing](),
	"horse.json":      reflect.TypeFor[horseracing.Horse](),
	"horse_missions*": reflect.TypeFor[horseracing.HorseMissions](),
	"horses_*":        reflect.TypeFor[[]horseracing.Horse](),
	"missions*":       reflect.TypeFor[horseracing.MissionCatalogue](),
	"race*":           reflect.TypeFor[[]horseracing.Race](),
	"register.json":   reflect.TypeFor[json.RawMessage](),
	"tournament.json": reflect.TypeFor[horseracing.Tournament](),
	"tournament_c*":   reflect.TypeFor[horseracing.Tournament](),
	"tournament_a*":   reflect.TypeFor[[]horseracing.Tournament](),
	"tournaments_*":   reflect.TypeFor[[]horseracing.Tournament](),
}

// Users store what they read, with whichever encoder they use: every pair of
// decoder and encoder gives back what was on the wire.
func TestTypesEncodeWhatTheyDecoded(t *testing.T) {
	all, _ := filepath.Glob("testdata/*.json")
	for pattern, kind := range payloadTypes {
		files, _ := filepath.Glob("testdata/" + pattern)
		for _, file := range files {
			all = slices.DeleteFunc(all, func(other string) bool { return other == file })
			wire := payload(t, filepath.Base(file))
			for decoder, read := range decoders {
				value := reflect.New(kind)
				double.Error(t, decoder+" of "+file, nil, "", read(wire, value.Interface()))
				for encoder, encode := range encoders {
					back, _ := encode(value.Elem().Interface()) // by value, as a user's struct holds it
					double.Equal(t, file+": "+decoder+" to "+encoder, exactJSON(t, wire), exactJSON(t, back), byNumber)
				}
			}
		}
	}
	double.Equal(t, "files without a type", []string{}, all)
}

// isAbsent are the members that the API reference leaves out, has as null, or does not always
// have: the types write none of these as zero.
var isAbsent = []string{
	"place", "hippodrome", "furlongs", "furlong_min", "furlong_max", "hippodrome_type_min", "hippodrome_type_max", "place_min", "place_max",
	"lane", "total", "min_level", "max_level",
}

var byNumber = cmp.Comparer(func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })

// exactJSON parses a payload into maps, slices, strings, instants and exact numbers, so that
// 1e+21 equals the integer literal that it means. Members that are absent if they are null or
// zero are left out.
func exactJSON(t testing.TB, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	double.Error(t, string(data), nil, "", decoder.Decode(&value))
	return exact(value)
}

func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		n, _ := new(big.Rat).SetString(v.String())
		return n
	case string:
		if instant, err := time.Parse(time.RFC3339, v); err == nil {
			return instant
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for member := range v {
			v[member] = exact(v[member])
			if n, _ := v[member].(*big.Rat); slices.Contains(isAbsent, member) && (v[member] == nil || n != nil && n.Sign() == 0) {
				delete(v, member)
			}
		}
	}
	return value
}
