package guarantees_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
)

func TestErrHoleMarksWhatDoesNotEndAListing(t *testing.T) {
	const twoHorses = `[{"number":1,"name":"a"},{"number":"x","name":"b"}]`
	for _, test := range []struct {
		name, body string
		call       func(*horseracing.Client) error
		hole       bool
	}{
		{"an entry of a list", twoHorses, func(c *horseracing.Client) error {
			_, err := c.Horses.Owned(t.Context(), "the-user-key")
			return err
		}, true},
		{"a whole list", `{"a":1}`, func(c *horseracing.Client) error {
			_, err := c.Horses.Owned(t.Context(), "the-user-key")
			return err
		}, false},
		{"one race", `[{"main_race_id":"x"}]`, func(c *horseracing.Client) error {
			_, err := c.Races.Get(t.Context(), 7)
			return err
		}, false},
		{"an entry of a page", `[{"main_race_id":7,"start_time":1000,"places":"x"}]`, func(c *horseracing.Client) error {
			for _, err := range c.Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
				return err
			}
			return nil
		}, true},
		{"a page", `{"a":1}`, func(c *horseracing.Client) error {
			for _, err := range c.Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
				return err
			}
			return nil
		}, false},
		{"a page of unreadable entries", "[{}" + strings.Repeat(",{}", 100) + "]", func(c *horseracing.Client) error {
			var errs []error
			for _, err := range c.Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
				errs = append(errs, err)
			}
			if len(errs) != 1 {
				t.Errorf("%d errors, want the one that ends the loop", len(errs))
			}
			return errs[0]
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.call(play(respond(200, test.body)).client(t))
			if err == nil || errors.Is(err, horseracing.ErrHole) != test.hole {
				t.Errorf("errors.Is(%v, ErrHole) is %v, want %v", err, !test.hole, test.hole)
			}
		})
	}
	for _, err := range []error{&horseracing.TieOverflowError{}, &horseracing.GapError{Err: errors.New("x")}} {
		if !errors.Is(err, horseracing.ErrHole) {
			t.Errorf("%T is not ErrHole", err)
		}
	}
}
