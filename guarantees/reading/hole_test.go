package reading_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestErrSkippedMarksWhatDoesNotEndAListing(t *testing.T) {
	page := func(ctx context.Context, c *horseracing.Client) error { // its only error
		var errs []error
		for _, err := range c.Races.Results(horseracing.ResultsQuery{}).All(ctx) {
			if err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) != 1 {
			t.Errorf("errors %v", errs)
		}
		return errors.Join(errs...)
	}
	for name, test := range map[string]struct {
		body string
		call func(context.Context, *horseracing.Client) error
		hole bool
	}{
		"an entry of a list":           {`[{"number":1,"name":"a"},{"number":"x","name":"b"}]`, double.Owned, true},
		"a whole list":                 {`{"a":1}`, double.Owned, false},
		"one race":                     {`[{"main_race_id":"x"}]`, double.OneRace, false},
		"an entry of a page":           {`[{"main_race_id":7,"start_time":1000},{"main_race_id":6,"start_time":900,"places":"x"}]`, page, true},
		"a page":                       {`{"a":1}`, page, false},
		"a page of unreadable entries": {"[{}" + strings.Repeat(",{}", 100) + "]", page, false},
	} {
		err := test.call(t.Context(), double.Play(double.Respond(200, test.body), double.Respond(200, "[]")).Client(t, double.NoRetries()))
		if err == nil || errors.Is(err, horseracing.ErrSkipped) != test.hole {
			t.Errorf("%s: errors.Is(%v, ErrSkipped) is %v", name, err, !test.hole)
		}
	}
	for _, err := range []error{&horseracing.TieOverflowError{}, &horseracing.GapError{Err: errors.New("x")}} {
		if !errors.Is(err, horseracing.ErrSkipped) {
			t.Errorf("%T is not ErrSkipped", err)
		}
	}
}
