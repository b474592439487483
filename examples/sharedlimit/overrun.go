package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// delivery is how much later than another a permitted request may arrive on a busy machine.
const delivery = 250 * time.Millisecond

// arrivals are the times at which the fake received a request, in order.
func arrivals(fake *horseracingtest.Server) []time.Time {
	var times []time.Time
	for _, request := range fake.Requests() {
		times = append(times, request.Time)
	}
	return times
}

// report prints what arrived, and that the limit held. It returns an error if it did not.
func report(out io.Writer, arrivals []time.Time, limit Limit) error {
	if len(arrivals) == 0 {
		return errors.New("no request arrived, so nothing shows whether the limit holds")
	}
	span := arrivals[len(arrivals)-1].Sub(arrivals[0])
	seen := fmt.Sprintf("%d requests in %.1fs", len(arrivals), span.Seconds())
	over := overrun(arrivals, limit).Round(time.Millisecond)
	if over > delivery {
		return fmt.Errorf("the limit was exceeded: %s; requests arrived up to %v early", seen, over)
	}
	fmt.Fprintf(out, "The limit held: %s.\n", seen)
	return nil
}

// overrun returns how far requests that arrived at these times, in order, went beyond the limit.
// In a window of length w the limit allows burst + rate*w of them; the result is the time by which the
// worst of all windows was too short for the requests in it. Zero: every window kept the limit.
//
// A log of arrivals shows a few milliseconds even when every permission was in time, since one request may
// be slower on its way than the next.
func overrun(arrivals []time.Time, limit Limit) time.Duration {
	interval := time.Second / time.Duration(limit.Rate)
	burst := time.Duration(limit.Burst-1) * interval
	var worst time.Duration
	var due time.Time // when the next one is due if all keep their distance
	for _, arrival := range arrivals {
		worst = max(worst, due.Add(-burst).Sub(arrival))
		if arrival.After(due) {
			due = arrival
		}
		due = due.Add(interval)
	}
	return worst
}
