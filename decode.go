package horseracing

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This is the only file that imports the decoder. It is the code of the
// standard library's encoding/json/v2: strict about case, duplicate members,
// depth and what follows a value. Invalid UTF-8 in a name that a player chose
// must not cost the page, so that is let through (as U+FFFD).
var lenientUTF8 = jsontext.AllowInvalidUTF8(true)

func unmarshal(data []byte, out any) error { return json.Unmarshal(data, out, lenientUTF8) }

// unmarshalRoomy is unmarshal, except for the responses that cost most: it makes
// room at once where a slice would grow in steps. That is half of all
// allocations of a page of races, which crawls and bots live on, and
// most of the memory for the breeding list, which is long.
func unmarshalRoomy(data []byte, out any) error {
	switch list := out.(type) {
	case *[]BreedingListing:
		*list = make([]BreedingListing, 0, bytes.Count(data, []byte("{"))) // an entry holds no other objects
	case *[]Race:
		const leastRace = 256 // bytes
		roomy := make([]roomyRace, 0, min(pageSize, len(data)/leastRace))
		if err := unmarshal(data, &roomy); err != nil {
			return err
		}
		*list = make([]Race, len(roomy))
		for i := range roomy {
			(*list)[i] = Race(roomy[i])
		}
		return nil
	}
	return unmarshal(data, out)
}

type roomyRace Race

// UnmarshalJSONFrom makes room for the slices of a race. The decoder leaves a
// slice with room alone where the member is absent, and replaces it where the
// array is empty.
func (r *roomyRace) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	r.Participants = make([]RaceParticipant, 0, 12)
	r.FinalOrder = make([]int, 0, 12)
	r.Winners = make([]int, 0, 4)
	r.Prizes = make([]Number, 0, 4)
	err := json.UnmarshalDecode(d, (*Race)(r))
	r.Participants = nilIfAbsent(r.Participants)
	r.FinalOrder = nilIfAbsent(r.FinalOrder)
	r.Winners = nilIfAbsent(r.Winners)
	r.Prizes = nilIfAbsent(r.Prizes)
	return err
}

// nilIfAbsent returns nil for a slice that the decoder left alone.
func nilIfAbsent[T any](list []T) []T {
	if len(list) == 0 && cap(list) > 0 {
		return nil
	}
	return list
}

