package main

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/horseracing-go/horseracing"
)

// tokenPlaces is the number of decimal places of a token. It is undocumented;
// 18 is usual for amounts of this size.
const tokenPlaces = 18

func tokens(amount horseracing.BigInt) string { return amount.FormatUnits(tokenPlaces) }

// inTokens writes an amount with its unit.
func inTokens(amount horseracing.BigInt) string {
	if text := tokens(amount); text != "1" {
		return text + " tokens"
	}
	return "1 token"
}

// price writes the price of a breeding listing in tokens. Some are written in tokens and
// some in units; whole numbers of at least 10^15 are taken for units.
func price(n horseracing.Number) string {
	if amount, isWhole := n.BigInt(); isWhole && amount.Cmp(horseracing.NewBigInt(1e15)) >= 0 {
		return tokens(amount)
	}
	return n.FormatUnits(0)
}

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

// Columns of tables that are shortened.
var (
	shortName   = &column{title: "NAME", width: 15, most: 20}
	shortPlaces = &column{title: "FREE", width: 5, isNumber: true}
)

// places writes how many places are free, of all.
func places(taken, all int) painted {
	free := max(0, all-taken)
	cell := painted{text: fmt.Sprintf("%d of %d free", free, all), short: fmt.Sprintf("%d/%d", free, all)}
	if taken >= all {
		cell.color = text.Faint
	}
	return cell
}

// soon is how long before its deadline a race is shown in a color.
const soon = 10 * time.Minute

// closing writes an instant and how far away it is, rounded down. Its short text has the
// time of day, or from two days on the date.
func closing(t, now time.Time) painted {
	left := t.Sub(now)
	var in string
	clock := "15:04"
	switch {
	case t.IsZero():
		return painted{}
	case left <= 0:
		in = "closed"
	case left < time.Minute:
		in = fmt.Sprintf("in %ds", left/time.Second)
	case left < time.Hour:
		in = fmt.Sprintf("in %dm", left/time.Minute)
	case left < 48*time.Hour:
		in = fmt.Sprintf("in %dh%02dm", left/time.Hour, left%time.Hour/time.Minute)
	default:
		in, clock = fmt.Sprintf("in %dd", left/(24*time.Hour)), "01-02"
	}
	cell := painted{text: minute(t) + ", " + in, short: t.UTC().Format(clock) + ", " + in}
	if left <= 0 {
		cell.color = text.Faint
	} else if left <= soon {
		cell.color = text.FgYellow
	}
	return cell
}
