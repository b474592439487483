package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
)

// many is the number of arguments of a command that has no limit.
const many = 1 << 20

// takes returns a check of how many arguments there are. The usage line names them.
func takes(least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) < least {
			return usageError(strings.Fields(command.Use)[1+len(args)] + " is missing")
		}
		if len(args) > most {
			return usageError(fmt.Sprintf("unexpected argument %q", args[most]))
		}
		return nil
	}
}

// flagMistake returns the mistake of a flag. A number, a duration or a bool that cannot
// be read gets a sentence in place of the one of package strconv or time.
func flagMistake(err error) error {
	invalid, isValue := errors.AsType[*pflag.InvalidValueError](err)
	if !isValue {
		return usageError(err.Error())
	}
	cause := invalid.Unwrap().Error()
	want := cause // of a flag that says it itself
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64":
		want = "want a whole number"
	case "duration":
		want = "want a number with its unit, like 30s or 5m"
	case "bool":
		want = "want true or false"
	}
	return usageError(strings.TrimSuffix(err.Error(), cause) + want)
}

// refuse returns a mistake if the command line has one of the flags.
func refuse(flags *pflag.FlagSet, why string, names ...string) error {
	i := slices.IndexFunc(names, flags.Changed)
	if i < 0 {
		return nil
	}
	if short := flags.Lookup(names[i]).Shorthand; short != "" {
		return usageError("-" + short + " " + why)
	}
	return usageError("--" + names[i] + " " + why)
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

// tokensFlag defines a flag that takes an amount in tokens. It is nil by default.
func tokensFlag(flags *pflag.FlagSet, name, about string) **horseracing.BigInt {
	amount := new(*horseracing.BigInt)
	flags.Func(name, about, func(text string) error {
		units, err := horseracing.ParseUnits(text, tokenPlaces)
		if err != nil || units.Cmp(horseracing.BigInt{}) < 0 {
			return errors.New("want an amount in tokens, like 2.5")
		}
		*amount = &units
		return nil
	})
	return amount
}

// timeFlag defines a flag that takes an instant.
func timeFlag(flags *pflag.FlagSet, name, about string) *time.Time {
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
