package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// limits is the value of -limit, which can be repeated:
//
//	50/s, 600/m, 60/10s   so many in every window, which begins with the clock's
//	50/s:sliding          no window whatever holds more
//	50/s:burst=10         a bucket that holds ten and refills at this rate
//	inflight=4            so many at a time
//
// Behind a colon, for each of them: retry-after=seconds, which is the default,
// retry-after=date or retry-after=none; headers; count-refused.
type limits []horseracingtest.RequestLimit

func (l *limits) String() string { return "" }

func (l *limits) Set(text string) error {
	limit, err := parseLimit(text)
	if err == nil {
		*l = append(*l, limit)
	}
	return err
}

func parseLimit(text string) (horseracingtest.RequestLimit, error) {
	limit := horseracingtest.RequestLimit{RetryAfter: "seconds"}
	what, options, _ := strings.Cut(text, ":")
	if places, ok := strings.CutPrefix(what, "inflight="); ok {
		n, err := positive(places)
		if err != nil {
			return limit, err
		}
		limit.InFlight = n
	} else if err := parseRate(&limit, what); err != nil {
		return limit, err
	}
	for option := range strings.SplitSeq(options, ":") {
		if err := parseOption(&limit, option); err != nil {
			return limit, err
		}
	}
	return limit, nil
}

func parseRate(limit *horseracingtest.RequestLimit, text string) error {
	count, period, ok := strings.Cut(text, "/")
	if !ok {
		return fmt.Errorf("want 50/s, 600/m, 60/10s or inflight=4, got %q", text)
	}
	n, err := positive(count)
	if err != nil {
		return err
	}
	if period != "" && (period[0] < '0' || period[0] > '9') {
		period = "1" + period
	}
	window, err := time.ParseDuration(period)
	if err != nil || window <= 0 {
		return fmt.Errorf("behind the slash stands s, m, h or a duration such as 10s, not %q", period)
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
		return fmt.Errorf("%q is no option of this limit", option)
	}
	return nil
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no positive number", text)
	}
	return n, nil
}
