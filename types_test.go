package horseracing_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
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
		double.FailIf(t, !slices.Equal(keys, []horseracing.UserKey{key}), "%s reads %q", name, keys)
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
	double.Equal(t, "null", horseracing.Timestamp{}, none)
	for _, text := range []string{
		"", "1.5", "0x10", "1_0", "true", "[]", `"1767225600250"`, `"2026-01-01T00:00:00Z"`, `""`,
		"900000000", "1767225600", "1767225600.0", "99999999999", // in seconds
		"253402300800000", "-62135596800000", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e21", "1e1000000",
	} {
		got := at(42)
		double.FailIf(t, got.UnmarshalJSON([]byte(text)) == nil || got != at(42), "%s is read as %v", text, got)
	}
}

// Users store what they read, with whichever encoder they use: every pair of
// decoder and encoder gives back what was on the wire. No member of a type lacks an example.
func TestTypesEncodeWhatTheyDecoded(t *testing.T) {
	all, _ := filepath.Glob("testdata/*.json")
	fakes, _ := filepath.Glob("horseracingtest/fixtures/*.json")
	all = append(all, fakes...)
	read := map[string]bool{} // by field: a value of it was read
	for name, op := range operations() {
		kind := reflect.TypeOf(op.As).Elem()
		for _, file := range op.files() {
			all = slices.DeleteFunc(all, func(other string) bool { return other == filepath.Join("testdata", file) })
			wire := payload(t, file)
			for decoder, decode := range decoders {
				value := reflect.New(kind)
				double.Error(t, decoder+" of "+file, nil, "", decode(wire, value.Interface()))
				noteFields(value.Elem(), read)
				for encoder, encode := range encoders {
					back, _ := encode(value.Elem().Interface()) // by value, as a user's struct holds it
					double.Equal(t, name+": "+file+": "+decoder+" to "+encoder, exactJSON(t, wire), exactJSON(t, back), byNumber)
				}
			}
		}
	}
	double.Equal(t, "files without an operation", []string{}, all)
	for field, hasValue := range read {
		double.FailIf(t, !hasValue, "no response has a value of %s", field)
	}
}

// noteFields notes for each field of the structs in a value whether it has one.
func noteFields(value reflect.Value, read map[string]bool) {
	switch value.Kind() {
	case reflect.Slice:
		for i := range value.Len() {
			noteFields(value.Index(i), read)
		}
	case reflect.Struct:
		for field, at := range value.Fields() {
			if field.Tag.Get("json") != "" {
				name := value.Type().Name() + "." + field.Name
				read[name] = read[name] || !at.IsZero()
				noteFields(at, read)
			}
		}
	}
}

// Section 2 of the API reference has the members of each type, and no field has the member of
// another. A member that may be missing or null is not written as zero.
func TestFieldsAreTheMembersOfTheReference(t *testing.T) {
	reference := string(double.Must(os.ReadFile("docs/service.md")))
	types := map[string]reflect.Type{}
	for _, op := range operations() {
		eachStruct(reflect.TypeOf(op.As).Elem(), func(t reflect.Type) { types[t.Name()] = t })
	}
	undocumented := maps.Clone(types)
	for _, found := range regexp.MustCompile("(?m)^### (2\\.\\d+ .*)\n\n`(\\w+)`").FindAllStringSubmatch(reference, -1) {
		title, kind := found[1], types[found[2]]
		if kind == nil {
			t.Fatalf("section %s: no operation returns a %s", title, found[2])
		}
		eachStruct(kind, func(t reflect.Type) { delete(undocumented, t.Name()) })
		root := reflect.New(kind).Elem()
		if title == "2.3 Missions of a horse" { // whose table is that of a HorseMission
			root.FieldByName("Missions").Set(reflect.ValueOf(make([]horseracing.HorseMission, 1)))
		}
		_, section, _ := strings.Cut(reference, "### "+title+"\n")
		section, _, _ = strings.Cut(section, "\n##")
		members := map[string]bool{}
		double.EachMember(kind, "", func(path string, field reflect.StructField) {
			member := path[strings.LastIndex(path, ".")+1:]
			members[member] = true
			name, short := strings.ToLower(field.Name), strings.ReplaceAll(member, "_", "")
			double.FailIf(t, !strings.HasSuffix(short, name) && !(short == "id" && strings.HasSuffix(name, short)), "the field %s is the member %s", field.Name, member)
			double.FailIf(t, !strings.Contains(section, "`"+member+"`"), "section %s lacks %s", title, member)
		})
		zero := string(double.Must(json.Marshal(root.Interface())))
		for _, row := range regexp.MustCompile("(?m)^\\| (`.*)").FindAllStringSubmatch(section, -1) {
			cells := strings.Split(row[1], " | ")
			for _, member := range regexp.MustCompile("`(\\w+)`(\\??)").FindAllStringSubmatch(cells[0], -1) {
				double.FailIf(t, !members[member[1]], "no field for %s of section %s", member[1], title)
				isOptional := member[2] == "?" || strings.Contains(cells[1], "null") || len(cells) == 4 && cells[2] != "all"
				written := strings.Contains(zero, `"`+member[1]+`":`) && !strings.Contains(zero, `"`+member[1]+`":null`)
				double.FailIf(t, isOptional && written, "%s of section %s is written as zero", member[1], title)
				isNull := strings.Contains(zero, `"`+member[1]+`":null`)
				double.FailIf(t, isNull && !strings.Contains(cells[1], "null"), "%s of section %s is written as null", member[1], title)
			}
		}
	}
	delete(undocumented, "MissionCatalogue") // which section 4.13 describes
	double.Equal(t, "types without a section", map[string]reflect.Type{}, undocumented)
}

