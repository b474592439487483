package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// parseLimit reads a limit in the notation of --limit:
//
//	50/s, 600/m, 60/10s   requests in every window of the clock
//	50/s:sliding          requests in any window, wherever it starts
//	50/s:burst=10         a bucket that holds ten and refills at this rate
//	inflight=4            requests at a time
//
// Options follow after colons: path=/api/v2 for the paths with this prefix;
// retry-after=seconds, which is the default, retry-after=date or retry-after=none;
// headers; count-refused.
func parseLimit(text string) (horseracingtest.RequestLimit, error) {
	limit := horseracingtest.RequestLimit{RetryAfter: "seconds"}
	what, options, _ := strings.Cut(text, ":")
	var err error
	if places, ok := strings.CutPrefix(what, "inflight="); ok {
		limit.InFlight, err = positive(places)
	} else {
		err = parseRate(&limit, what)
	}
	if err != nil {
		return limit, fmt.Errorf("limit %q: %w", text, err)
	}
	for option := range strings.SplitSeq(options, ":") {
		if err := parseOption(&limit, option); err != nil {
			return limit, fmt.Errorf("limit %q: %w", text, err)
		}
	}
	return limit, nil
}

func parseRate(limit *horseracingtest.RequestLimit, text string) error {
	count, period, ok := strings.Cut(text, "/")
	if !ok {
		return errors.New("want 50/s, 600/m, 60/10s or inflight=4")
	}
	n, err := positive(count)
	if err != nil {
		return err
	}
	window, err := time.ParseDuration(period)
	if period == "s" || period == "m" || period == "h" {
		window, err = time.ParseDuration("1" + period)
	}
	if err != nil || window <= 0 {
		return fmt.Errorf("after the slash goes s, m, h or a duration such as 10s, not %q", period)
	}
	limit.PerWindow, limit.Window = n, window
	return nil
}

func parseOption(limit *horseracingtest.RequestLimit, option string) error {
	name, value, _ := strings.Cut(option, "=")
	switch {
	case option == "":
	case option == "sliding" && limit.PerWindow > 0:
		limit.Sliding = true
	case name == "path" && strings.HasPrefix(value, "/"):
		limit.Path = value
	case option == "headers":
		limit.Headers = true
	case option == "count-refused":
		limit.CountRefused = true
	case option == "retry-after=none":
		limit.RetryAfter = ""
	case option == "retry-after=seconds", option == "retry-after=date":
		limit.RetryAfter = value
	case name == "burst" && limit.PerWindow > 0 && !limit.Sliding:
		burst, err := positive(value)
		if err != nil {
			return err
		}
		limit.PerSecond, limit.Burst = float64(limit.PerWindow)/limit.Window.Seconds(), burst
		limit.PerWindow, limit.Window = 0, 0
	default:
		return fmt.Errorf("it has no option %q", option)
	}
	return nil
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a positive number", text)
	}
	return n, nil
}
