package main

import (
	"fmt"
	"time"
)

// minute writes an instant in UTC to the minute.
func minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// levels returns the levels that a race takes.
func levels(low, high int) string {
	switch {
	case low == 0 && high == 0:
		return "any"
	case high == 0:
		return fmt.Sprintf("%d and up", low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}

// free writes how many places are free, of all.
func free(taken, all int) string { return fmt.Sprintf("%d/%d", max(0, all-taken), all) }

// closing writes the time of day of a deadline and how far away it is, rounded down. From
// two days on it has the date.
func closing(t, now time.Time) string {
	left, clock := t.Sub(now), t.UTC().Format("15:04")
	switch {
	case t.IsZero():
		return ""
	case left <= 0:
		return clock + ", closed"
	case left < time.Minute:
		return fmt.Sprintf("%s, in %ds", clock, left/time.Second)
	case left < time.Hour:
		return fmt.Sprintf("%s, in %dm", clock, left/time.Minute)
	case left < 48*time.Hour:
		return fmt.Sprintf("%s, in %dh%02dm", clock, left/time.Hour, left%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%s, in %dd", t.UTC().Format("01-02"), left/(24*time.Hour))
}
