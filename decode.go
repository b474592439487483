package horseracing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This is the only file that imports the decoder. It is the code of the standard
// library's encoding/json/v2: strict about case, duplicate members, depth and what
// follows a value. Invalid UTF-8, in a name that a player chose, is let through as
// U+FFFD.
var lenientUTF8 = jsontext.AllowInvalidUTF8(true)

// anySyntax are the options for JSON of any shape.
var anySyntax = json.JoinOptions(lenientUTF8, jsontext.AllowDuplicateNames(true))

func unmarshal(data []byte, out any) error { return json.Unmarshal(data, out, lenientUTF8) }

// unmarshalMember decodes a member for a type that decodes itself.
func unmarshalMember(name string, data []byte, out any) error {
	if err := (operation{}).read(data, out, lenientUTF8); err != nil {
		return fmt.Errorf("%s%s: %w", name, err.Field, err.Err)
	}
	return nil
}

// encodeBody encodes a request body, with each UserKey in the clear, and returns the
// user keys in it.
func encodeBody(body any) (encoded []byte, keys []string, err error) {
	reveal := json.MarshalFunc(func(k UserKey) ([]byte, error) {
		keys = append(keys, string(k))
		return json.Marshal(string(k))
	})
	encoded, err = json.Marshal(body, json.WithMarshalers(reveal))
	var untyped struct {
		UserKey string `json:"user_key"`
	}
	if bytes.Contains(encoded, []byte(`"user_key"`)) && unmarshal(encoded, &untyped) == nil {
		keys = append(keys, untyped.UserKey) // such as from a map of strings
	}
	return encoded, keys, err
}

// decode reads the body of a successful response into a pointer, by the rules of
// the operation: the whole body is one JSON value of the documented shape. If
// entries of a list are unreadable, the error is an *unreadableEntries and out has
// the others.
func (op operation) decode(body []byte, out any) error {
	body = trimSpace(body)
	value := reflect.ValueOf(out).Elem()
	switch {
	case len(body) == 0:
		return op.undecodable("", 0, errors.New("it is empty"))
	case op.emptyIsNotFound && isNothing(body):
		return ErrNotFound
	case op.custom: // the value is the caller's: a body that is not JSON leaves it unchanged
		if err := op.read(body, new(jsontext.Value), anySyntax); err != nil {
			return err
		}
	case hasTooManyObjects(body):
		return op.undecodable("", 0, fmt.Errorf("too many objects for a documented response of %d bytes", len(body)))
	case value.Kind() == reflect.Struct:
		return op.decodeObject(body, value)
	case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
		return op.decodeList(body, value)
	}
	if err := op.read(body, out, lenientUTF8); err != nil {
		return err
	}
	return nil
}

func (op operation) decodeObject(body []byte, value reflect.Value) error {
	if err := op.read(body, value.Addr().Interface(), tolerant); err != nil {
		return err
	}
	if isUndocumented(body, value) {
		return op.undecodable("", 0, errors.New("the object has none of the documented members"))
	}
	return nil
}

// decodeList reads a list as a whole, which is fast. If that fails it reads entry by
// entry, so that an unreadable entry does not affect the others.
func (op operation) decodeList(body []byte, values reflect.Value) error {
	isObject := op.objectOrArray && body[0] == '{' // the only entry
	if !isObject {
		if string(body) == "null" {
			return op.undecodable("", 0, errors.New("expected an array, got null"))
		}
		err := unmarshalList(body, values.Addr().Interface())
		if err == nil && !hasZero(values) {
			return nil
		}
		if body[0] != '[' {
			return op.explain(err)
		}
		values.SetZero()
	}
	elements, err := elementsOf(body)
	if err != nil {
		return op.explain(err)
	}
	unreadable := &unreadableEntries{operation: op.String(), total: len(elements)}
	offset := 0
	for i, element := range elements {
		offset += bytes.Index(body[offset:], element)
		value := reflect.New(values.Type().Elem())
		err := op.read(element, value.Interface(), tolerant)
		if err == nil && (value.Elem().IsZero() || isObject && isUndocumented(element, value.Elem())) {
			err = op.undecodable("", 0, errors.New("the entry is null or has none of the documented members"))
		}
		if err == nil {
			values.Set(reflect.Append(values, value.Elem()))
		} else {
			err.index, err.entry = i, true
			err.Offset += int64(offset)
			if !isObject {
				err.Field = "/" + strconv.Itoa(err.index) + err.Field
			}
			value.Elem().SetZero()
			readPart(element, value.Interface(), "main_race_id", "_id", "number")
			err.ID = idOf(value.Interface())
			err.Raw = []byte(element)
			unreadable.add(err)
		}
		offset += len(element)
	}
	if unreadable.count > 0 {
		return unreadable
	}
	return nil
}

// hasZero reports whether a list has an entry that is null or empty.
func hasZero(values reflect.Value) bool {
	for i := range values.Len() {
		if values.Index(i).IsZero() {
			return true
		}
	}
	return false
}

// isUndocumented reports whether an object has none of the documented members. A
// name beside a message does not count: error objects have both.
func isUndocumented(body []byte, value reflect.Value) bool {
	if value.IsZero() {
		return true
	}
	name := value.FieldByName("Name")
	if !name.IsValid() || !bytes.Contains(body, []byte(`"message"`)) {
		return false
	}
	rest := reflect.New(value.Type()).Elem()
	rest.Set(value)
	rest.FieldByName("Name").SetZero()
	return rest.IsZero()
}

