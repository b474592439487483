// Package doctor finds out how the service reads its own document, where another reading
// than the literal one costs money or races. It only reads.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Config sets how much is examined.
type Config struct {
	Progress func(topic string)  // called before each check
	APIKey   string              // kept out of the report, as the UserKey is
	UserKey  horseracing.UserKey // whose horses to read, unless empty
}

// Doctor examines one service, once. It makes one request at a time.
type Doctor struct {
	config *Config
	client *horseracing.Client
	probe  *probe
	report Report
	drifts []horseracing.Drift
	err    error // why the check that runs could not find out its thing

	opened, top []entry   // the open races; the newest page of finished ones
	second      []entry   // the page before it, or empty if bodies of GET requests do not arrive
	walked      [][]entry // the pages of one walk back
}

// New returns a Doctor.
func New(config *Config) *Doctor {
	return &Doctor{config: config, probe: &probe{failures: map[string]int{}}}
}

// Options are those of the client that Examine is given, which may have others.
func (d *Doctor) Options() []horseracing.Option {
	return []horseracing.Option{
		horseracing.WithRetry(horseracing.Retry{Max: 1, MinWait: 500 * time.Millisecond, MaxWait: 15 * time.Second}),
		horseracing.WithSkipHandler(nil), // an entry that cannot be read is a finding
		horseracing.WithDriftHandler(func(_ context.Context, drift horseracing.Drift) { d.drifts = append(d.drifts, drift) }),
		horseracing.WithTransportWrapper(d.probe.wrap), // first, so that it counts what is really sent
	}
}

// Examine makes the checks until the context ends. The error is a reason to make none: the service is not there, or refuses the key.
func (d *Doctor) Examine(ctx context.Context, client *horseracing.Client) (*Report, error) {
	d.client = client
	d.config.Progress("is it the service")
	if _, err := client.Missions.Catalogue(ctx); err != nil && !errors.Is(err, horseracing.ErrServer) {
		return nil, err
	}
	for _, c := range d.checks() {
		d.config.Progress(c.topic)
		d.err = nil
		f := finding{Section: c.section, Topic: c.topic, Row: c.row, Mark: skipped, Text: "not examined: what it needs could not be read"}
		if c.needs() {
			f.Mark, f.Text = c.do(ctx)
		}
		switch {
		case (d.err != nil || f.Mark == skipped) && ctx.Err() != nil:
			f.Mark, f.Text = skipped, "not examined: interrupted"
		case d.err != nil:
			f.Mark, f.Text = skipped, fmt.Sprintf("not examined: %v", d.err)
		case f.Mark == odd || f.Mark == bad:
			f.Advice = c.advice
		}
		d.report.Findings = append(d.report.Findings, f)
	}
	d.report.finish(d, ctx.Err() != nil)
	return &d.report, nil
}

// fail notes the first error that keeps the check from finding out its thing.
func (d *Doctor) fail(err error) { d.err = cmp.Or(d.err, err) }

// get sends a GET and returns status and body of the response, whatever they
// are. Without a response the check has failed.
func (d *Doctor) get(ctx context.Context, path string, body any) (status int, text []byte) {
	var captured horseracing.Response
	var raw json.RawMessage
	err := d.client.Do(ctx, http.MethodGet, path, body, &raw, horseracing.CaptureResponse(&captured))
	if captured.StatusCode == 0 {
		d.fail(err)
	}
	return captured.StatusCode, captured.Body
}

// page requests a page of finished races of tier 5, the latest ones that start before an
// instant, or without one the newest. Without a list the check has failed.
func (d *Doctor) page(ctx context.Context, before int64) []entry {
	body := map[string]any{"tier": 5}
	if before != 0 {
		body["start_time_from"] = before
	}
	status, text := d.get(ctx, resultsPath, body)
	if shape := shapeOf(text); status >= 300 || status != http.StatusNoContent && shape != "null" && !strings.HasPrefix(shape, "an array") {
		d.fail(fmt.Errorf("status %d, %s", status, shape))
	}
	return decodeEntries(text)
}

const (
	resultsPath = "/api/v2/races/results"
	openPath    = "/api/v1/races/open"
)

// probe is the transport below the client. It counts.
type probe struct {
	next     http.RoundTripper
	requests int
	failures map[string]int // by status
	date     time.Time      // of the newest response
}

func (p *probe) wrap(next http.RoundTripper) http.RoundTripper {
	p.next = next
	return p
}

func (p *probe) RoundTrip(req *http.Request) (*http.Response, error) {
	p.requests++
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		if req.Context().Err() == nil {
			p.failures["no response"]++
		}
		return resp, err
	}
	p.date, _ = http.ParseTime(resp.Header.Get("Date"))
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests { // other refusals are findings
		p.failures[fmt.Sprint(resp.StatusCode)]++
	}
	return resp, nil
}
