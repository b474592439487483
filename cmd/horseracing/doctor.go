package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing/cmd/horseracing/internal/doctor"
)

func (p *program) doctorCommand() *cobra.Command {
	c := p.command("doctor", "Test how the service behaves, with reads only", 0, 0)
	var config doctor.Config
	c.Flags().IntVar(&config.Requests, "requests", 150, "send at most this `NUMBER` of requests")
	c.Flags().DurationVar(&config.Watch, "watch", 0, "at the end, watch for this `TIME` how late results appear, like 10m")
	markdown := c.Flags().Bool("markdown", false, "print the report as Markdown")
	p.serviceFlags(c.Flags(), true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if config.Requests < 1 || config.Watch < 0 {
			return usageError("--requests and --watch must be above zero")
		}
		if *markdown && p.asJSON {
			return usageError("--markdown and --json exclude each other")
		}
		report, err := p.examine(c.Context(), &config)
		if err != nil {
			return err
		}
		switch {
		case p.asJSON:
			err = p.printJSON(report)
		case *markdown:
			err = report.WriteMarkdown(p.stdout)
		default:
			err = report.WriteTable(p.stdout, p.width)
		}
		if broken := report.Broken(); err == nil && broken > 0 {
			err = fmt.Errorf("%d findings are about something that does not work", broken)
		}
		if err == nil && report.Interrupted {
			err = c.Context().Err()
		}
		return err
	}
	return c
}

// examine makes the doctor's checks.
func (p *program) examine(ctx context.Context, config *doctor.Config) (*doctor.Report, error) {
	began := time.Now()
	config.Progress = func(topic string) { p.reportProgress("%v  %s", time.Since(began).Round(time.Second), topic) }
	p.rate = cmp.Or(p.rate, 2)
	d := doctor.New(config)
	s, err := p.connect(d.Options()...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	config.APIKey, config.UserKey = s.APIKey, s.UserKey
	return d.Examine(ctx, s.Client)
}
