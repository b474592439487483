package horseracing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
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

// decoder decodes the body of a successful response.
type decoder func(*transport.Record) error

// decodeAny returns a decoder into a value of the caller's, which a body that is not
// JSON leaves unchanged.
func decodeAny(out any) decoder {
	return func(r *transport.Record) error {
		if len(r.Body) == 0 && r.Method != http.MethodGet {
			return nil
		}
		err := read(r.Body, new(jsontext.Value), anySyntax)
		if err == nil {
			err = read(r.Body, out, lenientUTF8)
		}
		if err != nil {
			return newDecodeError(r, err)
		}
		return nil
	}
}

// decodeObject returns a decoder into a struct with documented members.
func decodeObject(out any, members *memberReader) decoder {
	return func(r *transport.Record) error {
		if err := members.read(r.Body, out); err != nil {
			return newDecodeError(r, err)
		}
		return nil
	}
}

// trimSpace drops the white space of JSON, and no other, from both ends.
func trimSpace(body []byte) []byte { return bytes.Trim(body, " \t\r\n") }

// isNothing reports whether a body is null or an empty array.
func isNothing(body []byte) bool {
	body = trimSpace(body)
	inside, isArray := bytes.CutPrefix(body, []byte("["))
	return string(body) == "null" || isArray && string(trimSpace(inside)) == "]"
}

// readError is why JSON cannot be decoded.
type readError struct {
	field string // a JSON pointer, or empty for the whole
	err   error
}

// newDecodeError returns the error of a response as a whole.
func newDecodeError(r *transport.Record, e *readError) *DecodeError {
	return &DecodeError{Method: r.Method, Route: r.Route, ID: r.ID, Field: r.Keys.Text(e.field), Err: r.Keys.Error(e.err)}
}

// newEntryError returns the error of one entry of a list, by its index and its JSON.
func newEntryError(r *transport.Record, index int, id string, entry []byte, e *readError) *DecodeError {
	err := newDecodeError(r, &readError{"/" + strconv.Itoa(index) + e.field, e.err})
	err.ID, err.entry = r.Keys.Text(id), true
	if raw := jsontext.Value(r.Keys.Text(string(entry))); len(raw) <= maxErrorBody && raw.IsValid() {
		err.Raw = []byte(raw)
	}
	return err
}

// read decodes data.
func read(data []byte, out any, how json.Options) *readError {
	err := json.Unmarshal(data, out, how)
	switch {
	case err == nil:
		return nil
	case len(trimSpace(data)) == 0:
		return &readError{err: errors.New("it is empty")}
	}
	return newReadError(err)
}

// shapes names the kinds of JSON values by their first characters.
var shapes = map[jsontext.Kind]string{'[': "an array", '{': "an object", '"': "a string", '0': "a number", 'n': "null", 't': "a boolean", 'f': "a boolean"}

// newReadError returns an error of the decoder in the words of this package.
func newReadError(err error) *readError {
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &readError{string(syntactic.JSONPointer), fmt.Errorf("not valid JSON: %w", syntactic.Err)}
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return &readError{err: err}
	}
	what := cmp.Or(shapes[semantic.JSONKind], "the value")
	fits := strings.ReplaceAll(strings.TrimLeft(fmt.Sprint(semantic.GoType), "*"), "horseracing.", "")
	cause := fmt.Errorf("%s does not fit %s", what, fits)
	if err := semantic.Err; err != nil && !errors.Is(err, strconv.ErrSyntax) && !errors.Is(err, strconv.ErrRange) {
		cause = fmt.Errorf("%w: %w", cause, err)
	}
	return &readError{string(semantic.JSONPointer), cause}
}

// decisive are the members that programs decide by, besides ids.
var decisive = regexp.MustCompile(`^(|/(start_time|registration_deadline|entry_fee|price|participants(/\d+)?|level|min_level|max_level|places|breeding_cooldown|final_order|winners))$`)

