package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing/cmd/horseracing/internal/doctor"
)

func (p *program) doctorCommand() *cobra.Command {
	var markdown bool
	c := p.command("doctor", "Test how the service behaves, with reads only", cobra.NoArgs, func(c *cobra.Command, args []string) error {
		if markdown && p.asJSON {
			return usageError("--markdown and --json exclude each other")
		}
		began := time.Now()
		p.rate = cmp.Or(p.rate, 2)
		d := doctor.New(func(topic string) { p.reportProgress("%v  %s", time.Since(began).Round(time.Second), topic) })
		return p.withService(c, args, func(ctx context.Context, s *service, _ []string) error {
			report, err := d.Examine(ctx, s)
			if report == nil {
				return err
			}
			if p.demo {
				report.Settings, report.Service, report.Contains = "", "the embedded fake (--demo)", "This report is about the fake, not about the service."
			}
			return cmp.Or(err, p.printReport(ctx, report, markdown))
		}, d.Options()...)
	})
	c.Flags().BoolVar(&markdown, "markdown", false, "print the report as Markdown")
	p.serviceFlags(c.Flags(), true)
	return c
}

// printReport prints a report, and returns an error if something is broken.
func (p *program) printReport(ctx context.Context, report *doctor.Report, isMarkdown bool) (err error) {
	switch {
	case p.asJSON:
		err = p.printJSON(report)
	case isMarkdown:
		err = report.WriteText(p.stdout, math.MaxInt, "* ", true)
	default:
		err = report.WriteText(p.stdout, p.width, "", p.verbose)
	}
	if err == nil && report.Broken > 0 {
		err = fmt.Errorf("%d of the checks show that something does not work", report.Broken)
	}
	if err == nil && report.Interrupted {
		err = ctx.Err()
	}
	return err
}
