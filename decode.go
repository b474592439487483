package horseracing

import (
	"bytes"
	"cmp"
	"context"
	standard "encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

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

// likeStandard are the options with which types of the caller are decoded, as encoding/json does:
// names match without regard to case, and a json.Number takes a number as it is.
var likeStandard = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *standard.Number) error {
		if d.PeekKind() != jsontext.KindNumber {
			return errors.ErrUnsupported
		}
		text, err := d.ReadValue()
		*n = standard.Number(text)
		return err
	})))

// callersValue is the value of a caller of Do.
type callersValue struct{ out any }

// decode decodes a response into the value, which is unchanged if the body is not JSON.
func (v callersValue) decode(r *response) error {
	if len(r.body) == 0 && r.op.method != http.MethodGet {
		return nil
	}
	err := read(r.body, new(jsontext.Value), anySyntax)
	if err == nil {
		err = read(r.body, v.out, likeStandard)
	}
	if err != nil {
		return r.decodeError(err)
	}
	return nil
}

// space is the white space of JSON.
const space = " \t\r\n"

// readError is why JSON cannot be decoded.
type readError struct {
	field string // a JSON pointer, or empty for the whole
	err   error
}

// decodeError returns the error of a response as a whole.
func (r *response) decodeError(e *readError) *DecodeError {
	return &DecodeError{Method: r.info.Method, Route: r.info.Route, ID: r.info.ID, Field: r.keys.Visible(e.field), Err: r.keys.Error(e.err)}
}

