package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// setFlags defines the flags that every command has.
func (p *program) setFlags(flags *flag.FlagSet) {
	flags.BoolVar(&p.asJSON, "json", false, "print JSON Lines")
	flags.BoolVar(&p.asTable, "table", false, "print a table")
	flags.BoolVar(&p.demo, "demo", false, "read an embedded fake of the service")
	flags.BoolVar(&p.verbose, "v", false, "log every request to standard error")
}

// commandLine is a parsed command line.
type commandLine struct {
	command command
	flags   *flag.FlagSet
	do      action
	args    []string // what is neither the command nor a flag
}

var errVersion = errors.New("-version")

// parse reads the command line. With an error there is a commandLine if the
// command is known.
func parse(args []string, common func(*flag.FlagSet)) (*commandLine, error) {
	for i, word := range args {
		for _, c := range commands() {
			if c.name == word {
				line := newCommandLine(c, common)
				if err := line.parse(slices.Concat(args[:i], args[i+1:])); err != nil {
					return line, err
				}
				return line, line.checkCount()
			}
		}
	}
	line := newCommandLine(command{setup: func(*flag.FlagSet) action { return nil }}, common)
	version := line.flags.Bool("version", false, "")
	err := line.parse(args)
	switch {
	case err != nil:
		return nil, err
	case *version:
		return nil, errVersion
	case len(line.args) > 0:
		return nil, fmt.Errorf("there is no command %q", line.args[0])
	}
	return nil, errors.New("a command is missing")
}

func newCommandLine(c command, common func(*flag.FlagSet)) *commandLine {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // one sentence for a mistake, not the whole help
	flags.Usage = func() {}
	common(flags)
	return &commandLine{command: c, flags: flags, do: c.setup(flags)}
}

// parse reads flags and arguments in any order.
func (l *commandLine) parse(args []string) error {
	for len(args) > 0 {
		if err := l.flags.Parse(args); err != nil {
			return err
		}
		if args = l.flags.Args(); len(args) > 0 {
			l.args, args = append(l.args, args[0]), args[1:]
		}
	}
	return nil
}

// checkCount returns an error if there are too few or too many arguments.
func (l *commandLine) checkCount() error {
	switch c := l.command; {
	case l.flags.Lookup("json").Value.String() == "true" && l.flags.Lookup("table").Value.String() == "true":
		return errors.New("-json and -table exclude each other")
	case len(l.args) < c.least:
		return fmt.Errorf("%s is missing", strings.Fields(c.args)[len(l.args)])
	case len(l.args) > c.most:
		return fmt.Errorf("unexpected argument %q", l.args[c.most])
	}
	return nil
}

// parseNumbers reads arguments that are horse numbers or race ids.
func parseNumbers[T ~int64](args []string) ([]T, error) {
	var all []T
	for _, arg := range args {
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || n <= 0 {
			return nil, usageError(fmt.Sprintf("%q is not a number above zero", arg))
		}
		all = append(all, T(n))
	}
	return all, nil
}

// tierFlag defines a flag that takes ids of tiers, separated by commas.
func tierFlag(flags *flag.FlagSet) *[]horseracing.TierID {
	var tiers []horseracing.TierID
	flags.Func("tier", "the `TIERS`, like 5 or 3,4,5; without it the service's default, Omega", func(text string) error {
		tiers = nil
		for id := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(id))
			if err != nil || n <= 0 {
				return errors.New("want ids of tiers, like 3,4,5")
			}
			tiers = append(tiers, horseracing.TierID(n))
		}
		return nil
	})
	return &tiers
}

// timeFlag defines a flag that takes an instant.
func timeFlag(flags *flag.FlagSet, name, about string) *time.Time {
	var t time.Time
	flags.Func(name, about, func(text string) (err error) {
		t, err = parseTime(text, time.Now())
		return err
	})
	return &t
}

// parseTime reads a date, an instant, or how long ago: 30d, 12h.
func parseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	days, isDays := strings.CutSuffix(text, "d")
	if isDays {
		text = days + "h"
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 || ago > 1e5*time.Hour {
		return time.Time{}, errors.New("want 30d, 12h, a date like 2025-06-01, or an instant like 2025-06-01T12:00:00Z (UTC)")
	}
	if isDays {
		ago *= 24
	}
	return now.Add(-ago), nil
}
