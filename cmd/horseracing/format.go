package main

import (
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
)

// tokenPlaces is the number of decimal places of a token. It is undocumented;
// 18 is usual for amounts of this size.
const tokenPlaces = 18

func tokens(amount horseracing.BigInt) string { return amount.FormatUnits(tokenPlaces) }

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

// closing writes an instant and how far away it is, rounded down.
func closing(t, now time.Time) string {
	left := t.Sub(now)
	switch {
	case t.IsZero():
		return ""
	case left <= 0:
		return minute(t) + ", closed"
	case left >= 48*time.Hour:
		return fmt.Sprintf("%s, in %dd", minute(t), left/(24*time.Hour))
	case left >= time.Hour:
		return fmt.Sprintf("%s, in %dh%02dm", minute(t), left/time.Hour, left%time.Hour/time.Minute)
	case left >= time.Minute:
		return fmt.Sprintf("%s, in %dm", minute(t), left/time.Minute)
	}
	return fmt.Sprintf("%s, in %ds", minute(t), left/time.Second)
}
