package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// needs returns a mistake if the command line has one of the flags, which need another one.
func needs(flags *pflag.FlagSet, other string, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) {
			return usageError("--" + name + " needs " + other)
		}
	}
	return nil
}

// fileFlag defines a flag that takes the name of a file. An empty one is a mistake, as from a
// variable that is not set.
func fileFlag(flags *pflag.FlagSet, path *string, name, short, about string) {
	flags.FuncP(name, short, about, func(text string) error {
		if text == "" || text == "-" {
			return errors.New("want the name of a file")
		}
		*path = text
		return nil
	})
}

// numberFlag defines a flag that takes a horse number or a race id.
func numberFlag[T ~int64](flags *pflag.FlagSet, number *T, name, about string) {
	flags.Func(name, about, func(text string) error {
		all, err := parseNumbers[T]([]string{text})
		if err == nil {
			*number = all[0]
		}
		return err
	})
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

// instant is the time of a flag.
type instant struct {
	time.Time
	isAgo bool // it was given as how long ago
}

// timeFlag defines a flag that takes an instant.
func timeFlag(flags *pflag.FlagSet, name, about string) *instant {
	var t instant
	flags.Func(name, about, func(text string) (err error) {
		t, err = parseTime(text, time.Now())
		return err
	})
	return &t
}

// parseTime reads a date, an instant, or how long ago: 30d, 12h.
func parseTime(text string, now time.Time) (instant, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return instant{Time: t}, nil
		}
	}
	days, isDays := strings.CutSuffix(text, "d")
	if _, err := strconv.ParseFloat(days, 64); isDays && err == nil { // no other unit
		text = days + "h"
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 || ago > 1e5*time.Hour {
		return instant{}, errors.New("want 30d, 12h, a date like 2025-06-01, or an instant like 2025-06-01T12:00:00Z (UTC)")
	}
	if isDays {
		ago *= 24
	}
	return instant{now.Add(-ago), true}, nil
}
