package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// share is a part of all, written "5%" or "0.05".
type share float64

func (s *share) String() string { return strconv.FormatFloat(100*float64(*s), 'g', 4, 64) + "%" }

func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(number, 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return fmt.Errorf("want a share between 0%% and 100%%, got %q", text)
	}
	*s = share(value)
	return nil
}

// faults returns what makes this share of the requests fail.
func (s share) faults() []horseracingtest.Fault {
	if s == 0 {
		return nil
	}
	half := float64(s) / 2
	return []horseracingtest.Fault{
		{Probability: half, Status: 503, Body: `{"error":{"code":"injected","message":"this failure was requested with -fail"}}`},
		{Probability: half / (1 - half), ResetAfter: true}, // of those that the first one spares
	}
}
