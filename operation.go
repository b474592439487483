package horseracing

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// operation is one operation of the service, and how its answer is read.
type operation struct {
	method string
	route  string // the path, with a {placeholder} for the id
	id     any    // HorseNumber, RaceID or TournamentID for the placeholder
	body   any
	custom bool   // by Do: nothing is documented, and raw and query are used as they are
	raw    string // the path, escaped
	query  string
	single bool   // null or an empty array means that there is no such thing
	either bool   // an object may stand for an array of one
	hint   string // what to do when the outcome of a write is unknown
}

func (op operation) String() string   { return op.method + " " + op.route }
func (op operation) documented() bool { return !op.custom }
func (op operation) isRead() bool     { return op.method == http.MethodGet }

func (op operation) invalid(problem string) error {
	return fmt.Errorf("%v: %w: %s", op, ErrInvalidArgument, problem)
}

func (op operation) notFound() error {
	return fmt.Errorf("%v: %w: the answer is empty", op, ErrNotFound)
}

func (op operation) undecodable(field string, offset int64, err error) error {
	return &DecodeError{Method: op.method, Route: op.route, Field: field, Offset: offset, Err: err}
}

// path returns the operation's path, decoded and escaped.
func (op operation) path() (path, escaped string, err error) {
	if op.custom {
		path, err = url.PathUnescape(op.raw)
		return path, op.raw, err
	}
	if op.id == nil {
		return op.route, op.route, nil
	}
	var id string
	switch v := op.id.(type) {
	case HorseNumber:
		if v <= 0 {
			return "", "", op.invalid("the horse number is not positive")
		}
		id = strconv.FormatInt(int64(v), 10)
	case RaceID:
		if v <= 0 {
			return "", "", op.invalid("the race id is not positive")
		}
		id = strconv.FormatInt(int64(v), 10)
	case TournamentID:
		if id = string(v); id == "" || id == "." || id == ".." || hasControl(id) {
			return "", "", op.invalid("the tournament id is empty, a dot segment, or holds control characters")
		}
	}
	before, _, _ := strings.Cut(op.route, "{")
	return before + id, before + url.PathEscape(id), nil
}

// hasDotSegment reports whether a path walks: servers on the way resolve . and ..
func hasDotSegment(path string) bool {
	segments := strings.Split(path, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}
