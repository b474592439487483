package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// service is what the commands read: the service of the environment, or with
// --demo an embedded fake of it.
type service = connection.Service

// usual is how long a command may take that does not run until it is interrupted.
const usual = 24 * time.Hour

// serviceFlags defines the flags of a command that uses the service.
func (p *program) serviceFlags(flags *pflag.FlagSet, mayDemo bool) {
	flags.Func("rate", "send at most this `NUMBER` of requests per second", func(text string) (err error) {
		if p.rate, err = strconv.ParseFloat(text, 64); err != nil || !(p.rate > 0) {
			return errors.New("want a number above zero")
		}
		return nil
	})
	flags.DurationVar(&p.timeout, "timeout", 0, "end with status 5 after this `TIME`, like 10m; default 24h, and none for watch and --follow")
	if mayDemo {
		flags.BoolVar(&p.demo, "demo", false, "read an embedded fake of the service")
	}
}

// serving is what a command does with the service.
type serving func(ctx context.Context, s *service, args []string) error

// reading returns a command that reads the service.
func (p *program) reading(use, short string, args cobra.PositionalArgs, do serving) *cobra.Command {
	c := p.command(use, short, args, func(c *cobra.Command, args []string) error { return p.withService(c, args, do) })
	p.serviceFlags(c.Flags(), true)
	return c
}

// listing returns a command that reads a list and prints it. What was found is printed
// beside an error.
func listing[T any](p *program, use, short string, args cobra.PositionalArgs, l layout[T], read func(ctx context.Context, s *service, args []string) ([]horseracing.Entry[T], error)) *cobra.Command {
	var v *view[T]
	c := p.reading(use, short, args, func(ctx context.Context, s *service, args []string) error {
		entries, err := read(ctx, s, args)
		return v.print(entries, err)
	})
	v = newView(p, c, l)
	return c
}

// errExpired is the error of a command that took longer than --timeout.
var errExpired = errors.New("it took longer than --timeout")

// withService connects to the service, and calls do.
func (p *program) withService(c *cobra.Command, args []string, do serving, opts ...horseracing.Option) error {
	isFollowing, _ := c.Flags().GetBool("follow") // false if there is no such flag
	p.isEndless = isFollowing || c.Name() == "watch"
	ctx := c.Context()
	if p.timeout < 0 || p.timeout == 0 && c.Flags().Changed("timeout") {
		return usageError("--timeout must be above zero")
	}
	if limit := cmp.Or(p.timeout, usual); p.timeout > 0 || !p.isEndless {
		limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w %v", errExpired, limit))
		defer cancel()
		ctx = limited
	}
	s, err := connection.Open(p.demo, p.profile, os.Getenv, append(p.options(), opts...)...)
	if err != nil {
		return usageError(err.Error())
	}
	defer s.Close()
	p.use(s)
	err = do(ctx, s, args)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errExpired) && !isDecided(err) {
		err = errors.Join(cause, err)
	}
	if p.skipped > 0 {
		err = errors.Join(err, fmt.Errorf("%d entries could not be read", p.skipped))
	}
	return err
}

// use makes the errors and the output those of a service.
func (p *program) use(s *service) { p.service, p.keys = s, redact.New(s.APIKey, string(s.UserKey)) }

// options are those of every client.
func (p *program) options() []horseracing.Option {
	options := []horseracing.Option{horseracing.WithLogger(p.log()), horseracing.WithUserAgent("horseracing-cli/" + horseracing.Version),
		horseracing.WithDriftHandler(p.reportDrift), horseracing.WithSkipHandler(p.skip)}
	if p.rate > 0 {
		options = append(options, horseracing.WithRateLimit(p.rate, 1))
	}
	return options
}

// reportDrift prints once that a member could not be read.
func (p *program) reportDrift(_ context.Context, d horseracing.Drift) {
	if d.Kind == horseracing.DriftWrongType {
		p.say(fmt.Sprintf("%s: %s is not of the documented type", d.Route, d.Path))
	}
}

// skip prints an entry that cannot be read, which makes the program end with status 1.
func (p *program) skip(_ context.Context, err error) {
	p.skipped++
	if unread, ok := errors.AsType[*horseracing.DecodeError](err); ok {
		p.unread = append(p.unread, strings.Split(unread.Field+"/", "/")[1])
	}
	p.complain(err)
}

// ownerOf returns the key of the user whose horses these are.
func ownerOf(s *service) (horseracing.UserKey, error) {
	if s.UserKey == "" {
		return "", usageError("set HORSERACING_USER_KEY to the key of the horses' owner, or save it with horseracing login")
	}
	return s.UserKey, nil
}

// endsReading reports whether an error of a sequence that continues is one that
// stays: of the query or of the key.
func endsReading(err error) bool {
	return errors.Is(err, horseracing.ErrInvalidArgument) || refusesKey(err)
}
