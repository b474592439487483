package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// contains is part of every report.
const contains = "This report names the host. It contains no key. If a line is marked ! or ✗, attach it to an issue."

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

// finish removes the keys. Texts are made of counts, names of fields and values: a service
// that puts a key into a value must not get it into a report.
func (r *Report) finish(interrupted bool, p *probe, keys ...string) {
	r.Interrupted, r.Requests, r.Failed, r.Failures = interrupted, p.requests, p.failures.total(), p.failures
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
		requests = fmt.Sprintf("%d requests, %d failed (status or cause): %v", r.Requests, r.Failed, r.Failures)
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

// WriteTable writes the report for people, in lines of at most width columns: the findings
// that are not as expected, and in one sentence the others, unless isVerbose.
func (r *Report) WriteTable(w io.Writer, width int, isVerbose bool) error {
	for _, line := range r.head() {
		fmt.Fprintln(w, wrap(line, width))
	}
	var lines []finding
	var others []string
	for _, f := range r.Findings {
		if f.Mark == good && !isVerbose {
			others = append(others, f.Topic)
		} else {
			lines = append(lines, f)
		}
	}
	left := width
	for _, f := range lines {
		left = min(left, width-len("✓  §4.10  ")-text.StringWidth(f.Topic))
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleDefault)
	t.Style().Options, t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = table.OptionsNoBordersAndSeparators, "", "  "
	t.SuppressTrailingSpaces()
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 4, WidthMax: max(left, 20), WidthMaxEnforcer: text.WrapSoft}})
	for _, f := range lines {
		t.AppendRow(table.Row{signs[f.Mark], "§" + f.Section, f.Topic, f.Text})
		if f.Advice != "" {
			t.AppendRow(table.Row{"", "", "", "→ " + f.advice()})
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n\n%s\n", t.Render(), "✓ as expected   ! worth a look   ✗ broken   · not examined\n§ section of docs/service.md")
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "\n%s\n", wrap(fmt.Sprintf("✓ As expected: %s. --verbose shows what was found.", strings.Join(others, ", ")), width))
	}
	return nil
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

// notRead is the finding about values of which none were read.
var notRead = found(skipped, "not examined: none were read")

// counts is how often each value was seen.
type counts map[string]int

func count(races []entry, value func(entry) string) counts {
	c := counts{}
	for _, race := range races {
		c[value(race)]++
	}
	return c
}

func (c counts) total() (n int) {
	for _, count := range c {
		n += count
	}
	return n
}

// String writes each value and how often it was seen.
func (c counts) String() string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", value, c[value]))
	}
	return strings.Join(parts, ", ")
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
		return "an object"
	}
	return fmt.Sprintf("a %T", value)
}
