package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/horseracing/internal/doctor"
)

const doctorHelp = `It examines whether the responses are as documented, and what the documentation
leaves open, with at most 150 requests in about a minute. It only reads. With
HORSERACING_USER_KEY it reads that user's horses too. Ctrl-C ends it, and prints
what was found so far.

The report names the host and the hippodromes. It contains no key.
The status is 1 if something is broken.

Examples:
  horseracing doctor
  horseracing doctor -markdown -record recorded >report.md
`

func examineService(flags *flag.FlagSet) action {
	var config doctor.Config
	flags.IntVar(&config.Requests, "requests", 150, "send at most this `NUMBER` of requests")
	flags.Float64Var(&config.Rate, "rate", 2, "send at most this `NUMBER` of requests per second")
	flags.DurationVar(&config.Watch, "watch", 0, "at the end, watch for this `TIME` how late results appear, like 10m")
	flags.StringVar(&config.Record, "record", "", "write every response, without keys, to files in this `FOLDER`")
	markdown := flags.Bool("markdown", false, "print the report as Markdown")
	return func(ctx context.Context, p *program, _ []string) error {
		switch {
		case config.Requests < 1 || !(config.Rate > 0) || config.Watch < 0:
			return usageError("-requests, -rate and -watch must be above zero")
		case *markdown && p.asJSON:
			return usageError("-markdown and -json exclude each other")
		}
		var s *service
		began := time.Now()
		config.Progress = func(topic string) { p.reportProgress("%v  %s", time.Since(began).Round(time.Second), topic) }
		d, err := doctor.New(&config, func(opts ...horseracing.Option) (client *horseracing.Client, err error) {
			if s, err = p.connect(opts...); err != nil {
				return nil, err
			}
			config.APIKey, config.UserKey = s.apiKey, s.userKey
			return s.Client, nil
		})
		if s != nil {
			defer s.close()
		}
		if err != nil {
			return err
		}
		report, err := d.Examine(ctx)
		if err != nil {
			return err
		}
		switch {
		case p.asJSON:
			err = p.printJSON(report)
		case *markdown:
			err = report.WriteMarkdown(p.stdout)
		default:
			err = report.WriteTable(p.stdout)
		}
		if broken := report.Broken(); err == nil && broken > 0 {
			err = fmt.Errorf("%d findings are about something that does not work", broken)
		}
		if err == nil && report.Interrupted {
			err = ctx.Err()
		}
		return err
	}
}
