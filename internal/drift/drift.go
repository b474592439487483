// Package drift compares the members of a response body with those that a Go
// type declares in its json tags, and reports each difference once.
package drift

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Rules hold what is documented of members beyond their json tags. A member that is a
// pointer with omitzero is optional.
type Rules struct {
	Routes map[string][]string      // by "Type.member": it is documented only for these
	Rename func(name string) string // the documented name of a member with an unknown one
}

// Response is what is compared: the body that an operation decoded into a type.
type Response struct {
	Route        string // of the operation, with its placeholders; every response to it has the same type
	Undocumented bool   // the response of this operation is undocumented: no member is missing
	Type         reflect.Type
	Body         []byte   // JSON, or empty; a name may come twice in an object
	Wrong        []string // paths of members that did not fit their types
}

// Kind is the kind of a [Difference].
type Kind string

// The kinds of differences.
const (
	Unknown Kind = "unknown_field" // in the body and not in the type
	Missing Kind = "missing_field" // documented and not in the body
	Wrong   Kind = "wrong_type"    // in the body with another type
)

// Difference is a member that body and type do not have alike.
type Difference struct {
	Path string // "[].info.weather" in an array, "info.weather" in a single object
	Kind Kind
}

// Check compares responses with types. It is safe for concurrent use.
type Check struct {
	rules   Rules
	mu      sync.Mutex         // guards what is below, and the objects
	objects map[string]*object // by route and shape of the response
	wrong   map[string]bool    // by route and path
}

// New returns a Check that has reported nothing yet.
func New(rules Rules) *Check {
	return &Check{rules: rules, objects: map[string]*object{}, wrong: map[string]bool{}}
}

// Compare returns the differences that it has not returned before for the same
// route. Of the unknown members of one object it returns at most 100.
func (c *Check) Compare(r Response) []Difference {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := jsontext.NewDecoder(bytes.NewReader(r.Body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	path := ""
	if in.PeekKind() == jsontext.KindBeginArray {
		path = "[]"
	}
	o, ok := c.objects[r.Route+path]
	if !ok {
		o = c.rules.objectOf(r, r.Type, path)
		c.objects[r.Route+path] = o
	}
	walk := comparison{rules: c.rules, in: in}
	if walk.value(o) != nil {
		return nil
	}
	for _, path := range r.Wrong {
		if !c.wrong[r.Route+path] {
			c.wrong[r.Route+path] = true
			walk.found = append(walk.found, Difference{Path: path, Kind: Wrong})
		}
	}
	slices.SortFunc(walk.found, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return walk.found
}

// object is what a type declares for the objects at one path of a response.
type object struct {
	path     string // empty for the response itself
	members  map[string]*member
	reported map[Difference]bool
}

type member struct {
	required bool
	object   *object // nil if it has no members
	seen     bool    // in the object that is being compared
}

const maxReported = 100 // of one object: names that are data are unlimited

// objectOf returns the object of a type that is a struct with json tags, or of one that
// pointers and slices lead to. It returns nil if there is none.
func (rules Rules) objectOf(r Response, t reflect.Type, path string) *object {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	o := &object{path: path, members: map[string]*member{}, reported: map[Difference]bool{}}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		below := o.pathOf(name)
		if f.Type.Kind() == reflect.Slice {
			below += "[]"
		}
		isOptional := f.Type.Kind() == reflect.Pointer && options == "omitzero"
		o.members[name] = &member{
			required: !r.Undocumented && !isOptional && rules.isFor(r.Route, t.Name()+"."+name),
			object:   rules.objectOf(r, f.Type, below),
		}
	}
	if len(o.members) == 0 {
		return nil
	}
	return o
}

// isFor reports whether a member is documented for a route.
func (rules Rules) isFor(route, member string) bool {
	routes, ok := rules.Routes[member]
	return !ok || slices.Contains(routes, route)
}

func (o *object) pathOf(name string) string { return strings.TrimPrefix(o.path+"."+name, ".") }

// comparison goes through one body.
type comparison struct {
	rules Rules
	in    *jsontext.Decoder
	name  []byte // of the member, until the next one is read
	found []Difference
}

// value compares the objects in the next value; o is nil if that has no members.
func (c *comparison) value(o *object) error {
	if o == nil {
		return c.in.SkipValue()
	}
	switch c.in.PeekKind() {
	case jsontext.KindBeginObject:
		return c.members(o)
	case jsontext.KindBeginArray:
		_, _ = c.in.ReadToken()
		for c.in.PeekKind() != jsontext.KindEndArray {
			if err := c.value(o); err != nil {
				return err
			}
		}
		_, _ = c.in.ReadToken()
		return nil
	}
	return c.in.SkipValue()
}

// members compares the members of the next value, which is an object.
func (c *comparison) members(o *object) error {
	_, _ = c.in.ReadToken()
	for c.in.PeekKind() != jsontext.KindEndObject {
		quoted, err := c.in.ReadValue()
		if err != nil {
			return err
		}
		c.name, _ = jsontext.AppendUnquote(c.name[:0], quoted)
		m := o.members[string(c.name)]
		if m == nil {
			m = o.members[c.rules.Rename(string(c.name))]
		}
		var below *object
		if m == nil || m.seen { // unknown, or a second name for the same member: only one was read
			c.differ(o, string(c.name), Unknown)
		} else {
			m.seen, below = true, m.object
		}
		if err := c.value(below); err != nil {
			return err
		}
	}
	_, _ = c.in.ReadToken()
	for name, m := range o.members {
		if m.required && !m.seen {
			c.differ(o, name, Missing)
		}
		m.seen = false
	}
	return nil
}

// differ notes a difference, unless it was reported before.
func (c *comparison) differ(o *object, name string, kind Kind) {
	d := Difference{Path: o.pathOf(name), Kind: kind}
	if o.reported[d] || len(o.reported) >= maxReported && kind == Unknown {
		return
	}
	o.reported[d] = true
	c.found = append(c.found, d)
}
