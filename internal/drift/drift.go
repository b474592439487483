// Package drift compares the members of a response body with those that a Go
// type declares in its json tags, and reports each difference once.
package drift

import (
	"bytes"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Rules hold what is documented of members beyond their json tags: by the struct
// that declares a member, and the member's name. A member without a rule is
// documented for every route.
type Rules map[reflect.Type]map[string]Rule

// Rule is what is documented of one member.
type Rule struct {
	Optional bool     // it may be missing
	Routes   []string // it must be there only if the route contains one of these; always if empty
	Prefix   string   // any other name with this prefix stands for the member; the longest prefix wins
}

// Response is what is compared: the body that an operation decoded into a type.
type Response struct {
	Route        string // of the operation, with its placeholders
	Undocumented bool   // the response of this operation is undocumented: no member is missing
	Type         reflect.Type
	Body         []byte // JSON; a name may come twice in an object
}

// Difference is a member that only the body or only the type has.
type Difference struct {
	Path    string // "[].info.weather" in an array, "info.weather" in a single object
	Missing bool   // documented and not in the body; otherwise in the body and unknown to the type
}

// Check compares responses with types. It is safe for concurrent use.
type Check struct {
	rules Rules
	mu    sync.Mutex
	tops  map[top]*object
}

// top identifies the objects at the top of the responses to one operation.
type top struct {
	route string
	typ   reflect.Type
	array bool
}

// New returns a Check that has reported nothing yet.
func New(rules Rules) *Check { return &Check{rules: rules, tops: map[top]*object{}} }

// Compare calls report for each difference that it has not reported before for the
// same route. Of the unknown members of one object it reports at most 100.
func (c *Check) Compare(r Response, report func(Difference)) {
	d := jsontext.NewDecoder(bytes.NewReader(r.Body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	walk := comparison{d, report}
	_ = walk.value(c.object(r, d.PeekKind() == jsontext.KindBeginArray)) // the body was decoded before: nothing fails
}

// object returns what the type declares for the objects at the top of a response;
// nil if they have no members.
func (c *Check) object(r Response, array bool) *object {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := top{r.Route, r.Type, array}
	o, ok := c.tops[at]
	if !ok {
		path := ""
		if array {
			path = "[]"
		}
		o = c.rules.objectOf(r, r.Type, path)
		c.tops[at] = o
	}
	return o
}

// object is what a type declares for the objects at one path of a response.
type object struct {
	path    string // empty for the response itself
	members []member
	index   map[string]int // of members, by name

	mu       sync.Mutex
	reported map[Difference]bool // with the member's name as the path
}

type member struct {
	name     string
	rule     Rule
	required bool
	object   *object // nil if it has no members
}

const maxReported = 100 // of one object: if names are data, there is no end of them

// objectOf looks into pointers and slices for a struct with json tags; nil if there
// is none.
func (rules Rules) objectOf(r Response, t reflect.Type, path string) *object {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	o := &object{path: path, index: map[string]int{}, reported: map[Difference]bool{}}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		below := o.pathOf(name)
		if f.Type.Kind() == reflect.Slice {
			below += "[]"
		}
		rule := rules[t][name]
		o.index[name] = len(o.members)
		o.members = append(o.members, member{name, rule, rule.requires(r), rules.objectOf(r, f.Type, below)})
	}
	if len(o.members) == 0 {
		return nil
	}
	return o
}

// requires reports whether a member with this rule must be in a response.
func (rule Rule) requires(r Response) bool {
	if r.Undocumented || rule.Optional {
		return false
	}
	for _, part := range rule.Routes {
		if strings.Contains(r.Route, part) {
			return true
		}
	}
	return len(rule.Routes) == 0
}

func (o *object) pathOf(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// find returns the index of the member that a name stands for, or -1.
func (o *object) find(name []byte) int {
	if i, ok := o.index[string(name)]; ok {
		return i
	}
	found, longest := -1, 0
	for i := range o.members {
		if p := o.members[i].rule.Prefix; len(p) > longest && strings.HasPrefix(string(name), p) {
			found, longest = i, len(p)
		}
	}
	return found
}

// isNew reports whether a difference, with the member's name as its path, is to be
// reported.
func (o *object) isNew(d Difference) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reported[d] || len(o.reported) >= maxReported && !d.Missing {
		return false
	}
	o.reported[d] = true
	return true
}

// comparison goes through one body.
type comparison struct {
	in     *jsontext.Decoder
	report func(Difference)
}

// value compares the objects in the next value; o is nil if that has no members.
func (c comparison) value(o *object) error {
	kind := c.in.PeekKind()
	switch {
	case o == nil, kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray:
		return c.in.SkipValue()
	case kind == jsontext.KindBeginObject:
		return c.members(o)
	}
	if _, err := c.in.ReadToken(); err != nil {
		return err
	}
	for c.in.PeekKind() != jsontext.KindEndArray {
		if err := c.value(o); err != nil {
			return err
		}
	}
	_, err := c.in.ReadToken()
	return err
}

// members compares the members of the next value, which is an object.
func (c comparison) members(o *object) error {
	if _, err := c.in.ReadToken(); err != nil {
		return err
	}
	seen := make([]bool, len(o.members))
	for c.in.PeekKind() != jsontext.KindEndObject {
		quoted, err := c.in.ReadValue()
		if err != nil {
			return err
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, quoted)
		}
		var below *object
		if i := o.find(name); i >= 0 && !seen[i] {
			seen[i] = true
			below = o.members[i].object
		} else { // unknown, or a second name for the same member: only one was read
			c.difference(o, string(name), false)
		}
		if err := c.value(below); err != nil {
			return err
		}
	}
	for i, m := range o.members {
		if m.required && !seen[i] {
			c.difference(o, m.name, true)
		}
	}
	_, err := c.in.ReadToken()
	return err
}

func (c comparison) difference(o *object, name string, missing bool) {
	if o.isNew(Difference{name, missing}) {
		c.report(Difference{o.pathOf(name), missing})
	}
}
