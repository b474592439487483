// Package doctor finds out what the service really does: whether its responses
// are as documented, and what the documentation leaves open. It only reads.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Config sets how much is examined.
type Config struct {
	Requests int                 // the most requests to send
	Watch    time.Duration       // how long to watch for late results, if not zero
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

	// What was read.
	open, finished []horseracing.Race
	tournaments    []horseracing.Tournament
	horses, owned  []horseracing.Horse
	missions       []horseracing.HorseMissions
	breeding       []horseracing.BreedingListing
	catalogue      *horseracing.MissionCatalogue
	opened, top    []entry   // the open races; the newest page of finished ones
	from           int64     // a time in the past with races before it
	second         []entry   // the page before from, or empty if bodies of GET requests do not arrive
	walked         [][]entry // the pages of one walk back
}

// New returns a Doctor.
func New(config *Config) *Doctor {
	return &Doctor{
		config: config,
		probe:  &probe{most: config.Requests, spent: func() {}, failures: counts{}, headers: map[string]counts{}},
		report: Report{
			At: time.Now().UTC().Truncate(time.Second), SDK: horseracing.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Contains: contains,
		},
	}
}

// Options are those of the client that Examine is given, which may have others.
func (d *Doctor) Options() []horseracing.Option {
	options := []horseracing.Option{
		horseracing.WithRetry(horseracing.Retry{Max: 1, MinWait: 500 * time.Millisecond, MaxWait: 15 * time.Second}),
		horseracing.WithDriftHandler(func(_ context.Context, drift horseracing.Drift) { d.drifts = append(d.drifts, drift) }),
		horseracing.WithTransportWrapper(d.probe.wrap), // first, so that it counts what is really sent
	}
	return options
}

// check finds out one thing. If it cannot, it calls fail or returns notRead.
type check struct {
	section string // of docs/service.md
	topic   string
	row     string // of docs/unknowns.md, if it is about how the service reads its document
	do      func(context.Context) finding
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

// Examine makes the checks until the context ends or no requests are left. The
// error is a reason to make none: the service is not there, or refuses the key.
func (d *Doctor) Examine(ctx context.Context, client *horseracing.Client) (*Report, error) {
	d.client = client
	if service, err := url.Parse(client.BaseURL()); err == nil { // a client has one that can be read
		d.report.Service = service.Scheme + "://" + service.Host
	}
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.probe.spent = func() { stop(errNoRequestsLeft) }
	for _, checks := range []func() []check{d.operations, d.values, d.paging, d.readings, d.traffic} {
		for _, c := range checks() {
			d.config.Progress(c.topic)
			d.err = nil
			f := c.do(running)
			switch {
			case d.err != nil && ctx.Err() != nil:
				f = found(skipped, "not examined: interrupted")
			case d.err != nil:
				f = found(skipped, "not examined: %v", cmp.Or(context.Cause(running), d.err))
			}
			f.Section, f.Topic, f.Row = c.section, c.topic, c.row
			d.report.Findings = append(d.report.Findings, f)
		}
	}
	d.report.finish(ctx.Err() != nil, d.probe, d.config.APIKey, string(d.config.UserKey))
	return &d.report, nil
}

// connect returns an error unless this is the service, and it accepts the key.
func (d *Doctor) connect(ctx context.Context) error {
	d.config.Progress("is it the service")
	_, err := d.client.Missions.Catalogue(ctx)
	_, noResponse := errors.AsType[*horseracing.TransportError](err)
	if err == nil || noResponse || errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, horseracing.ErrForbidden) {
		return err
	}
	// One operation may fail; a server that has no second one is another server.
	if _, second := d.client.Races.Open(ctx); second != nil {
		return fmt.Errorf("%s does not respond as the service: %w", d.report.Service, err)
	}
	return nil
}
