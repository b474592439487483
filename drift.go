package horseracing

import (
	"bytes"
	"context"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// DriftKind says what kind of difference a [Drift] is.
type DriftKind string

// The kinds of drift.
const (
	DriftUnknownField DriftKind = "unknown_field" // the service sends a member that the types do not know
	DriftMissingField DriftKind = "missing_field" // the service does not send a member that the interface document shows
)

// Drift is a difference between the members that the service sends and those
// that the types of this package know: the service has changed, or the
// interface document does not tell the whole story. Reading goes on regardless.
type Drift struct {
	Route string // the path with its placeholders: /api/v1/races/open
	Path  string // of the member: "[].info.weather" in an array of races, "info.weather" in a single one
	Kind  DriftKind
}

// WithDriftHandler has every answer that was read compared with the types, and
// the handler called for each difference: once per route and path as long as
// the client lives, however many entries show it. In production it may log, in
// a test call t.Error (not t.Fatal, which would end the goroutine that made the
// call). Without a handler nothing is compared.
//
// The handler is called by the goroutine that made the call, before the call
// returns. Calls from several goroutines call it from all of them, so it must be
// safe for concurrent use; a walk with a concurrency above one is such a case.
//
// No drift are members that the interface document marks as optional or shows in
// other listings only, values outside the sets it mentions (it calls them
// incomplete, section 2.6), and whatever [Client.Do] reads. Operations whose
// answer the document does not show (open tournaments, one tournament) miss nothing.
// Of one object at most 100 unknown members are reported.
func WithDriftHandler(handler func(context.Context, Drift)) Option {
	return func(c *config) { c.drift = handler }
}

// driftWatch compares answers with the types they are decoded into. What it
// expects comes from the types themselves: the json tags name the members, and
// two tags more say what a name cannot.
//
//	shown:"/open /v2/"      documented only for routes that contain one of these
//	shown:"sometimes"       documented as optional
//	prefix:"additional_"    stands for any other name that begins like this
type driftWatch struct {
	handler func(context.Context, Drift)

	mu      sync.RWMutex
	answers map[answerKey]*object
}

type answerKey struct {
	route string
	typ   reflect.Type
	array bool
}

func newDriftWatch(handler func(context.Context, Drift)) *driftWatch {
	if handler == nil {
		return nil
	}
	return &driftWatch{handler: handler, answers: map[answerKey]*object{}}
}

// check compares an answer with the type it was decoded into. The body is valid
// JSON, but a name may come twice in an object.
func (d *driftWatch) check(ctx context.Context, op operation, known redact.Keys, body []byte, t reflect.Type) {
	if op.custom {
		return
	}
	c := comparison{ctx, d.handler, known, scanner{data: body}}
	c.scanner.space()
	c.value(d.expected(op, t, c.scanner.peek() == '['))
}

// expected returns what an answer of the operation holds; nil: nothing that has members.
func (d *driftWatch) expected(op operation, t reflect.Type, array bool) *object {
	key := answerKey{op.route, t, array}
	d.mu.RLock()
	o, ok := d.answers[key]
	d.mu.RUnlock()
	if ok {
		return o
	}
	path := ""
	if array {
		path = "[]"
	}
	o = objectOf(t, op, path)
	d.mu.Lock()
	defer d.mu.Unlock()
	if other, ok := d.answers[key]; ok { // it may have reported something already
		return other
	}
	d.answers[key] = o
	return o
}

// object is what a type knows of the objects at one place of one operation's answer.
type object struct {
	route    string
	path     string // empty: the answer itself
	members  []member
	index    map[string]int // of members without a prefix, by name
	required uint64         // a bit for each member that must be there

	mu      sync.Mutex
	unknown map[string]struct{} // reported
}

type member struct {
	name     string
	prefix   string
	object   *object // nil: it has no members
	reported atomic.Bool
}

const maxUnknown = 100 // members of one object: where names are data, there is no end of them

// objectOf looks into pointers and slices for a struct with json tags; nil: there is none.
func objectOf(t reflect.Type, op operation, path string) *object {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	o := &object{route: op.route, path: path, index: map[string]int{}}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		i := len(o.members)
		below := o.pathOf(name)
		if f.Type.Kind() == reflect.Slice {
			below += "[]"
		}
		o.index[name] = i
		o.members = append(o.members, member{name: name, prefix: f.Tag.Get("prefix"), object: objectOf(f.Type, op, below)})
		if isShown(f.Tag, op) {
			o.required |= 1 << i
		}
	}
	if len(o.members) == 0 {
		return nil
	}
	return o
}

