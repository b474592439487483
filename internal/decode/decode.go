// Package decode reads JSON into the types of its caller. An object that does not fit as a whole is
// read member by member, and an array entry by entry, so that as much as possible can be used. What
// does not fit is noted as drift.
//
// It is the code of the standard library's encoding/json/v2: strict about case, duplicate members,
// depth and what follows a value.
package decode

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	// Lenient accepts invalid UTF-8, in a name that a player chose, and decodes it as U+FFFD.
	Lenient json.Options = jsontext.AllowInvalidUTF8(true)

	// AnySyntax are the options for JSON of any shape.
	AnySyntax = json.JoinOptions(Lenient, jsontext.AllowDuplicateNames(true))

	// KnownMembers are the options that find unknown members.
	KnownMembers = json.JoinOptions(Lenient, json.RejectUnknownMembers(true))
)

// Error is why JSON cannot be used.
type Error struct {
	Field string // a JSON pointer, or empty for the whole
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Causes of an [Error].
var (
	ErrEmpty    = errors.New("it is empty")
	ErrNoMember = errors.New("it is null or has no documented member that can be read")
)

// Trim returns data without the white space around it.
func Trim(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

// IsNothing reports whether data is null or an empty array.
func IsNothing(data []byte) bool {
	data = Trim(data)
	inside, isArray := bytes.CutPrefix(data, []byte("["))
	return string(data) == "null" || isArray && string(Trim(inside)) == "]"
}

// Unmarshal decodes data that fits.
func Unmarshal(data []byte, out any) error { return json.Unmarshal(data, out, Lenient) }

// Read decodes data.
func Read(data []byte, out any, how json.Options) *Error {
	err := json.Unmarshal(data, out, how)
	switch {
	case err == nil:
		return nil
	case len(Trim(data)) == 0:
		return &Error{Err: ErrEmpty}
	}
	return newError(err)
}

// shapes names the kinds of JSON values by their first characters.
var shapes = map[jsontext.Kind]string{'[': "an array", '{': "an object", '"': "a string", '0': "a number", 'n': "null", 't': "a boolean", 'f': "a boolean"}

// newError returns an error of the decoder in plain words.
func newError(err error) *Error {
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &Error{string(syntactic.JSONPointer), fmt.Errorf("not valid JSON: %w", syntactic.Err)}
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return &Error{Err: err}
	}
	what := cmp.Or(shapes[semantic.JSONKind], "the value")
	fits := strings.ReplaceAll(strings.TrimLeft(fmt.Sprint(semantic.GoType), "*"), "horseracing.", "") // users know its types without it
	cause := fmt.Errorf("%s does not fit %s", what, fits)
	if err := semantic.Err; err != nil && !errors.Is(err, strconv.ErrSyntax) && !errors.Is(err, strconv.ErrRange) {
		cause = fmt.Errorf("%w: %w", cause, err)
	}
	return &Error{string(semantic.JSONPointer), cause}
}
