package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/drift"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// DriftKind is the kind of a [Drift].
type DriftKind string

// The kinds of drift.
const (
	DriftUnknownField DriftKind = "unknown_field" // the service sends a member that the types do not declare
	DriftMissingField DriftKind = "missing_field" // the service does not send a member that is documented
	DriftWrongType    DriftKind = "wrong_type"    // the service sends a member with another type than the documented one; it stays zero
)

// Drift is a difference between the members that the service sends and those that the
// types of this package declare: the service has changed, or the API reference is
// incomplete. It does not make the call fail. A member with another type makes its entry
// unreadable if programs decide by it: an id, or the entry's own start, fee, price, deadline,
// participants, levels, places, cooldown, final order or winners.
type Drift struct {
	Route string // the path with its placeholders: /api/v1/races/open
	Path  string // the member's path: "[].info.weather" in an array of races, "info.weather" in a single race
	Kind  DriftKind
}

// documented holds what the API reference documents of members beyond their names.
// Only races differ from listing to listing.
var documented = drift.Rules{
	Routes: map[string][]string{
		"Race._id":              {routeOpenRaces, routeRace},
		"Race.type":             {routeOpenRaces, routeRace, routeResults},
		"Race.min_level":        {routeOpenRaces, routeRace, routeResults},
		"Race.max_level":        {routeOpenRaces, routeRace, routeResults},
		"Race.final_order":      {routeResults, routeResultsV1},
		"Race.winners":          {routeResults, routeResultsV1},
		"RaceParticipant.total": {routeResults, routeResultsV1},
		"RaceParticipant.lane":  {routeResults, routeResultsV1},
	},
	Rename: documentedPrize,
}

// documentedPrize returns the documented name of a member that is named for the game's
// currency, or any other name itself.
func documentedPrize(name string) string { return prizeName.ReplaceAllString(name, "${1}token") }

var prizeName = regexp.MustCompile(`^(additional_(?:treasury_)?).*`)

// drifts reports the drift of one client's responses.
type drifts struct {
	handler func(context.Context, Drift) // may be nil
	check   *drift.Check
}

// report compares a response with the type of the object or the entries that were
// decoded. The members at the paths in wrong did not fit their types.
func (d drifts) report(ctx context.Context, op operation, record *transport.Record, t reflect.Type, wrong []string) {
	if d.handler == nil {
		return
	}
	r := drift.Response{Route: op.route, Undocumented: op.objectOrArray, Type: t, Body: record.Body, Wrong: wrong}
	for _, found := range d.check.Compare(r) {
		path := clip(record.Keys.Text(redact.Visible(found.Path)), 200)
		d.handler(ctx, Drift{Route: op.route, Path: path, Kind: DriftKind(found.Kind)})
	}
}

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

// decodeObject returns a decoder into a struct with documented members. It adds the
// paths of members that do not fit their types to wrong.
func decodeObject(out any, wrong *[]string) decoder {
	return func(r *transport.Record) error {
		if isTooDense(r.Body) {
			return newDecodeError(r, errTooDense(r.Body))
		}
		var l lenient
		err := l.read(r.Body, out)
		if err == nil && !hasMembers(r.Body, out) {
			err = &readError{err: errors.New("the object has none of the documented members")}
		}
		if err != nil {
			return newDecodeError(r, err)
		}
		*wrong = l.wrong
		return nil
	}
}

// hasMembers reports whether a struct that was decoded has a documented member.
func hasMembers(body []byte, out any) bool {
	value := reflect.ValueOf(out).Elem()
	rest := reflect.New(value.Type()).Elem()
	rest.Set(value)
	if name := rest.FieldByName("Name"); name.IsValid() && bytes.Contains(body, []byte(`"message"`)) {
		name.SetZero() // error objects have a name and a message
	}
	return !rest.IsZero()
}

// trimSpace drops the white space of JSON, and no other, from both ends.
func trimSpace(body []byte) []byte { return bytes.Trim(body, " \t\r\n") }

// isNothing reports whether a body is null or an empty array.
func isNothing(body []byte) bool {
	body = trimSpace(body)
	inside, isArray := bytes.CutPrefix(body, []byte("["))
	return string(body) == "null" || isArray && string(trimSpace(inside)) == "]"
}

// Tiny values take many times their size in memory: an entry with one member hundreds of
// bytes, {} in an array within it a hundred, 0 in an array of numbers 32. Documented
// ones are larger, on average.
const (
	manyValues = 10_000 // fewer take little, whatever their size
	minEntry   = 64     // bytes
	minObject  = 16
	minValue   = 4
)

// isTooDense reports whether a body has more values than a documented one of its length.
func isTooDense(body []byte) bool {
	most := func(size int) int { return manyValues + len(body)/size }
	return len(body) > manyValues &&
		(bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("null")) > most(minObject) || bytes.Count(body, []byte(",")) > most(minValue))
}