// Tiny objects ({},{},{}) and nulls would take a hundred times their size in memory.
const (
	minObject   = 16 // bytes; documented objects are larger, on average
	manyObjects = 10_000
)

func hasTooManyObjects(body []byte) bool {
	if len(body) < manyObjects {
		return false
	}
	return bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("null")) > manyObjects+len(body)/minObject
}

// trimSpace drops the white space of JSON, and no other, from both ends.
func trimSpace(body []byte) []byte { return bytes.Trim(body, " \t\r\n") }

// isNothing reports whether a body is null or an empty array.
func isNothing(body []byte) bool {
	inside, isArray := bytes.CutPrefix(body, []byte("["))
	return string(body) == "null" || isArray && string(trimSpace(inside)) == "]"
}

// elementsOf returns the elements of an array. An object is its own only element.
func elementsOf(body []byte) (elements []jsontext.Value, err error) {
	if body[0] == '{' {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	return elements, json.Unmarshal(body, &elements, anySyntax)
}

func (op operation) undecodable(field string, offset int64, err error) *DecodeError {
	return &DecodeError{Method: op.method, Route: op.route, ID: op.idText(), Field: field, Offset: offset, Err: err}
}

// read decodes data.
func (op operation) read(data []byte, out any, how json.Options) *DecodeError {
	if err := json.Unmarshal(data, out, how); err != nil {
		return op.explain(err)
	}
	return nil
}

// shapes names the kinds of JSON values by the characters that they begin with.
var shapes = map[jsontext.Kind]string{'[': "an array", '{': "an object", '"': "a string", '0': "a number", 'n': "null", 't': "a boolean", 'f': "a boolean"}

// explain converts an error of the decoder into one that names the operation and the
// position.
func (op operation) explain(err error) *DecodeError {
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return op.undecodable(string(syntactic.JSONPointer), syntactic.ByteOffset, fmt.Errorf("not valid JSON: %w", syntactic.Err))
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return op.undecodable("", 0, err)
	}
	what, fits := cmp.Or(shapes[semantic.JSONKind], "the value"), "what is documented here"
	if n := len(semantic.JSONValue); semantic.JSONKind == '0' && 0 < n && n <= 50 { // whole or not at all: a part of it could be a part of a key
		what = "the number " + string(semantic.JSONValue)
	}
	if t := semantic.GoType; t != nil {
		fits = strings.ReplaceAll(strings.TrimLeft(t.String(), "*"), "horseracing.", "")
	}
	cause := fmt.Errorf("%s does not fit %s", what, fits)
	if err := semantic.Err; err != nil && !errors.Is(err, strconv.ErrSyntax) && !errors.Is(err, strconv.ErrRange) {
		cause = fmt.Errorf("%w: %w", cause, err)
	}
	return op.undecodable(string(semantic.JSONPointer), semantic.ByteOffset, cause)
}

// tolerant are the options for decoding again after a failure. They accept values with
// one obvious meaning: 12.0 for an integer, and "" or a number of milliseconds for a
// cooldown.
var tolerant = json.JoinOptions(lenientUTF8, json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(readInteger[int]), json.UnmarshalFromFunc(readInteger[TierID]),
	json.UnmarshalFromFunc(readInteger[HorseNumber]), json.UnmarshalFromFunc(readInteger[RaceID]),
	json.UnmarshalFromFunc(readOptionalTime),
)))

// readInteger reads an integer in any notation of a number, and null as zero.
func readInteger[T ~int | ~int64](d *jsontext.Decoder, n *T) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	var b BigInt
	if value[0] == '"' || b.UnmarshalJSON(value) != nil || b.big != nil || int64(T(b.small)) != b.small {
		return doesNotFit(value, strconv.ErrRange)
	}
	*n = T(b.small)
	return nil
}

// readOptionalTime reads null and "" as none, and a number as milliseconds since
// the epoch.
func readOptionalTime(d *jsontext.Decoder, t **time.Time) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	var read Timestamp
	switch {
	case string(value) == "null", string(value) == `""`:
		*t = nil
		return nil
	case value[0] == '"':
		err = read.Time.UnmarshalJSON(value)
	default:
		err = read.UnmarshalJSON(value)
	}
	if err != nil {
		return doesNotFit(value, err)
	}
	*t = &read.Time
	return nil
}

// doesNotFit is the error of a value that a type cannot hold.
func doesNotFit(value jsontext.Value, err error) error {
	return &json.SemanticError{JSONKind: value.Kind(), JSONValue: value.Clone(), Err: err}
}

// partOf reads some members of an entry that cannot be read as a whole. A member that
// is absent or of another type stays zero.
func partOf[T any](entry []byte, members ...string) *T {
	part := new(T)
	readPart(entry, part, members...)
	return part
}

// readPart is partOf for a pointer to any type.
func readPart(entry []byte, part any, members ...string) {
	d := jsontext.NewDecoder(bytes.NewReader(entry), anySyntax)
	if start, err := d.ReadToken(); err != nil || start.Kind() != '{' {
		return
	}
	for d.PeekKind() == '"' {
		token, _ := d.ReadToken()
		name := token.String()
		value, _ := d.ReadValue()
		if !slices.Contains(members, name) {
			continue
		}
		alone := fmt.Appendf(nil, `{"%s":%s}`, name, value)
		trial := reflect.New(reflect.TypeOf(part).Elem()).Interface()
		if json.Unmarshal(alone, trial, tolerant) == nil { // a failure would leave a half of it
			_ = json.Unmarshal(alone, part, tolerant)
		}
	}
}
