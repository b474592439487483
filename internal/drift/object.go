package drift

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// Rules hold what is documented of members beyond their json tags: by the struct
// that declares a member, and the member's name. A member without a rule is
// documented for every route.
type Rules map[reflect.Type]map[string]Rule

// Rule is what is documented of one member.
type Rule struct {
	Optional bool     // it may be missing
	Routes   []string // it must be there only if the route contains one of these; none: always
	Prefix   string   // any other name with this prefix stands for the member; the longest prefix wins
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

// object is what a type declares for the objects at one place of a response.
type object struct {
	path     string // empty: the response itself
	members  []member
	index    map[string]int // of members, by name
	required uint64         // a bit for each member that must be there; of the first 64

	mu      sync.Mutex
	unknown map[string]struct{} // reported
}

type member struct {
	name     string
	prefix   string
	object   *object     // nil: it has no members
	reported atomic.Bool // as missing
}

const maxUnknown = 100 // members of one object: where names are data, there is no end of them

// objectOf looks into pointers and slices for a struct with json tags; nil: there is none.
func (rules Rules) objectOf(r Response, t reflect.Type, path string) *object {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	o := &object{path: path, index: map[string]int{}}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		rule := rules[t][name]
		below := o.pathOf(name)
		if f.Type.Kind() == reflect.Slice {
			below += "[]"
		}
		if rule.requires(r) {
			o.required |= 1 << len(o.members)
		}
		o.index[name] = len(o.members)
		o.members = append(o.members, member{name: name, prefix: rule.Prefix, object: rules.objectOf(r, f.Type, below)})
	}
	if len(o.members) == 0 {
		return nil
	}
	return o
}

func (o *object) pathOf(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// find returns the index of a member, or -1. Most objects hold their members in
// the documented order, so the one expected next is tried first.
func (o *object) find(name []byte, next int) int {
	if next < len(o.members) && string(name) == o.members[next].name {
		return next
	}
	if i, ok := o.index[string(name)]; ok {
		return i
	}
	found, longest := -1, 0
	for i := range o.members {
		if p := o.members[i].prefix; len(p) > longest && strings.HasPrefix(string(name), p) {
			found, longest = i, len(p)
		}
	}
	return found
}

// isNews reports whether an unknown member is to be reported.
func (o *object) isNews(name []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, reported := o.unknown[string(name)]; reported || len(o.unknown) == maxUnknown {
		return false
	}
	if o.unknown == nil {
		o.unknown = map[string]struct{}{}
	}
	o.unknown[string(name)] = struct{}{}
	return true
}
