package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// contains is part of every report.
const contains = "This report names the host and the hippodromes. It contains no key. If a line is marked ! or ✗, attach it to an issue."

// Report is what was found out. It is without keys.
type Report struct {
	Service     string    `json:"service"`
	At          time.Time `json:"at"`
	SDK         string    `json:"sdk"`
	Go          string    `json:"go"`
	System      string    `json:"system"`
	Requests    int       `json:"requests"`
	Failed      int       `json:"failed"`
	Failures    counts    `json:"failures,omitempty"` // by status
	Interrupted bool      `json:"interrupted"`
	Contains    string    `json:"contains"`
	Findings    []finding `json:"findings"`
}

// finish sorts the findings by section and removes the keys. Texts are made of
// counts, names of fields and values: a service that puts a key into a value must
// not get it into a report.
func (r *Report) finish(interrupted bool, p *probe, keys ...string) {
	r.Interrupted, r.Requests, r.Failed, r.Failures = interrupted, p.most-p.left(), p.failures.total(), p.failures
	slices.SortStableFunc(r.Findings, func(a, b finding) int { return cmp.Compare(order(a.Section), order(b.Section)) })
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, key := range keys {
			if key != "" {
				f.Text = strings.ReplaceAll(f.Text, key, "[redacted]")
			}
		}
		f.Text = strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, f.Text)
	}
}

// order returns a number by which sections sort: 4.2 comes before 4.10.
func order(section string) int {
	chapter, part, _ := strings.Cut(section, ".")
	c, _ := strconv.Atoi(chapter)
	p, _ := strconv.Atoi(part)
	return 100*c + p
}

// Broken returns how many findings are about something that does not work.
func (r *Report) Broken() int { return r.count(bad) }

func (r *Report) count(m mark) (n int) {
	for _, f := range r.Findings {
		if f.Mark == m {
			n++
		}
	}
	return n
}

// head returns the lines before the findings. The first has what failed.
func (r *Report) head() []string {
	requests := fmt.Sprintf("%d requests, none failed", r.Requests)
	if r.Failed > 0 {
		requests = fmt.Sprintf("%d requests, %d failed (status or cause): %s", r.Requests, r.Failed, r.Failures.list("%s (%d)"))
	}
	summary := fmt.Sprintf("%d findings as expected, %d to look at, %d broken, %d not examined", r.count(good), r.count(odd), r.count(bad), r.count(skipped))
	if r.Interrupted {
		summary += "; interrupted"
	}
	return []string{
		requests + ".",
		fmt.Sprintf("%s, examined %s with SDK %s, %s, %s.", r.Service, r.At.Format("2006-01-02 15:04 UTC"), r.SDK, r.Go, r.System),
		summary + ".",
		r.Contains,
	}
}

// advice returns the advice with the row of docs/unknowns.md that has more.
func (f *finding) advice() string {
	if f.Row == "" {
		return f.Advice
	}
	return f.Advice + " (docs/unknowns.md, " + f.Row + ")"
}

// WriteTable writes the report for people, in lines of at most width columns.
func (r *Report) WriteTable(w io.Writer, width int) error {
	for _, line := range r.head() {
		fmt.Fprintln(w, wrap(line, width))
	}
	left := width
	for _, f := range r.Findings {
		left = min(left, width-len("✓  §4.10  ")-text.StringWidth(f.Topic))
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleDefault)
	t.Style().Options, t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = table.OptionsNoBordersAndSeparators, "", "  "
	t.SuppressTrailingSpaces()
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 4, WidthMax: max(left, 20), WidthMaxEnforcer: text.WrapSoft}})
	for _, f := range r.Findings {
		t.AppendRow(table.Row{signs[f.Mark], "§" + f.Section, f.Topic, f.Text})
		if f.Advice != "" {
			t.AppendRow(table.Row{"", "", "", "→ " + f.advice()})
		}
	}
	const legend = "✓ as expected   ! worth a look   ✗ broken   · not examined   § section of docs/service.md"
	_, err := fmt.Fprintf(w, "\n%s\n\n%s\n", t.Render(), wrap(legend, width))
	return err
}

// spaces are those that WrapSoft leaves at the end of lines.
var spaces = regexp.MustCompile(` +(\n|$)`)

func wrap(words string, width int) string {
	return spaces.ReplaceAllString(text.WrapSoft(words, width), "$1")
}

// WriteMarkdown writes the report for an issue.
func (r *Report) WriteMarkdown(w io.Writer) error {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"", "section", "topic", "finding"})
	cell := strings.NewReplacer("<", "&lt;", "`", "'", "@", "&#64;")
	for _, f := range r.Findings {
		text := f.Text
		if f.Advice != "" {
			text += " → " + f.advice()
		}
		t.AppendRow(table.Row{signs[f.Mark], "§" + f.Section, f.Topic, cell.Replace(text)})
	}
	_, err := fmt.Fprintf(w, "## What the service really does\n\n%s\n\n%s\n", strings.Join(r.head(), "\n"), t.RenderMarkdown())
	return err
}

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

// counts is how often each value was seen.
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