// isShown reports whether the interface document shows a member for an operation.
func isShown(tag reflect.StructTag, op operation) bool {
	where, limited := tag.Lookup("shown")
	if !limited || op.objectOrArray { // of these the document shows no answer at all
		return !op.objectOrArray
	}
	return slices.ContainsFunc(strings.Fields(where), func(part string) bool { return strings.Contains(op.route, part) })
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

// comparison goes through one answer.
type comparison struct {
	ctx     context.Context
	handler func(context.Context, Drift)
	secrets redact.Keys
	scanner scanner
}

// value compares the objects in a value; o is nil where it has none.
func (c *comparison) value(o *object) {
	s := &c.scanner
	s.space()
	switch {
	case o != nil && s.peek() == '{':
		c.object(o)
	case o != nil && s.peek() == '[':
		s.at++
		for s.more(']') {
			c.value(o)
		}
	default:
		s.skip()
	}
}

func (c *comparison) object(o *object) {
	s := &c.scanner
	var seen uint64
	next := 0
	s.at++
	for s.more('}') {
		quoted := s.text()
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var plain string
			_ = unmarshal(quoted, &plain) // was read once already
			name = []byte(plain)
		}
		s.colon()
		i := o.find(name, next)
		if i < 0 || seen&(1<<i) != 0 { // a second name for the same: only one was read
			if o.isNews(name) {
				c.report(o, string(name), DriftUnknownField)
			}
			s.skip()
			continue
		}
		seen |= 1 << i
		next = i + 1
		c.value(o.members[i].object)
	}
	for missing := o.required &^ seen; missing != 0; missing &= missing - 1 {
		m := &o.members[bits.TrailingZeros64(missing)]
		if m.reported.CompareAndSwap(false, true) {
			c.report(o, m.name, DriftMissingField)
		}
	}
}

func (c *comparison) report(o *object, name string, kind DriftKind) {
	name = clip(c.secrets.Text(redact.Visible(name)), 200)
	c.handler(c.ctx, Drift{Route: o.route, Path: o.pathOf(name), Kind: kind})
}

// scanner steps through JSON that the decoder has already found valid. On
// anything else it soon arrives at the end, with nonsense but without harm.
type scanner struct {
	data []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\r' || s.data[s.at] == '\t') {
		s.at++
	}
}

// peek returns the next byte; 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// more steps to the next element, or out of the array or object.
func (s *scanner) more(end byte) bool {
	s.space()
	if s.peek() == ',' {
		s.at++
		s.space()
	}
	if s.peek() == end {
		s.at++
		return false
	}
	return s.at < len(s.data)
}

// text steps over a string and returns it in its quotes.
func (s *scanner) text() []byte {
	start := s.at
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.data[start:s.at]
		}
	}
	s.at = len(s.data)
	return []byte(`""`)
}

func (s *scanner) colon() {
	s.space()
	s.at++
}

// skip steps over a value, whatever it is.
func (s *scanner) skip() {
	s.space()
	for depth := 0; s.at < len(s.data); {
		switch s.data[s.at] {
		case '"':
			s.text()
		case '{', '[':
			depth++
			s.at++
			continue
		case '}', ']':
			depth--
			s.at++
		case ',', ':', ' ', '\n', '\r', '\t':
			s.at++
			continue
		default:
			s.literal()
		}
		if depth == 0 {
			return
		}
	}
}

// literal steps over a number, true, false or null.
func (s *scanner) literal() {
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			return
		}
	}
}