// memberReader decodes objects. One that cannot be decoded as a whole is decoded member by
// member: a member that does not fit its type stays zero, and is an error only if programs
// decide by it.
type memberReader struct {
	how    json.Options // of the whole: if drift is wanted, an unknown member does not fit
	prefix string       // of the paths in drift
	drift  []Drift      // what was found, without its route
	err    *readError   // the first error of the object
	odd    *readError   // the first member of another type that programs do not decide by
}

var errEmpty = &readError{err: errors.New("it is null or has none of the documented members")}

// read decodes an object. With an error, out has what could be read.
func (m *memberReader) read(object []byte, out any) *readError {
	value := reflect.ValueOf(out).Elem()
	m.err, m.odd = nil, nil
	if json.Unmarshal(object, out, m.how) != nil {
		value.SetZero()
		m.err = read(object, new(jsontext.Value), lenientUTF8) // a duplicate member, say
		m.value(object, value, "")
	}
	if m.err == nil && value.IsZero() {
		return cmp.Or(m.odd, errEmpty)
	}
	return m.err
}

// value decodes the value at a JSON pointer of the object.
func (m *memberReader) value(text jsontext.Value, out reflect.Value, pointer string) {
	switch kind := text.Kind(); {
	case kind == jsontext.KindBeginObject && hasFields(out.Type()):
		var members map[string]jsontext.Value
		_ = json.Unmarshal(text, &members, anySyntax) // it is an object
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if field, ok := fieldOf(out, name); ok {
				m.value(members[name], field, pointer+"/"+name)
			} else {
				m.note(DriftUnknownField, pointer+"/"+name)
			}
		}
	case kind == jsontext.KindBeginArray && out.Kind() == reflect.Slice && hasFields(out.Type().Elem()):
		var elements []jsontext.Value
		_ = json.Unmarshal(text, &elements, anySyntax) // it is an array
		out.Set(reflect.MakeSlice(out.Type(), len(elements), len(elements)))
		for i, element := range elements {
			m.value(element, out.Index(i), pointer+"/"+strconv.Itoa(i))
		}
	default:
		m.leaf(text, out, pointer)
	}
}

// leaf decodes a value as a whole.
func (m *memberReader) leaf(text jsontext.Value, out reflect.Value, pointer string) {
	err := json.Unmarshal(text, out.Addr().Interface(), tolerant)
	if err == nil {
		return
	}
	out.SetZero()
	problem := newReadError(err)
	problem.field = pointer + problem.field
	if _, isID := out.Interface().(pathID); isID || decisive.MatchString(pointer) {
		m.err = cmp.Or(m.err, problem)
	} else {
		m.odd = cmp.Or(m.odd, problem)
		m.note(DriftWrongType, pointer)
	}
}

// hasFields reports whether values of a type are objects with documented members.
func hasFields(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fieldOf returns the field of a struct for a member.
func fieldOf(object reflect.Value, member string) (reflect.Value, bool) {
	for field, value := range object.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == member && field.IsExported() {
			return value, true
		}
	}
	return reflect.Value{}, false
}

// tolerant are the options for a single value that did not fit. They accept values with
// one obvious meaning: 12.0 for an integer, and "" for no cooldown.
var tolerant = json.JoinOptions(lenientUTF8, json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFunc(readInteger[int]), json.UnmarshalFunc(readInteger[TierID]),
	json.UnmarshalFunc(readInteger[HorseNumber]), json.UnmarshalFunc(readInteger[RaceID]),
	json.UnmarshalFunc(readOptionalTime),
)))

// readInteger reads an integer in any notation of a number, and null as zero.
func readInteger[T ~int | ~int64](value []byte, n *T) error {
	i, isInteger := parseInt64(value)
	if !isInteger && string(value) != "null" || int64(T(i)) != i {
		text := jsontext.Value(value)
		return &json.SemanticError{GoType: reflect.TypeFor[T](), JSONKind: text.Kind(), JSONValue: text.Clone(), Err: strconv.ErrRange}
	}
	*n = T(i)
	return nil
}

// readOptionalTime reads null and "" as none.
func readOptionalTime(value []byte, t **time.Time) error {
	*t = nil
	if string(value) == "null" || string(value) == `""` {
		return nil
	}
	*t = new(time.Time)
	return (*t).UnmarshalJSON(value)
}