// eachStruct calls do with each struct with members in a type.
func eachStruct(t reflect.Type, do func(reflect.Type)) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		if field.Tag.Get("json") != "" {
			do(t)
			eachStruct(field.Type, do)
		}
	}
}

var byNumber = cmp.Comparer(func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })

// exactJSON parses a payload into maps, slices, strings, instants and exact numbers, so that
// 1e+21 equals the integer literal that it means. A member that is null or zero is left out: the
// types write it or not.
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
			if n, _ := v[member].(*big.Rat); slices.Contains([]any{nil, false, ""}, v[member]) || n != nil && n.Sign() == 0 {
				delete(v, member)
			}
		}
	}
	return value
}

func TestValuesGoThroughADatabase(t *testing.T) {
	instant := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	big, one, half := bigInt("123456789012345678901234567890"), bigInt("1"), number("0.50")
	for _, test := range []struct {
		valuer driver.Valuer
		stored driver.Value   // as it is sent
		read   []driver.Value // what reads back as the same
		into   func() sql.Scanner
	}{
		{big, big.String(), []driver.Value{[]byte(big.String())}, func() sql.Scanner { return &horseracing.BigInt{} }},
		{one, "1", []driver.Value{int64(1), "1.0"}, func() sql.Scanner { return &horseracing.BigInt{} }},
		{horseracing.BigInt{}, "0", []driver.Value{nil, int64(0)}, func() sql.Scanner { b := one; return &b }},
		{half, "0.50", []driver.Value{[]byte("0.50")}, func() sql.Scanner { return &horseracing.Number{} }},
		{horseracing.Number{}, "0", []driver.Value{nil, int64(0)}, func() sql.Scanner { n := half; return &n }},
		{horseracing.Cursor{}, "", []driver.Value{nil, []byte{}}, func() sql.Scanner { return &horseracing.Cursor{} }},
		{horseracing.NewTimestamp(instant), instant, []driver.Value{instant.Local(), instant.UnixMilli(), instant.String(), instant.Format(time.RFC3339Nano), "2026-01-02 04:04:05.006+01:00"}, func() sql.Scanner { return &horseracing.Timestamp{} }},
		{horseracing.Timestamp{}, nil, []driver.Value{time.Time{}}, func() sql.Scanner { ts := horseracing.NewTimestamp(instant); return &ts }},
	} {
		stored, err := test.valuer.Value()
		double.NoError(t, err)
		double.Equal(t, "stored", test.stored, stored)
		for _, value := range append(test.read, stored) {
			got := test.into()
			double.NoError(t, got.Scan(value))
			again, err := got.(driver.Valuer).Value()
			double.NoError(t, err)
			double.Equal(t, fmt.Sprintf("%T read from %v", got, value), stored, again)
		}
	}
	for _, test := range []struct {
		out   sql.Scanner
		value any
	}{{&horseracing.BigInt{}, 1.5}, {&horseracing.BigInt{}, "x"}, {&horseracing.Number{}, 1.0}, {&horseracing.Cursor{}, "x"}, {&horseracing.Timestamp{}, "2026-01-02 03:04:05"}, {&horseracing.Timestamp{}, 1.5}, {&horseracing.Timestamp{}, int64(1 << 60)}} {
		double.FailIf(t, test.out.Scan(test.value) == nil, "%T reads %v", test.out, test.value)
	}
}

func TestAUserKeyIsNotWrittenToADatabase(t *testing.T) {
	value, err := driver.DefaultParameterConverter.ConvertValue(horseracing.UserKey("the-user-key"))
	double.FailIf(t, err == nil || value != nil || strings.Contains(err.Error(), "the-user-key"), "%v, %v", value, err)
}
