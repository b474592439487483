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
	Body         []byte // a name may come twice in an object; nothing is reported of a body that is not JSON
}

// Difference is a member that only the body or only the type has.
type Difference struct {
	Path    string // "[].info.weather" in an array, "info.weather" in a single object
	Missing bool   // documented and not in the body; otherwise in the body and unknown to the type
}

// Check compares responses with types. It is safe for concurrent use.
type Check struct {
	rules Rules
	mu    sync.Mutex // guards tops, and the objects below them
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

// Compare returns the differences that it has not returned before for the same
// route. Of the unknown members of one object it returns at most 100.
func (c *Check) Compare(r Response) []Difference {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	if !jsontext.Value(r.Body).IsValid(lenient...) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	walk := comparison{in: jsontext.NewDecoder(bytes.NewReader(r.Body), lenient...)}
	at := top{r.Route, r.Type, walk.in.PeekKind() == jsontext.KindBeginArray}
	o, ok := c.tops[at]
	if !ok {
		path := ""
		if at.array {
			path = "[]"
		}
		o = c.rules.objectOf(r, r.Type, path)
		c.tops[at] = o
	}
	walk.value(o)
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
	rule     Rule
	required bool
	object   *object // nil if it has no members
	seen     bool    // in the object that is being compared
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
	o := &object{path: path, members: map[string]*member{}, reported: map[Difference]bool{}}
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
		o.members[name] = &member{rule: rule, required: rule.requires(r), object: rules.objectOf(r, f.Type, below)}
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
	isPart := func(part string) bool { return strings.Contains(r.Route, part) }
	return len(rule.Routes) == 0 || slices.ContainsFunc(rule.Routes, isPart)
}

func (o *object) pathOf(name string) string { return strings.TrimPrefix(o.path+"."+name, ".") }

// find returns the member that a name stands for, or nil.
func (o *object) find(name []byte) (found *member) {
	if m, ok := o.members[string(name)]; ok {
		return m
	}
	longest := 0
	for _, m := range o.members {
		if p := m.rule.Prefix; len(p) > longest && strings.HasPrefix(string(name), p) {
			found, longest = m, len(p)
		}
	}
	return found
}

// comparison goes through one body, which is valid JSON: nothing fails.
type comparison struct {
	in    *jsontext.Decoder
	name  []byte // of the member, until the next one is read
	found []Difference
}

// value compares the objects in the next value; o is nil if that has no members.
func (c *comparison) value(o *object) {
	switch kind := c.in.PeekKind(); {
	case o != nil && kind == jsontext.KindBeginObject:
		c.members(o)
	case o != nil && kind == jsontext.KindBeginArray:
		_, _ = c.in.ReadToken()
		for kind := c.in.PeekKind(); kind != jsontext.KindEndArray && kind != jsontext.KindInvalid; kind = c.in.PeekKind() {
			c.value(o)
		}
		_, _ = c.in.ReadToken()
	default:
		_ = c.in.SkipValue()
	}
}

// members compares the members of the next value, which is an object.
func (c *comparison) members(o *object) {
	_, _ = c.in.ReadToken()
	for c.in.PeekKind() == jsontext.KindString {
		quoted, _ := c.in.ReadValue()
		c.name, _ = jsontext.AppendUnquote(c.name[:0], quoted)
		m := o.find(c.name)
		if m == nil || m.seen { // unknown, or a second name for the same member: only one was read
			c.differ(o, Difference{Path: string(c.name)})
			_ = c.in.SkipValue()
			continue
		}
		m.seen = true
		c.value(m.object)
	}
	_, _ = c.in.ReadToken()
	for name, m := range o.members {
		if m.required && !m.seen {
			c.differ(o, Difference{Path: name, Missing: true})
		}
		m.seen = false
	}
}

// differ notes a difference, with the member's name as its path, unless it was
// reported before.
func (c *comparison) differ(o *object, d Difference) {
	if o.reported[d] || len(o.reported) >= maxReported && !d.Missing {
		return
	}
	o.reported[d] = true
	c.found = append(c.found, Difference{o.pathOf(d.Path), d.Missing})
}
