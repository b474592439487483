package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mark is how a finding is to be read.
type mark string

const (
	good    mark = "ok"      // as documented, or as the SDK expects
	odd     mark = "note"    // worth a look; nothing is wrong
	bad     mark = "broken"  // something does not work
	skipped mark = "skipped" // not examined
)

var signs = map[mark]string{good: "✓", odd: "!", bad: "✗", skipped: "·"}

// finding is a line of the report.
type finding struct {
	Section string `json:"section"` // of docs/service.md
	Topic   string `json:"topic"`
	Mark    mark   `json:"mark"`
	Text    string `json:"text"`
	Advice  string `json:"advice,omitempty"` // what is then different for the user
	Row     string `json:"row,omitempty"`    // of docs/unknowns.md
}

// found returns a finding of a check, which adds section and topic.
func found(m mark, format string, args ...any) finding {
	return finding{Mark: m, Text: fmt.Sprintf(format, args...)}
}

// oddIf returns a finding with advice if something is worth a look, and one
// without if not.
func oddIf(isOdd bool, advice, format string, args ...any) finding {
	f := found(good, format, args...)
	if isOdd {
		f.Mark, f.Advice = odd, advice
	}
	return f
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// notRead is the finding about values of which none were read.
var notRead = found(skipped, "not examined: none were read")

// counts says how often each value was seen.
type counts map[string]int

func count(values []string) counts {
	c := counts{}
	for _, value := range values {
		c[value]++
	}
	return c
}

func (c counts) total() (n int) {
	for _, count := range c {
		n += count
	}
	return n
}

// list writes value and count in this format, at most twelve of them.
func (c counts) list(format string) string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf(format, value, c[value]))
	}
	if len(parts) > 12 {
		parts = append(parts[:12], fmt.Sprintf("and %d more", len(parts)-12))
	}
	return strings.Join(parts, ", ")
}

func (c counts) String() string { return c.list("%q (%d)") }

func each[T any, S ~string](list []T, value func(T) S) (values []string) {
	for _, v := range list {
		values = append(values, string(value(v)))
	}
	return values
}

// shapeOf describes a body without showing it.
func shapeOf(body []byte) string {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return "not JSON"
	}
	switch v := value.(type) {
	case nil:
		return "null"
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) > 6 {
			names = append(names[:6], "…")
		}
		return "an object with " + strings.Join(names, ", ")
	case float64:
		return "a number"
	}
	return fmt.Sprintf("a %T", value)
}
