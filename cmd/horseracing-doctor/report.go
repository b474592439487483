package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/horseracing-go/horseracing"
)

// mark is how a finding is to be read.
type mark string

const (
	good    mark = "ok"      // as documented, or as the SDK expects
	note    mark = "note"    // worth a look; nothing is wrong
	bad     mark = "broken"  // something does not work
	skipped mark = "skipped" // not examined
)

func (m mark) sign() string {
	return map[mark]string{good: "✓", note: "!", bad: "✗", skipped: "·"}[m]
}

// finding is one line of the report.
type finding struct {
	Section string `json:"section,omitempty"` // of docs/service.md
	Topic   string `json:"topic"`
	Mark    mark   `json:"mark"`
	Text    string `json:"text"`
	Advice  string `json:"advice,omitempty"` // what to do
}

type report struct {
	Service     string    `json:"service"`
	SDK         string    `json:"sdk"`
	At          time.Time `json:"at"`
	Requests    int       `json:"requests"`
	Interrupted bool      `json:"interrupted"`
	Findings    []finding `json:"findings"`
}

// report puts down what was found, without keys.
func (d *doctor) report(interrupted bool) report {
	traffic := d.probe.traffic()
	r := report{
		Service: d.facts.Service, SDK: horseracing.Version, At: d.facts.Began.UTC().Truncate(time.Second),
		Requests: traffic.Requests, Interrupted: interrupted, Findings: d.facts.findings(traffic),
	}
	// The texts are made of counts, names of members and values that the SDK has
	// redacted. A service that puts a key into a value must not get it into a report.
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Text, f.Advice = d.clean(f.Text), d.clean(f.Advice)
	}
	return r
}

func (d *doctor) clean(text string) string {
	for _, key := range []string{d.set.apiKey, string(d.set.userKey)} {
		if key != "" {
			text = strings.ReplaceAll(text, key, "[redacted]")
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	return text
}

func (r report) broken() bool {
	for _, f := range r.Findings {
		if f.Mark == bad {
			return true
		}
	}
	return false
}

func (r report) summary() string {
	n := map[mark]int{}
	for _, f := range r.Findings {
		n[f.Mark]++
	}
	text := fmt.Sprintf("%d requests: %d as expected, %d to look at, %d broken", r.Requests, n[good], n[note], n[bad])
	if n[skipped] > 0 {
		text += fmt.Sprintf(", %d not examined", n[skipped])
	}
	if r.Interrupted {
		text += "; interrupted"
	}
	return text
}

func (f finding) section() string {
	if f.Section == "" {
		return ""
	}
	return "§" + f.Section
}

func (r report) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "%s, examined %s\n\n", r.Service, r.At.Format("2006-01-02 15:04 UTC"))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Mark.sign(), f.section(), f.Topic, f.Text)
		if f.Advice != "" {
			fmt.Fprintf(table, "\t\t\t  → %s\n", f.Advice)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s.\n✓ as expected   ! worth a look   ✗ broken   · not examined   § section of docs/service.md\n", r.summary())
	return err
}

func (r report) writeMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "## What the service really does\n\n%s, examined %s with SDK %s. %s.\n\n| | section | topic | finding |\n|---|---|---|---|\n",
		r.Service, r.At.Format(time.RFC3339), r.SDK, r.summary())
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "@", "&#64;")
	for _, f := range r.Findings {
		text := f.Text
		if f.Advice != "" {
			text += " → " + f.Advice
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s | %s |\n", f.Mark.sign(), f.section(), f.Topic, cell.Replace(text)); err != nil {
			return err
		}
	}
	return nil
}

func (r report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
