package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// contains is part of every report.
const contains = "This report names the host. It contains no key. If a line is marked ! or ✗, attach it to an issue."

// Report is what was found out. It is without keys.
type Report struct {
	Service     string         `json:"service"`
	Settings    string         `json:"settings,omitempty"` // where they come from
	At          time.Time      `json:"at"`
	SDK         string         `json:"sdk"`
	Go          string         `json:"go"`
	System      string         `json:"system"`
	Requests    int            `json:"requests"`
	Failed      int            `json:"failed"`
	Failures    map[string]int `json:"failures,omitempty"` // by status
	Interrupted bool           `json:"interrupted"`
	Contains    string         `json:"contains"`
	Findings    []finding      `json:"findings"`
	Broken      int            `json:"-"` // findings about something that does not work
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

// finding is what a check found.
type finding struct {
	Section string `json:"section"` // of docs/service.md
	Topic   string `json:"topic"`
	Mark    mark   `json:"mark"`
	Text    string `json:"text"`
	Advice  string `json:"advice,omitempty"` // what is then different for the user
	Row     string `json:"row,omitempty"`    // of docs/unknowns.md
}

// oddIf returns what a check found: that something is worth a look, or is as expected.
func oddIf(isOdd bool, format string, args ...any) (mark, string) {
	if isOdd {
		return odd, fmt.Sprintf(format, args...)
	}
	return good, fmt.Sprintf(format, args...)
}

// finish adds what is not a finding, and removes the keys: a service that puts a key into a
// value must not get it into a report.
func (r *Report) finish(d *Doctor, isInterrupted bool) {
	if service, err := url.Parse(d.service.BaseURL()); err == nil { // a client has one that can be read
		r.Service = service.Scheme + "://" + service.Host
	}
	from := d.service.From
	if r.Settings = from.BaseURL + ", " + from.APIKey; d.service.UserKey != "" {
		r.Settings += ", " + from.UserKey
	}
	r.At, r.SDK, r.Go, r.System = time.Now().UTC().Truncate(time.Second), horseracing.Version, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	r.Contains, r.Interrupted, r.Requests, r.Failed, r.Failures = contains, isInterrupted, d.probe.requests, d.probe.failed, d.probe.failures
	keys := redact.New(d.service.APIKey, string(d.service.UserKey))
	for i := range r.Findings {
		r.Findings[i].Text = keys.Visible(r.Findings[i].Text)
	}
}

// WriteText writes the report for people, in lines of at most width columns: the findings
// that are not as expected, and in one sentence the others, unless isVerbose. It starts each
// paragraph with a bullet for Markdown.
func (r *Report) WriteText(w io.Writer, width int, bullet string, isVerbose bool) error {
	requests := fmt.Sprintf("%d requests, none failed", r.Requests)
	if r.Failed > 0 {
		requests = fmt.Sprintf("%d requests, %d failed (by status or cause: %s)", r.Requests, r.Failed, strings.Trim(fmt.Sprint(r.Failures), "map[]"))
	}
	if r.Interrupted {
		requests += "; interrupted"
	}
	paragraphs := []string{
		fmt.Sprintf("%s, examined %s with SDK %s, %s, %s: %s.", r.Service, r.At.Format("2006-01-02 15:04 UTC"), r.SDK, r.Go, r.System, requests),
		r.Contains,
	}
	if r.Settings != "" {
		paragraphs = append(paragraphs, "Settings: "+r.Settings+".")
	}
	var others []string
	for _, f := range r.Findings {
		if f.Mark == good && !isVerbose {
			others = append(others, f.Topic)
			continue
		}
		paragraph := fmt.Sprintf("%s %s (§%s): %s", signs[f.Mark], f.Topic, f.Section, f.Text)
		if f.Advice != "" {
			paragraph += " → " + f.Advice
			if f.Row != "" {
				paragraph += " (docs/unknowns.md, " + f.Row + ")"
			}
		}
		paragraphs = append(paragraphs, paragraph)
	}
	if len(others) > 0 {
		paragraphs = append(paragraphs, fmt.Sprintf("✓ %d of %d as expected: %s.", len(others), len(r.Findings), strings.Join(others, ", ")))
	}
	paragraphs = append(paragraphs, "✓ as expected, ! worth a look, ✗ broken, · not examined, § section of docs/service.md")
	for _, paragraph := range paragraphs {
		if _, err := fmt.Fprintf(w, "%s%s\n", bullet, unpadded.ReplaceAllString(text.WrapSoft(paragraph, width), "")); err != nil {
			return err
		}
	}
	return nil
}

// unpadded finds the spaces with which the wrapping of a text ends its lines.
var unpadded = regexp.MustCompile(`(?m) +$`)

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
