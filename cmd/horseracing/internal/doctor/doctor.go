// Package doctor finds out what the service really does: whether its responses
// are as documented, and what the documentation leaves open. It only reads.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Config sets how much is examined.
type Config struct {
	Requests int                 // the most requests to send
	Watch    time.Duration       // how long to watch for late results; not at all if zero
	Record   string              // folder for the responses; none is written if empty
	Progress func(topic string)  // called before each check
	APIKey   string              // kept out of the report, as the UserKey is
	UserKey  horseracing.UserKey // whose horses to read; none are read if empty
}

// Doctor examines one service, once. It makes one request at a time.
type Doctor struct {
	config *Config
	client *horseracing.Client
	probe  *probe
	report Report
	drifts []horseracing.Drift
	err    error // why the check that runs could not find out its thing
}

// New returns a Doctor. connect makes the client, with the options that it is
// given and others, and may set the keys of config.
func New(config *Config, connect func(...horseracing.Option) (*horseracing.Client, error)) (*Doctor, error) {
	d := &Doctor{config: config, report: Report{
		At: time.Now().UTC().Truncate(time.Second), SDK: horseracing.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Contains: contains,
	}}
	options := []horseracing.Option{
		horseracing.WithRetry(horseracing.Retry{Max: 1, MinWait: 500 * time.Millisecond, MaxWait: 15 * time.Second}),
		horseracing.WithDriftHandler(func(_ context.Context, drift horseracing.Drift) { d.drifts = append(d.drifts, drift) }),
		// The innermost wrapper comes first: it counts what is really sent.
		horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
			d.probe = &probe{next: next, most: config.Requests, spent: func() {}, failures: counts{}, headers: map[string]counts{}}
			return d.probe
		}),
	}
	if config.Record != "" {
		options = append(options, horseracing.WithTransportWrapper(horseracingtest.Record(config.Record)))
	}
	var err error
	if d.client, err = connect(options...); err != nil {
		return nil, err
	}
	service, err := url.Parse(d.client.BaseURL())
	if err != nil {
		return nil, err
	}
	d.report.Service = service.Scheme + "://" + service.Host
	return d, nil
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
