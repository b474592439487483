package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) resultsCommand() *cobra.Command {
	var o *listingOptions
	var v *view[horseracing.Race]
	c := p.reading("results", "Finished races, the newest first, or a file of them", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		if err := o.resolve(ctx, p, s); err != nil {
			return err
		}
		if o.out != "" {
			return p.keepResults(ctx, s, o)
		}
		return printFinished(ctx, p, s, o, listed[horseracing.Race]{
			view: v, start: func(r *horseracing.Race) time.Time { return r.StartTime.Time }, results: s.Races.Results, follow: s.Races.Follow,
		})
	})
	o = listingFlags(c, "race")
	fileFlag(c.Flags(), &o.out, "out", "o", "keep the races in this `FILE`, each once")
	v = newView(p, c, p.raceLayout().with(finishedColumns...))
	for _, other := range []string{"limit", "before", "cursor", "sort", "columns", "csv", "jq", "level", "max-fee", "length"} {
		c.MarkFlagsMutuallyExclusive("out", other)
	}
	return c
}
