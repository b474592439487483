// Package drift compares the members of a response body with those that a Go
// type declares in its json tags, and reports each difference once.
package drift

import (
	"bytes"
	"math/bits"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

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
	rules   Rules
	mu      sync.RWMutex
	objects map[place]*object
}

// place is where an object can be: at the top of the response to one operation.
type place struct {
	route string
	typ   reflect.Type
	array bool
}

// New returns a Check that has reported nothing yet.
func New(rules Rules) *Check { return &Check{rules: rules, objects: map[place]*object{}} }

// Compare calls report for each difference that it has not reported before for the
// same route. Of the unknown members of one object it reports at most 100.
func (c *Check) Compare(r Response, report func(Difference)) {
	d := jsontext.NewDecoder(bytes.NewBuffer(r.Body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	walk := comparison{d, report}
	_ = walk.value(c.object(r, d.PeekKind() == jsontext.KindBeginArray)) // the body was decoded before: nothing fails
}

// object returns what the type declares for the objects at the top of a response;
// nil: they have no members.
func (c *Check) object(r Response, array bool) *object {
	at := place{r.Route, r.Type, array}
	c.mu.RLock()
	o, ok := c.objects[at]
	c.mu.RUnlock()
	if ok {
		return o
	}
	path := ""
	if array {
		path = "[]"
	}
	o = c.rules.objectOf(r, r.Type, path)
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.objects[at]; ok { // it may have reported something already
		return other
	}
	c.objects[at] = o
	return o
}

// comparison goes through one body.
type comparison struct {
	in     *jsontext.Decoder
	report func(Difference)
}

// value compares the objects in the next value; o is nil where that has no members.
func (c comparison) value(o *object) error {
	if o == nil {
		return c.in.SkipValue()
	}
	switch c.in.PeekKind() {
	case jsontext.KindBeginObject:
		return c.object(o)
	case jsontext.KindBeginArray:
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
	return c.in.SkipValue()
}

func (c comparison) object(o *object) error {
	if _, err := c.in.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	for next := 0; c.in.PeekKind() != jsontext.KindEndObject; {
		quoted, err := c.in.ReadValue()
		if err != nil {
			return err
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, quoted)
		}
		var below *object
		if i := o.find(name, next); i >= 0 && seen&(1<<i) == 0 {
			seen |= 1 << i
			next = i + 1
			below = o.members[i].object
		} else if o.isNews(name) { // unknown, or a second name for the same member: only one was read
			c.report(Difference{Path: o.pathOf(string(name))})
		}
		if err := c.value(below); err != nil {
			return err
		}
	}
	for missing := o.required &^ seen; missing != 0; missing &= missing - 1 {
		m := &o.members[bits.TrailingZeros64(missing)]
		if m.reported.CompareAndSwap(false, true) {
			c.report(Difference{Path: o.pathOf(m.name), Missing: true})
		}
	}
	_, err := c.in.ReadToken()
	return err
}
