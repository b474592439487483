package horseracing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// The decoder is the code of the standard library's encoding/json/v2: strict about
// case, duplicate members, depth and what follows a value. Invalid UTF-8, in a name
// that a player chose, is decoded as U+FFFD.
var lenientUTF8 = jsontext.AllowInvalidUTF8(true)

// anySyntax are the options for JSON of any shape.
var anySyntax = json.JoinOptions(lenientUTF8, jsontext.AllowDuplicateNames(true))

func unmarshal(data []byte, out any) error { return json.Unmarshal(data, out, lenientUTF8) }

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

// unmarshalMember decodes a member for a type that decodes itself.
func unmarshalMember(name string, data []byte, out any) error {
	if err := (operation{}).read(data, out, lenientUTF8); err != nil {
		return fmt.Errorf("%s%s: %w", name, err.Field, err.Err)
	}
	return nil
}

// documentedList is a *list of any type.
type documentedList interface {
	decode(op operation, response *transport.Call) error
}

// decode reads the body of a successful response into a pointer, by the rules of
// the operation: the whole body is one JSON value of the documented shape.
func (op operation) decode(response *transport.Call, out any) error {
	body := response.Body
	switch {
	case len(trimSpace(body)) == 0:
		return op.undecodable("", 0, errors.New("it is empty"))
	case op.custom: // the value is the caller's: a body that is not JSON leaves it unchanged
		if err := op.read(body, new(jsontext.Value), anySyntax); err != nil {
			return err
		}
	case hasTooManyObjects(body):
		return op.undecodable("", 0, fmt.Errorf("too many objects for a documented response of %d bytes", len(body)))
	case reflect.TypeOf(out).Elem().Kind() == reflect.Struct:
		if l, ok := out.(documentedList); ok {
			return l.decode(op, response)
		}
		return op.decodeObject(body, out)
	}
	if err := op.read(body, out, lenientUTF8); err != nil {
		return err
	}
	return nil
}

func (op operation) decodeObject(body []byte, out any) error {
	if err := op.read(body, out, tolerant); err != nil {
		return err
	}
	value := reflect.ValueOf(out).Elem()
	rest := reflect.New(value.Type()).Elem()
	rest.Set(value)
	if name := rest.FieldByName("Name"); name.IsValid() && bytes.Contains(body, []byte(`"message"`)) {
		name.SetZero() // error objects have a name and a message
	}
	if rest.IsZero() {
		return op.undecodable("", 0, errors.New("the object has none of the documented members"))
	}
	return nil
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
	body = trimSpace(body)
	inside, isArray := bytes.CutPrefix(body, []byte("["))
	return string(body) == "null" || isArray && string(trimSpace(inside)) == "]"
}

func (op operation) undecodable(field string, offset int64, err error) *DecodeError {
	return &DecodeError{Method: op.method, Route: op.route, ID: op.idText(), Field: field, Offset: offset, Err: err}
}

// shapes names the kinds of JSON values by the characters that they begin with.
var shapes = map[jsontext.Kind]string{'[': "an array", '{': "an object", '"': "a string", '0': "a number", 'n': "null", 't': "a boolean", 'f': "a boolean"}

// read decodes data. Its errors name the operation and the position.
func (op operation) read(data []byte, out any, how json.Options) *DecodeError {
	err := json.Unmarshal(data, out, how)
	if err == nil {
		return nil
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return op.undecodable(string(syntactic.JSONPointer), syntactic.ByteOffset, fmt.Errorf("not valid JSON: %w", syntactic.Err))
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return op.undecodable("", 0, err)
	}
	what := cmp.Or(shapes[semantic.JSONKind], "the value")
	if n := len(semantic.JSONValue); semantic.JSONKind == '0' && 0 < n && n <= 50 { // whole or not at all: a part of it could be a part of a key
		what = "the number " + string(semantic.JSONValue)
	}
	fits := strings.ReplaceAll(strings.TrimLeft(fmt.Sprint(semantic.GoType), "*"), "horseracing.", "")
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
	json.UnmarshalFunc(readInteger[int]), json.UnmarshalFunc(readInteger[TierID]),
	json.UnmarshalFunc(readInteger[HorseNumber]), json.UnmarshalFunc(readInteger[RaceID]),
	json.UnmarshalFunc(readOptionalTime),
)))

// readInteger reads an integer in any notation of a number, and null as zero.
func readInteger[T ~int | ~int64](value []byte, n *T) error {
	var b BigInt
	if value[0] == '"' || b.UnmarshalJSON(value) != nil || b.big != nil || int64(T(b.small)) != b.small {
		text := jsontext.Value(value)
		return &json.SemanticError{GoType: reflect.TypeFor[T](), JSONKind: text.Kind(), JSONValue: text.Clone(), Err: strconv.ErrRange}
	}
	*n = T(b.small)
	return nil
}

// readOptionalTime reads null and "" as none, and a number as milliseconds since
// the epoch.
func readOptionalTime(value []byte, t **time.Time) error {
	var read Timestamp
	var err error
	switch {
	case string(value) == `""`:
	case value[0] == '"':
		err = read.Time.UnmarshalJSON(value)
	default:
		err = read.UnmarshalJSON(value)
	}
	if *t = nil; !read.IsZero() {
		*t = &read.Time
	}
	return err
}

// partOf returns what can be read of the members that identify an entry and determine
// its position, and of a race's participants. The others stay zero.
func partOf[T any](entry []byte) (part T) {
	d := jsontext.NewDecoder(bytes.NewBuffer(entry), anySyntax)
	if start, _ := d.ReadToken(); start.Kind() != '{' {
		return part
	}
	for d.PeekKind() == '"' {
		token, _ := d.ReadToken()
		name := token.String()
		value, _ := d.ReadValue()
		switch name {
		case "main_race_id", "_id", "number", "start_time", "tier", "participants":
			alone := fmt.Appendf(nil, `{"%s":%s}`, name, value)
			if json.Unmarshal(alone, new(T), tolerant) == nil { // else a part of the member would remain
				_ = json.Unmarshal(alone, &part, tolerant)
			}
		}
	}
	return part
}
