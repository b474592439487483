package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/drift"
	"github.com/horseracing-go/horseracing/internal/redact"
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
	if err := read(data, out, lenientUTF8); err != nil {
		return fmt.Errorf("%s%s: %w", name, err.field, err.err)
	}
	return nil
}

// decoder decodes the body of a successful response.
type decoder func(*transport.Record) error

// decodeAny returns a decoder into a value of the caller's, which a body that is not
// JSON leaves unchanged.
func decodeAny(out any) decoder {
	return func(r *transport.Record) error {
		err := readBody(r.Body, new(jsontext.Value), anySyntax)
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
func decodeObject(out any) decoder {
	return func(r *transport.Record) error {
		err := readDocumented(r.Body, out, tolerant)
		if err == nil && !hasMembers(r.Body, out) {
			err = &readError{err: errors.New("the object has none of the documented members")}
		}
		if err != nil {
			return newDecodeError(r, err)
		}
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

// readDocumented decodes the body of an operation whose response is documented.
func readDocumented(body []byte, out any, how json.Options) *readError {
	if isTooDense(body) {
		return errTooDense(len(body))
	}
	return readBody(body, out, how)
}

// readBody decodes a body, which is not empty.
func readBody(body []byte, out any, how json.Options) *readError {
	if len(trimSpace(body)) == 0 {
		return &readError{err: errors.New("it is empty")}
	}
	return read(body, out, how)
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

func errTooDense(length int) *readError {
	return &readError{err: fmt.Errorf("too many values for a documented response of %d bytes", length)}
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
	field  string // a JSON pointer, or empty for the whole
	offset int64
	err    error
}

// newDecodeError returns the error of a response as a whole.
func newDecodeError(r *transport.Record, e *readError) *DecodeError {
	return &DecodeError{Method: r.Method, Route: r.Route, ID: r.ID, Field: r.Keys.Text(e.field), Offset: e.offset, Err: r.Keys.Error(e.err)}
}

// newEntryError returns the error of one entry of a list, by its index and its JSON,
// which begins at an offset of the body. The position in e is within the entry.
func newEntryError(r *transport.Record, index int, id string, entry []byte, offset int64, e *readError) *DecodeError {
	err := newDecodeError(r, &readError{"/" + strconv.Itoa(index) + e.field, offset + e.offset, e.err})
	err.ID, err.entry = r.Keys.Text(id), true
	if raw := jsontext.Value(r.Keys.Text(string(entry))); len(raw) <= maxErrorBody && raw.IsValid() {
		err.Raw = []byte(raw)
	}
	return err
}

// shapes names the kinds of JSON values by the characters that they begin with.
var shapes = map[jsontext.Kind]string{'[': "an array", '{': "an object", '"': "a string", '0': "a number", 'n': "null", 't': "a boolean", 'f': "a boolean"}

// read decodes data.
func read(data []byte, out any, how json.Options) *readError {
	err := json.Unmarshal(data, out, how)
	if err == nil {
		return nil
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &readError{string(syntactic.JSONPointer), syntactic.ByteOffset, fmt.Errorf("not valid JSON: %w", syntactic.Err)}
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
	return &readError{string(semantic.JSONPointer), semantic.ByteOffset, cause}
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

// DriftKind is the kind of a [Drift].
type DriftKind string

// The kinds of drift.
const (
	DriftUnknownField DriftKind = "unknown_field" // the service sends a member that the types do not declare
	DriftMissingField DriftKind = "missing_field" // the service does not send a member that is documented
)

// Drift is a difference between the members that the service sends and those that the
// types of this package declare: the service has changed, or the API reference is
// incomplete. It does not make the call fail.
type Drift struct {
	Route string // the path with its placeholders: /api/v1/races/open
	Path  string // the member's path: "[].info.weather" in an array of races, "info.weather" in a single race
	Kind  DriftKind
}

// documented holds what the API reference documents of members beyond their names.
// Only races differ from listing to listing.
var documented = drift.Rules{
	Routes: map[string][]string{
		"Race._id":              {"/open", "/{raceId}"},
		"Race.type":             {"/open", "/{raceId}", "/v2/"},
		"Race.min_level":        {"/open", "/{raceId}", "/v2/"},
		"Race.max_level":        {"/open", "/{raceId}", "/v2/"},
		"Race.final_order":      {"/results"},
		"Race.winners":          {"/results"},
		"RaceParticipant.total": {"/results"},
		"RaceParticipant.lane":  {"/results"},
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
// decoded.
func (d drifts) report(ctx context.Context, op operation, record *transport.Record, t reflect.Type) {
	if d.handler == nil {
		return
	}
	r := drift.Response{Route: op.route, Undocumented: op.objectOrArray, Type: t, Body: record.Body}
	for _, found := range d.check.Compare(r) {
		kind := DriftUnknownField
		if found.Missing {
			kind = DriftMissingField
		}
		path := clip(record.Keys.Text(redact.Visible(found.Path)), 200)
		d.handler(ctx, Drift{Route: op.route, Path: path, Kind: kind})
	}
}
