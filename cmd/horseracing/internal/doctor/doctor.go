// Package doctor finds out how the service behaves in cases that the API reference leaves open,
// if another behaviour than the literal one costs money or races. It changes nothing.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
)

// Doctor examines one service, once. It makes one request at a time.
type Doctor struct {
	progress func(topic string) // called before each check
	service  *connection.Service
	probe    *probe
	report   Report
	drifts   []horseracing.Drift
	err      error // why the check that runs could not find out its thing

	opened, top []entry   // the open races; the newest page of finished ones
	second      []entry   // the page before it, or empty if bodies of GET requests do not arrive
	walked      [][]entry // the pages of one walk back
}

// New returns a Doctor that calls progress before each check.
func New(progress func(topic string)) *Doctor {
	return &Doctor{progress: progress, probe: &probe{failures: map[string]int{}, broken: map[string]bool{}}}
}

// Options are those of the service that Examine is given, which may have others.
func (d *Doctor) Options() []horseracing.Option {
	return []horseracing.Option{
		horseracing.WithRetry(horseracing.Retry{Max: 1, MinWait: 500 * time.Millisecond, MaxWait: 15 * time.Second}),
		horseracing.WithSkipHandler(nil), // an entry that cannot be read is a finding
		horseracing.WithDriftHandler(func(_ context.Context, drift horseracing.Drift) { d.drifts = append(d.drifts, drift) }),
		horseracing.WithTransportWrapper(d.probe.wrap), // first, so that it counts what is really sent
	}
}

// ErrDown is the error of a service that fails too often to be examined.
var ErrDown = errors.New("most requests failed")

// Examine makes the checks until the context ends. The error is a reason to make none, without
// a report: the service is not there, refuses the key, or fails on each route. With a report it
// is ErrDown.
func (d *Doctor) Examine(ctx context.Context, service *connection.Service) (*Report, error) {
	d.service = service
	d.progress("is it the service")
	_, err := service.Missions.Catalogue(ctx)
	_, isTransport := errors.AsType[*horseracing.TransportError](err)
	if err != nil && (isTransport || !isUnread(err) || !d.responds(ctx, openPath) && !d.responds(ctx, resultsPath)) {
		return nil, err
	}
	for _, c := range d.checks() {
		d.progress(c.topic)
		d.err = nil
		f := finding{Section: c.section, Topic: c.topic, Row: c.row, Mark: skipped, Text: "not examined: what it needs could not be read"}
		if (c.needs == nil || c.needs()) && !d.probe.isDown() {
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
		if f.Mark == bad {
			d.report.Broken++
		}
		d.report.Findings = append(d.report.Findings, f)
	}
	d.report.finish(d, ctx.Err() != nil)
	if d.probe.isDown() {
		return &d.report, fmt.Errorf("%w: %s", ErrDown, d.probe.whatIsDown())
	}
	return &d.report, nil
}

// fail notes the first error that keeps the check from finding out its thing.
func (d *Doctor) fail(err error) { d.err = cmp.Or(d.err, err) }

// responds reports whether a route does not fail.
func (d *Doctor) responds(ctx context.Context, path string) bool {
	d.err = nil
	d.get(ctx, path, nil)
	return d.err == nil
}

// isUnread reports whether an error shows no more than that the service, or its network path,
// fails or is too busy.
func isUnread(err error) bool {
	_, isTransport := errors.AsType[*horseracing.TransportError](err)
	return isTransport || errors.Is(err, horseracing.ErrServer) || errors.Is(err, horseracing.ErrRateLimited)
}

// get sends a GET and returns status and body of the response. Without a response, or with one
// that says only that the service fails or is too busy, the check has failed. Nothing is sent
// to a service that is down.
func (d *Doctor) get(ctx context.Context, path string, body any) (status int, text []byte) {
	var captured horseracing.Response
	var raw json.RawMessage
	if d.probe.isDown() {
		d.fail(ErrDown)
		return 0, nil
	}
	err := d.service.Do(ctx, http.MethodGet, path, body, &raw, horseracing.CaptureResponse(&captured))
	switch {
	case captured.StatusCode == 0:
		d.fail(err)
	case isUnread(err):
		d.failBy(path, captured.StatusCode, captured.Body)
	}
	return captured.StatusCode, captured.Body
}

// failBy notes a response that is not what the check needs.
func (d *Doctor) failBy(path string, status int, text []byte) {
	d.fail(fmt.Errorf("%s: status %d, %s", path, status, shapeOf(text)))
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
		d.failBy(resultsPath, status, text)
	}
	return decodeEntries(text)
}

const (
	resultsPath = "/api/v2/races/results"
	openPath    = "/api/v1/races/open"
)

// probe counts, below the client.
type probe struct {
	requests int
	failed   int
	failures map[string]int  // by status
	broken   map[string]bool // the paths to which a request failed
	isAlive  bool            // another path has responded
	date     time.Time       // of the newest response
	status   int             // of the last request, or zero if it got no response
}

// fail notes a request that failed.
func (p *probe) fail(cause string, req *http.Request) {
	p.failed++
	p.failures[cause]++
	p.broken[req.URL.Path] = true
}

// whatIsDown names what fails: a few paths, or all.
func (p *probe) whatIsDown() string {
	paths := slices.Sorted(maps.Keys(p.broken))
	if p.isAlive && len(paths) <= 3 {
		return "those to " + strings.Join(paths, ", ") + ", but not those to other paths"
	}
	return "the service, or something on the network path to it, is down"
}

// isDown reports whether most of several requests failed.
func (p *probe) isDown() bool { return p.requests >= 10 && 2*p.failed > p.requests }

func (p *probe) wrap(next http.RoundTripper) http.RoundTripper {
	return connection.RoundTripper(func(req *http.Request) (*http.Response, error) {
		p.requests++
		p.status = 0
		resp, err := next.RoundTrip(req)
		if err != nil {
			if req.Context().Err() == nil {
				p.fail("no response", req)
			}
			return resp, err
		}
		p.status = resp.StatusCode
		p.date, _ = http.ParseTime(resp.Header.Get("Date"))
		if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests { // other refusals are findings
			p.fail(fmt.Sprint(resp.StatusCode), req)
		} else {
			p.isAlive = true
		}
		return resp, nil
	})
}
