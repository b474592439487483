package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) resultsCommand() *cobra.Command {
	var o *listingOptions
	c := p.reading("results", "Finished races, the newest first, or a file of them", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		if err := o.resolve(ctx, p, s); err != nil {
			return err
		}
		if o.out != "" {
			return p.keepResults(ctx, s, o)
		}
		return printFinished(ctx, p, s, o, listed[horseracing.Race]{
			layout: finishedRaceLayout, start: func(r *horseracing.Race) time.Time { return r.StartTime.Time }, results: s.Races.Results, follow: s.Races.Follow,
		})
	})
	o = listingFlags(c, "race")
	fileFlag(c.Flags(), &o.out, "out", "o", "keep the races in this `FILE`, each once")
	for _, other := range []string{"limit", "before", "with-cursor", "cursor"} {
		c.MarkFlagsMutuallyExclusive("out", other)
	}
	return c
}
