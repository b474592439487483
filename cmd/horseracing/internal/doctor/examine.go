package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/horseracing-go/horseracing"
)

// Examine makes the checks until the context ends or no requests are left. The
// error is a reason to make none: the service is not there, or refuses the key.
func (d *Doctor) Examine(ctx context.Context) (*Report, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.probe.spent = func() { stop(errNoRequestsLeft) }
	operations := &operations{Doctor: d}
	pages := &pages{operations: operations}
	for _, checks := range []func() []check{operations.checks, operations.values, pages.checks, (&readings{pages: pages}).checks, d.traffic} {
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
