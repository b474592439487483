package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// parseLimit reads a limit in the notation of fake --limit:
//
//	50/s, 600/m, 60/10s   requests in every window of the clock
//	50/s:sliding          requests in any window, wherever it starts
//	50/s:burst=10         a bucket that holds ten and refills at this rate
//	inflight=4            requests at a time
//
// Options follow after colons: retry-after=seconds, which is the default, retry-after=date,
// retry-after=none, and headers.
func parseLimit(text string) (horseracingtest.RequestLimit, error) {
	limit := horseracingtest.RequestLimit{RetryAfter: "seconds"}
	what, options, _ := strings.Cut(text, ":")
	var err error
	if places, ok := strings.CutPrefix(what, "inflight="); ok {
		limit.InFlight, err = positive(places)
	} else {
		err = parseRate(&limit, what)
	}
	for option := range strings.SplitSeq(options, ":") {
		if err == nil {
			err = parseOption(&limit, option)
		}
	}
	return limit, err
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
	if period == "s" || period == "m" || period == "h" {
		period = "1" + period
	}
	window, err := time.ParseDuration(period)
	if err != nil || window <= 0 {
		return fmt.Errorf("after the slash goes s, m, h or a duration such as 10s, not %q", period)
	}
	limit.PerWindow, limit.Window = n, window
	return nil
}

func parseOption(limit *horseracingtest.RequestLimit, option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	switch {
	case option == "":
	case option == "sliding" && limit.PerWindow > 0:
		limit.Sliding = true
	case option == "headers":
		limit.Headers = true
	case option == "retry-after=none":
		limit.RetryAfter = ""
	case option == "retry-after=seconds", option == "retry-after=date":
		limit.RetryAfter = value
	case name == "burst" && limit.PerWindow > 0 && !limit.Sliding:
		limit.PerSecond = float64(limit.PerWindow) / limit.Window.Seconds()
		limit.PerWindow, limit.Window = 0, 0
		limit.Burst, err = positive(value)
	default:
		return fmt.Errorf("it has no option %q", option)
	}
	return err
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a positive number", text)
	}
	return n, nil
}