// encodeBody writes a request body, the only place where a UserKey is written
// as it is, and returns the user keys that it holds.
func encodeBody(body any) (encoded []byte, keys []string, err error) {
	if q, ok := body.(pageBody); ok {
		return q, nil, nil
	}
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

// minObject is less than the documented objects take in bytes, on average.
// Responses of many smaller ones ({},{},{}) would fill a hundred times their own
// size in memory.
const (
	minObject   = 32
	manyObjects = 10_000
)

// countObjects counts what may become an object in memory: besides objects, each
// null that is an element of an array. A body that is too short for many is not
// searched.
func countObjects(body []byte) int {
	if len(body) < manyObjects {
		return 0
	}
	objects := bytes.Count(body, []byte("{"))
	for rest := body; ; {
		i := bytes.Index(rest, []byte("null"))
		if i < 0 {
			return objects
		}
		if before := trimSpace(rest[:i]); len(before) > 0 && (before[len(before)-1] == '[' || before[len(before)-1] == ',') {
			objects++
		}
		rest = rest[i+len("null"):]
	}
}

// trimSpace drops the white space of JSON, and no other, from both ends.
func trimSpace(body []byte) []byte { return bytes.Trim(body, " \t\r\n") }

// decode reads the body of a successful response into a pointer, by the rules
// of the operation: the whole body is one JSON value of the documented shape.
func (op operation) decode(body []byte, out any) error {
	body = trimSpace(body)
	if len(body) == 0 {
		return op.undecodable("", 0, errors.New("it is empty"))
	}
	if op.emptyIsNotFound && isNothing(body) {
		return ErrNotFound
	}
	if objects := countObjects(body); op.documented() && objects > manyObjects+len(body)/minObject {
		return op.undecodable("", 0, fmt.Errorf("%d objects in %d bytes are not what is documented", objects, len(body)))
	}
	if list, ok := out.(lister); ok {
		return list.decode(op, body)
	}
	if op.custom { // out is the caller's: nothing of a body that is cut or no JSON may be left in it
		if err := checkSyntax(body); err != nil {
			return op.explain(err, body)
		}
	}
	target := reflect.ValueOf(out).Elem()
	if want := documentedShape(target); want != 0 && body[0] != want {
		return op.wrongShape(want, body)
	}
	if err := unmarshal(body, out); err != nil {
		if !op.documented() || target.Kind() != reflect.Struct {
			return op.explain(err, body)
		}
		target.SetZero()
		if err := op.reread(body, out); err != nil {
			return err
		}
	}
	if op.documented() && target.Kind() == reflect.Struct && target.IsZero() {
		return op.undecodable("", 0, errors.New("the object has none of the documented members"))
	}
	return nil
}

// isNothing reports whether a body is null or an empty array.
func isNothing(body []byte) bool {
	inside, isArray := bytes.CutPrefix(body, []byte("["))
	return string(body) == "null" || isArray && string(trimSpace(inside)) == "]"
}

// documentedShape returns the byte that a response body must begin with; 0: any.
func documentedShape(target reflect.Value) byte {
	switch target.Kind() {
	case reflect.Slice:
		if target.Type().Elem().Kind() != reflect.Uint8 {
			return '['
		}
	case reflect.Struct, reflect.Map:
		switch target.Addr().Interface().(type) {
		case json.Unmarshaler, json.UnmarshalerFrom, encoding.TextUnmarshaler:
			return 0
		}
		return '{'
	}
	return 0
}

func (op operation) undecodable(field string, offset int64, err error) *DecodeError {
	return &DecodeError{Method: op.method, Route: op.route, ID: op.idText(), Field: field, Offset: offset, Err: err}
}

// idText returns the requested id as text; empty: there is none.
func (op operation) idText() string {
	switch id := op.id.(type) {
	case HorseNumber:
		return strconv.FormatInt(int64(id), 10)
	case RaceID:
		return strconv.FormatInt(int64(id), 10)
	case TournamentID:
		return string(id)
	}
	return ""
}

// wrongShape is the error of a body that begins like another kind of value.
func (op operation) wrongShape(want byte, body []byte) *DecodeError {
	if err := checkSyntax(body); err != nil { // not JSON at all is the clearer error
		return op.explain(err, body)
	}
	return op.undecodable("", 0, fmt.Errorf("expected %s, got %s", shapes[want], shapeOf(body)))
}

// checkSyntax reports what keeps a body from being one JSON value. A name that
// comes twice in an object is no error here.
func checkSyntax(body []byte) error {
	return json.Unmarshal(body, new(jsontext.Value), lenientUTF8, jsontext.AllowDuplicateNames(true))
}

// elementsOf ranges over the elements of an array, each with its offset. An
// object is its own only element. The body is valid, and the elements share its memory.
func elementsOf(body []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(body), lenientUTF8, jsontext.AllowDuplicateNames(true))
		if body[0] == '[' {
			_, _ = d.ReadToken()
		}
		for d.PeekKind() != ']' {
			element, err := d.ReadValue()
			end := int(d.InputOffset())
			start := end - len(element)
			if err != nil || !yield(start, body[start:end:end]) {
				return
			}
		}
	}
}

// tolerant are the options of the second reading, which accepts what has one
// obvious meaning: 12.0 where an integer stands, a cooldown that is "" or a number
// of milliseconds, and an undocumented member that comes twice.
var tolerant = json.JoinOptions(lenientUTF8, jsontext.AllowDuplicateNames(true), json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(readInteger[int]), json.UnmarshalFromFunc(readInteger[TierID]),
	json.UnmarshalFromFunc(readInteger[HorseNumber]), json.UnmarshalFromFunc(readInteger[RaceID]),
	json.UnmarshalFromFunc(readOptionalTime),
)))

// reread reads what could not be read at first, tolerantly.
func (op operation) reread(data []byte, out any) *DecodeError {
	if err := json.Unmarshal(data, out, tolerant); err != nil {
		return op.explain(err, data)
	}
	d := jsontext.NewDecoder(bytes.NewReader(data), lenientUTF8, jsontext.AllowDuplicateNames(true))
	if place := repeatedMember(d, reflect.TypeOf(out).Elem()); place != "" {
		return op.undecodable(string(place), d.InputOffset(), fmt.Errorf("not valid JSON: %w", jsontext.ErrDuplicateName))
	}
	return nil
}

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
	switch string(value) {
	case "null", `""`:
		*t = nil
		return nil
	}
	if value[0] == '"' {
		err = unmarshal(value, &read.Time)
	} else {
		err = read.UnmarshalJSON(value)
	}
	if err != nil {
		if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
			err = semantic.Err
		}
		return doesNotFit(value, err)
	}
	*t = &read.Time
	return nil
}

// doesNotFit is the error of a value that a type cannot hold.
func doesNotFit(value jsontext.Value, err error) error {
	return &json.SemanticError{JSONKind: value.Kind(), JSONValue: value.Clone(), Err: err}
}

