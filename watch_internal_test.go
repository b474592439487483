package horseracing

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestPollScheduleWaitsForAnIntervalOfAnyLength(t *testing.T) {
	p := pollSchedule{interval: math.MaxInt64}
	for range 10 {
		if wait := p.delay(errors.New("broken")); wait < math.MaxInt64/2 {
			t.Fatalf("waits %v", wait)
		}
	}
	p = pollSchedule{interval: time.Second}
	for range 70 {
		if wait := p.delay(errors.New("broken")); wait <= 0 || wait > longestBackoff {
			t.Fatalf("waits %v", wait)
		}
	}
}