func errTooDense(body []byte) *readError {
	return &readError{err: fmt.Errorf("too many values for a documented response of %d bytes", len(body))}
}

// readError is why JSON cannot be decoded.
type readError struct {
	field  string // a JSON pointer, or empty for the whole
	offset int64
	err    error
}

// newDecodeError returns the error of a response as a whole.
func newDecodeError(r *transport.Record, e *readError) *DecodeError {
	return &DecodeError{Method: r.Method, Route: r.Route, ID: r.ID, Field: r.Keys.Text(e.field), Offset: e.offset, Err: r.Keys.Error(e.err)}
}

// newEntryError returns the error of one entry of a list, by its index and its JSON,
// which starts at an offset of the body. The position in e is within the entry.
func newEntryError(r *transport.Record, index int, id string, entry []byte, offset int64, e *readError) *DecodeError {
	err := newDecodeError(r, e.within("/"+strconv.Itoa(index), offset))
	err.ID, err.entry = r.Keys.Text(id), true
	if raw := jsontext.Value(r.Keys.Text(string(entry))); len(raw) <= maxErrorBody && raw.IsValid() {
		err.Raw = []byte(raw)
	}
	return err
}

// within returns the error of a value that contains the one of e, by the position of the
// latter.
func (e *readError) within(field string, offset int64) *readError {
	return &readError{field: field + e.field, offset: offset + e.offset, err: e.err}
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
		return &readError{field: string(syntactic.JSONPointer), offset: syntactic.ByteOffset, err: fmt.Errorf("not valid JSON: %w", syntactic.Err)}
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return &readError{err: err}
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
	return &readError{field: string(semantic.JSONPointer), offset: semantic.ByteOffset, err: cause}
}

// lenient decodes objects member by member if they cannot be decoded as a whole. A
// member that does not fit its type stays zero.
type lenient struct {
	byMember json.Options
	wrong    []string   // paths of such members, "info.turf", each once
	err      *readError // the first of them in the current object that programs decide by, or invalid JSON
}

// read decodes an object. With an error, out has what could be read.
func (l *lenient) read(object []byte, out any) *readError {
	whole := json.Unmarshal(object, out, lenientUTF8)
	if whole == nil {
		return nil
	}
	if l.byMember == nil {
		l.byMember = json.JoinOptions(anySyntax, json.WithUnmarshalers(json.UnmarshalFromFunc(l.value)))
	}
	value := reflect.ValueOf(out).Elem()
	value.SetZero()
	l.err = read(object, new(jsontext.Value), lenientUTF8)
	_ = json.Unmarshal(object, out, l.byMember)
	if l.err == nil && value.IsZero() {
		return newReadError(whole)
	}
	return l.err
}

// decisive are the members that programs decide by, besides ids.
var decisive = regexp.MustCompile(`^(|/(start_time|registration_deadline|entry_fee|price|participants(/\d+)?|level|min_level|max_level|places|breeding_cooldown|final_order|winners))$`)

var indexes = regexp.MustCompile(`/\d+`)

// value decodes one value of the object. It leaves the members of objects, and the
// objects of arrays, to further calls.
func (l *lenient) value(d *jsontext.Decoder, out any) error {
	value := reflect.ValueOf(out).Elem()
	if d.PeekKind() == containerOf(value.Type()) {
		return errors.ErrUnsupported // the decoder continues within it
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	if err = json.Unmarshal(text, out, tolerant); err == nil {
		return nil
	}
	value.SetZero()
	field := string(d.StackPointer())
	if _, isID := value.Interface().(pathID); isID || decisive.MatchString(field) {
		if l.err == nil {
			l.err = newReadError(err).within(field, d.InputOffset()-int64(len(text)))
		}
		return nil
	}
	path := strings.ReplaceAll(strings.TrimPrefix(indexes.ReplaceAllString(field, "[]"), "/"), "/", ".")
	if !slices.Contains(l.wrong, path) {
		l.wrong = append(l.wrong, path)
	}
	return nil
}

// containerOf returns the kind of the JSON values whose parts are decoded on their own:
// objects for a struct, arrays for a slice of structs, or zero for any other type.
func containerOf(t reflect.Type) jsontext.Kind {
	switch {
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return jsontext.KindBeginObject
	case t.Kind() == reflect.Slice && containerOf(t.Elem()) != 0:
		return jsontext.KindBeginArray
	}
	return 0
}

// tolerant are the options for a single value that did not fit. They accept values with
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

// unmarshalMember decodes a member for a type that decodes itself.
func unmarshalMember(name string, data []byte, out any) error {
	if err := read(data, out, lenientUTF8); err != nil {
		return fmt.Errorf("%s%s: %w", name, err.field, err.err)
	}
	return nil
}