// repeatedMember returns the place of a member that a type documents and an
// object holds twice; empty: there is none. What a type reads by itself is not
// looked into.
func repeatedMember(d *jsontext.Decoder, t reflect.Type) jsontext.Pointer {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, itself := reflect.New(t).Interface().(json.Unmarshaler)
	switch kind := d.PeekKind(); {
	case kind == '{' && t.Kind() == reflect.Struct && !itself:
		_, _ = d.ReadToken()
		seen := make([]bool, t.NumField())
		for d.PeekKind() == '"' {
			name, _ := d.ReadToken()
			i := memberIndex(t, name.String())
			if i < 0 {
				_ = d.SkipValue()
				continue
			}
			if seen[i] {
				return d.StackPointer()
			}
			seen[i] = true
			if place := repeatedMember(d, t.Field(i).Type); place != "" {
				return place
			}
		}
		_, _ = d.ReadToken()
	case kind == '[' && t.Kind() == reflect.Slice && !itself:
		_, _ = d.ReadToken()
		for next := d.PeekKind(); next != ']' && next != 0; next = d.PeekKind() {
			if place := repeatedMember(d, t.Elem()); place != "" {
				return place
			}
		}
		_, _ = d.ReadToken()
	default:
		_ = d.SkipValue()
	}
	return ""
}

// memberIndex returns the index of the field that a member is read into; -1: none.
func memberIndex(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name && name != "" {
			return i
		}
	}
	return -1
}

// partOf reads what it can of some members of an entry that cannot be read as a
// whole. What is absent, comes twice or does not fit stays zero.
func partOf[T any](entry []byte, members ...string) *T {
	part := new(T)
	d := jsontext.NewDecoder(bytes.NewReader(entry), lenientUTF8, jsontext.AllowDuplicateNames(true))
	if start, err := d.ReadToken(); err != nil || start.Kind() != '{' {
		return part
	}
	found := make(map[string]jsontext.Value, len(members))
	for d.PeekKind() == '"' {
		token, _ := d.ReadToken()
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return new(T)
		}
		if !slices.Contains(members, name) {
			continue
		}
		if _, again := found[name]; again {
			value = nil
		}
		found[name] = value.Clone()
	}
	for name, value := range found {
		if value == nil {
			continue
		}
		alone, _ := json.Marshal(map[string]jsontext.Value{name: value}, lenientUTF8)
		if readable := new(T); json.Unmarshal(alone, readable, tolerant) == nil {
			_ = json.Unmarshal(alone, part, tolerant)
		}
	}
	return part
}

var shapes = map[byte]string{'[': "an array", '{': "an object", '"': "a string", 'n': "null", 't': "a boolean", 'f': "a boolean"}

func shapeOf(body []byte) string {
	if name, ok := shapes[body[0]]; ok {
		return name
	}
	return "a number"
}

// explain turns an error of the decoder into one that names the place.
func (op operation) explain(err error, body []byte) *DecodeError {
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if looksLikeHTML(body) {
			return op.undecodable("", 0, errHTMLPage)
		}
		return op.undecodable(string(syntactic.JSONPointer), syntactic.ByteOffset, fmt.Errorf("not valid JSON: %w", syntactic.Err))
	}
	var place jsontext.Pointer
	var offset int64
	semantic, ok := errors.AsType[*json.SemanticError](err)
	for ok {
		place, offset = place+semantic.JSONPointer, offset+semantic.ByteOffset
		member, below := errors.AsType[*memberError](semantic.Err)
		if !below {
			break
		}
		place = place.AppendToken(member.name)
		semantic, ok = errors.AsType[*json.SemanticError](member.err)
	}
	if !ok {
		return op.undecodable(string(place), offset, err)
	}
	what, fits := "the value", "what is documented here"
	if semantic.JSONKind != 0 {
		what = shapeOf([]byte{byte(semantic.JSONKind)})
	}
	if semantic.JSONKind == '0' && len(semantic.JSONValue) > 0 {
		what = "the number " + string(semantic.JSONValue)
		if digits := len(semantic.JSONValue); digits > 50 { // whole or not at all: a part of it could be a part of a key
			what = fmt.Sprintf("a number of %d digits", digits)
		}
	}
	if t := semantic.GoType; t != nil {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		fits = strings.ReplaceAll(t.String(), "horseracing.", "")
	}
	cause := fmt.Errorf("%s does not fit %s", what, fits)
	if err := semantic.Err; err != nil && !errors.Is(err, strconv.ErrSyntax) && !errors.Is(err, strconv.ErrRange) {
		cause = fmt.Errorf("%w: %w", cause, err)
	}
	return op.undecodable(string(place), offset, cause)
}

// memberError is the error of a member that a type reads by itself.
type memberError struct {
	name string
	err  error
}

func (e *memberError) Error() string { return e.name + ": " + e.err.Error() }
func (e *memberError) Unwrap() error { return e.err }
