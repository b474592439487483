package decode

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Options say how the entries of a response are read.
type Options struct {
	Whole json.Options           // of an entry as a whole, as most can be read: if drift is wanted, an unknown member does not fit
	ID    func(entry any) string // returns the id of an entry, or the empty string if it has none

	// Documented returns the documented form of a value of a type in another notation, such as 12 for 12.0,
	// or nil if there is none.
	Documented func(value jsontext.Value, t reflect.Type) jsontext.Value
}

// Drift is a member that a type lacks, or that has another type.
type Drift struct {
	Path        string // with [] for an index; ~ and / in names are escaped, as in a JSON pointer
	IsWrongType bool
}

const (
	maxEntries = 100_000 // bounds the memory that a list of tiny entries takes
	maxDrift   = 100     // of a response
)

// List reads an array. An entry that cannot be used has an [*Error], and does not affect the others.
func List[T any](array []byte, how Options) ([]entry.Entry[*T], []Drift, *Error) {
	if jsontext.Value(array).Kind() != jsontext.KindBeginArray {
		return nil, nil, Read(array, new([]T), Lenient) // that it does not fit
	}
	elements := elements{array: array}
	if err := json.Unmarshal(array, &elements, AnySyntax); err != nil {
		return nil, nil, newError(err)
	}
	if len(elements.list) > maxEntries {
		return nil, nil, &Error{Err: fmt.Errorf("a list of more than %d entries", maxEntries)}
	}
	r := reader{Options: how, prefix: "[]."}
	entries, values := make([]entry.Entry[*T], len(elements.list)), make([]T, len(elements.list))
	for i, element := range elements.list {
		id, err := r.read(element, &values[i])
		entries[i] = entry.Entry[*T]{Value: &values[i], JSON: element, ID: id}
		if err != nil {
			entries[i].Err = err
		}
	}
	return entries, r.drift, nil
}

// Object reads an object as a list of one entry.
func Object[T any](object []byte, how Options) ([]entry.Entry[*T], []Drift, *Error) {
	r, value := reader{Options: how}, new(T)
	id, err := r.read(object, value)
	return []entry.Entry[*T]{{Value: value, JSON: object, ID: id}}, r.drift, err
}

// elements are the elements of an array, or as many of them as show that there are too many.
type elements struct {
	array []byte
	list  [][]byte // parts of the array
}

// UnmarshalJSONFrom reads the elements.
func (e *elements) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != jsontext.KindEndArray {
		var element jsontext.Value
		if element, err = d.ReadValue(); len(e.list) <= maxEntries {
			end := int(d.InputOffset())
			e.list = append(e.list, e.array[end-len(element):end:end])
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

// reader reads the objects of one response. One that cannot be read as a whole is read member by
// member: a member of another type stays zero, and is an error only if its field has the tag
// decode:"strict", because somebody decides by it.
type reader struct {
	Options
	prefix string // of the paths in drift
	drift  []Drift
	err    *Error // the first error of the object
}

// read is where an entry is found to be usable or not. With an error, out has what could be read.
func (r *reader) read(object []byte, out any) (id string, err *Error) {
	value := reflect.ValueOf(out).Elem()
	r.err = nil
	if json.Unmarshal(object, out, r.Whole) != nil {
		value.SetZero()
		r.err = Read(object, new(jsontext.Value), Lenient) // a duplicate member, say
		r.value(object, value, "", true)
	}
	id = r.ID(out)
	switch {
	case r.err != nil:
		return id, r.err
	case value.IsZero():
		return id, &Error{Err: ErrNoMember}
	}
	return id, nil
}

// value reads the value at a JSON pointer of the object.
func (r *reader) value(text jsontext.Value, out reflect.Value, pointer string, isStrict bool) {
	switch kind := text.Kind(); {
	case kind == jsontext.KindBeginObject && hasFields(out.Type()):
		var members map[string]jsontext.Value
		_ = json.Unmarshal(text, &members, AnySyntax) // it is an object
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if field, ok := fieldOf(out.Type(), name); ok {
				r.value(members[name], out.FieldByIndex(field.Index), pointer+"/"+name, field.Tag.Get("decode") == "strict")
			} else {
				r.note(string(jsontext.Pointer(pointer).AppendToken(name)), false)
			}
		}
	case kind == jsontext.KindBeginArray && out.Kind() == reflect.Slice && hasFields(out.Type().Elem()):
		var elements []jsontext.Value
		_ = json.Unmarshal(text, &elements, AnySyntax) // it is an array
		out.Set(reflect.MakeSlice(out.Type(), len(elements), len(elements)))
		for i, element := range elements {
			r.value(element, out.Index(i), pointer+"/"+strconv.Itoa(i), isStrict)
		}
	default:
		r.leaf(text, out, pointer, isStrict)
	}
}

// leaf reads a value as a whole.
func (r *reader) leaf(text jsontext.Value, out reflect.Value, pointer string, isStrict bool) {
	isOdd := false
	scalars := json.UnmarshalFromFunc(func(d *jsontext.Decoder, out any) error {
		if kind := d.PeekKind(); kind == jsontext.KindBeginArray || kind == jsontext.KindBeginObject {
			return errors.ErrUnsupported // its scalars are read
		}
		scalar, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err = r.scalar(scalar, out); err != nil && r.obvious(scalar, out) {
			isOdd, err = true, nil
		}
		return err
	})
	err := json.Unmarshal(text, out.Addr().Interface(), Lenient, json.WithUnmarshalers(scalars))
	if isOdd || err != nil && !isStrict {
		r.note(pointer, true)
	}
	if err == nil {
		return
	}
	out.SetZero()
	if isStrict {
		problem := newError(err)
		problem.Field = pointer + problem.Field
		r.err = cmp.Or(r.err, problem)
	}
}

// scalar reads a value that is neither an array nor an object.
func (r *reader) scalar(text jsontext.Value, out any) error {
	err := json.Unmarshal(text, out, Lenient)
	if documented := r.Documented(text, reflect.TypeOf(out).Elem()); err != nil && documented != nil {
		return json.Unmarshal(documented, out, Lenient)
	}
	return err
}

// obvious reads a value of another type than documented, if it has one obvious meaning: a string with
// JSON in it, 0 and 1 for a boolean, and a date with a space in place of the T.
func (r *reader) obvious(text jsontext.Value, out any) bool {
	inner := string(text)
	_ = json.Unmarshal(text, &inner) // fails for a number
	if isBool := reflect.TypeOf(out).Elem().Kind() == reflect.Bool; isBool && (inner == "0" || inner == "1") {
		inner = strconv.FormatBool(inner == "1")
	}
	date := bytes.Replace(text, []byte(" "), []byte("T"), 1)
	return inner != "null" && r.scalar(jsontext.Value(inner), out) == nil || r.scalar(date, out) == nil
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

var indexes = regexp.MustCompile(`/\d+(/|$)`)

// note notes the drift of the member at a JSON pointer.
func (r *reader) note(pointer string, isWrongType bool) {
	path := indexes.ReplaceAllString(pointer, "[]$1")
	found := Drift{r.prefix + strings.TrimPrefix(path, "/"), isWrongType}
	if len(r.drift) < maxDrift && !slices.Contains(r.drift, found) {
		r.drift = append(r.drift, found)
	}
}
