package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

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

// head returns the lines before the findings. The first says what failed.
func (r *Report) head() []string {
	summary := fmt.Sprintf("%d findings as expected, %d to look at, %d broken, %d not examined", r.count(good), r.count(odd), r.count(bad), r.count(skipped))
	if r.Interrupted {
		summary += "; interrupted"
	}
	return []string{
		r.failed() + ".",
		fmt.Sprintf("%s, examined %s with SDK %s, %s, %s.", r.Service, r.At.Format("2006-01-02 15:04 UTC"), r.SDK, r.Go, r.System),
		summary + ".",
		r.Contains,
	}
}

// failed says how many requests failed, and how.
func (r *Report) failed() string {
	if r.Failed == 0 {
		return fmt.Sprintf("%d requests, none failed", r.Requests)
	}
	return fmt.Sprintf("%d requests, %d failed (status or cause): %s", r.Requests, r.Failed, r.Failures.list("%s (%d)"))
}

// advice returns the advice with the row of docs/unknowns.md that has more.
func (f *finding) advice() string {
	if f.Row == "" {
		return f.Advice
	}
	return f.Advice + " (docs/unknowns.md, " + f.Row + ")"
}

// WriteTable writes the report for people, in lines of at most so many columns.
func (r *Report) WriteTable(w io.Writer, width int) error {
	for _, line := range r.head() {
		fmt.Fprintln(w, wrap(line, width))
	}
	fmt.Fprintln(w)
	left := width
	for _, f := range r.Findings {
		left = min(left, width-len("✓  §4.10  ")-text.StringWidth(f.Topic))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cell := func(words string) string {
		return strings.ReplaceAll(wrap(words, max(left, 20)), "\n", "\n\t\t\t")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", signs[f.Mark], "§"+f.Section, f.Topic, cell(f.Text))
		if f.Advice != "" {
			fmt.Fprintf(table, "\t\t\t%s\n", cell("→ "+f.advice()))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n"+wrap("✓ as expected   ! worth a look   ✗ broken   · not examined   § section of docs/service.md", width))
	return err
}

func wrap(words string, width int) string {
	var lines []string
	for line := range strings.Lines(text.WrapSoft(words, width)) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}

// WriteMarkdown writes the report for an issue.
func (r *Report) WriteMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "## What the service really does\n\n%s\n\n| | section | topic | finding |\n|---|---|---|---|\n", strings.Join(r.head(), "\n"))
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "@", "&#64;")
	for _, f := range r.Findings {
		text := f.Text
		if f.Advice != "" {
			text += " → " + f.advice()
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s | %s |\n", signs[f.Mark], "§"+f.Section, f.Topic, cell.Replace(text)); err != nil {
			return err
		}
	}
	return nil
}