// entryError returns the error of one entry of a list, by its index and its JSON.
func (r *response) entryError(index int, id string, entry []byte, e *readError) *DecodeError {
	err := r.decodeError(&readError{"/" + strconv.Itoa(index) + e.field, e.err})
	err.ID, err.entry = r.keys.Text(id), true
	if raw := jsontext.Value(r.keys.Text(string(entry))); len(raw) <= maxErrorBody && raw.IsValid() {
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
	case len(bytes.Trim(data, space)) == 0:
		return &readError{err: transport.ErrEmpty}
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

// memberReader decodes the objects of one response. One that cannot be decoded as a whole is
// decoded member by member: a member of another type stays zero, and is an error only if its
// field has the tag decode:"strict", because somebody decides by it.
type memberReader struct {
	decoding json.Options // of an object as a whole: if drift is wanted, an unknown member does not fit
	prefix   string       // of the paths in drift
	drift    []Drift      // what was found, without its route; each path is a JSON pointer yet
	err      *readError   // the first error of the object
}

var errEmpty = &readError{err: errors.New("it is null or has no documented member that can be read")}

// read decodes an object. With an error, out has what could be read.
func (m *memberReader) read(object []byte, out any) *readError {
	value := reflect.ValueOf(out).Elem()
	m.err = nil
	if m.readWhole(object, out) != nil {
		value.SetZero()
		m.err = read(object, new(jsontext.Value), lenientUTF8) // a duplicate member, say
		m.value(object, value, "", true)
	}
	if m.err == nil && value.IsZero() {
		return errEmpty
	}
	return m.err
}

// readWhole decodes an object that has no surprises, as most.
func (m *memberReader) readWhole(object []byte, out any) error {
	if race, ok := out.(*Race); ok {
		race.reserve()
		defer race.release()
	}
	return json.Unmarshal(object, out, m.decoding)
}

// value decodes the value at a JSON pointer of the object.
func (m *memberReader) value(text jsontext.Value, out reflect.Value, pointer string, isStrict bool) {
	switch kind := text.Kind(); {
	case kind == jsontext.KindBeginObject && hasFields(out.Type()):
		var members map[string]jsontext.Value
		_ = json.Unmarshal(text, &members, anySyntax) // it is an object
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if field, ok := fieldOf(out.Type(), name); ok {
				m.value(members[name], out.FieldByIndex(field.Index), pointer+"/"+name, field.Tag.Get("decode") == "strict")
			} else {
				m.note(DriftUnknownField, string(jsontext.Pointer(pointer).AppendToken(name)))
			}
		}
	case kind == jsontext.KindBeginArray && out.Kind() == reflect.Slice && hasFields(out.Type().Elem()):
		var elements []jsontext.Value
		_ = json.Unmarshal(text, &elements, anySyntax) // it is an array
		out.Set(reflect.MakeSlice(out.Type(), len(elements), len(elements)))
		for i, element := range elements {
			m.value(element, out.Index(i), pointer+"/"+strconv.Itoa(i), isStrict)
		}
	default:
		m.leaf(text, out, pointer, isStrict)
	}
}

// leaf decodes a value as a whole.
func (m *memberReader) leaf(text jsontext.Value, out reflect.Value, pointer string, isStrict bool) {
	err := json.Unmarshal(text, out.Addr().Interface(), tolerant)
	switch {
	case err == nil:
	case isStrict:
		problem := newReadError(err)
		problem.field = pointer + problem.field
		m.err = cmp.Or(m.err, problem)
		out.SetZero()
	default:
		m.note(DriftWrongType, pointer)
		out.SetZero()
	}
}

// hasFields reports whether values of a type are objects with documented members.
func hasFields(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fieldOf returns the field of a struct for a member, if there is one.
func fieldOf(t reflect.Type, member string) (reflect.StructField, bool) {
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == member && field.IsExported() {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

var instants = json.UnmarshalFromFunc(readInstant)

// readInstant reads an instant in ISO 8601, which is in UTC if it has no zone, or in milliseconds.
func readInstant(d *jsontext.Decoder, t *time.Time) error {
	text, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case text.Kind() == jsontext.KindNumber:
		var stamp Timestamp
		err = stamp.UnmarshalJSON(text)
		*t = stamp.Time
		return err
	}
	if *t, err = time.Parse(`"2006-01-02T15:04:05"`, string(text)); err != nil { // which accepts fractions, too
		err = json.Unmarshal(text, t)
	}
	return err
}

// tolerant are the options for a single value that did not fit. They accept values with
// one obvious meaning: 12.0 for an integer, "" for a text that may be null, and instants in
// the forms that readInstant names.
var tolerant = json.JoinOptions(lenientUTF8, json.WithUnmarshalers(json.JoinUnmarshalers(instants, json.UnmarshalFromFunc(func(d *jsontext.Decoder, out any) error {
	value, kind := reflect.ValueOf(out).Elem(), d.PeekKind()
	isInteger, isOptional := value.CanInt() && kind == jsontext.KindNumber, value.Kind() == reflect.Pointer && kind == jsontext.KindString
	if !isInteger && !isOptional {
		return errors.ErrUnsupported
	}
	text, err := d.ReadValue()
	if n, ok := parseInt64(text); isInteger && ok && !value.OverflowInt(n) {
		value.SetInt(n)
	} else if isOptional && string(text) == `""` {
		value.SetZero()
	} else if err == nil {
		err = json.Unmarshal(text, out, lenientUTF8, json.WithUnmarshalers(instants))
	}
	return err
}))))

// DriftKind is the kind of a [Drift].
type DriftKind string

// The kinds of drift.
const (
	DriftUnknownField DriftKind = "unknown_field" // the service sends a member that the types do not declare
	DriftWrongType    DriftKind = "wrong_type"    // the service sends a member with another type than the documented one; it stays zero
)

// Drift is a member that the types of this package lack, or one whose value has another type
// than documented: the service has changed, or the API reference is incomplete.
//
// A Drift does not fail the call, with one exception: if the value of a field with the tag
// decode:"strict" has another type, its entry cannot be read, and the error is a
// [*DecodeError].
type Drift struct {
	Route string // the path with its placeholders: /api/v1/races/open
	Path  string // the member's path: "[].info.weather" in an array of races, "info.weather" in a single race
	Kind  DriftKind
}

// drifts reports the drift of one client's responses, each once.
type drifts struct {
	handler func(context.Context, Drift) // may be nil
	mu      sync.Mutex
	seen    map[Drift]bool
}

const (
	maxDrift     = 100  // of a response
	maxDriftSeen = 1000 // of a client: names that are data are unlimited
)

// knownMembers are the options that find unknown members.
var knownMembers = json.JoinOptions(lenientUTF8, json.RejectUnknownMembers(true))

var indexes = regexp.MustCompile(`/\d+(/|$)`)

// withDots turns a JSON pointer into the path of a Drift.
var withDots = strings.NewReplacer("/", ".", "~1", "/", "~0", "~")

// note notes the drift of the member at a JSON pointer.
func (m *memberReader) note(kind DriftKind, pointer string) {
	path := indexes.ReplaceAllString(pointer, "[]$1")
	found := Drift{Path: m.prefix + strings.TrimPrefix(path, "/"), Kind: kind}
	if len(m.drift) < maxDrift && !slices.Contains(m.drift, found) {
		m.drift = append(m.drift, found)
	}
}

// report passes what was not reported before to the handler.
func (d *drifts) report(ctx context.Context, r *response, drift []Drift) {
	for _, found := range drift {
		found.Route, found.Path = r.info.Route, clip(withDots.Replace(r.keys.Visible(found.Path)), 200)
		d.mu.Lock()
		isNew := !d.seen[found] && len(d.seen) < maxDriftSeen
		if isNew {
			d.seen[found] = true
		}
		d.mu.Unlock()
		if isNew && d.handler != nil {
			d.handler(ctx, found)
		}
	}
}
