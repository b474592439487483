package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// A board is the open races.
type board struct {
	races []horseracing.Race
	level int // show only races that take a horse of this level; 0: all
}

// split returns the races to show, those that close first on top, and apart from
// them those that have closed.
func (b board) split(now time.Time) (open, closed []horseracing.Race) {
	for _, r := range b.races {
		switch {
		case b.level != 0 && !r.AcceptsLevel(b.level):
		case r.RegistrationOpenAt(now):
			open = append(open, r)
		default:
			closed = append(closed, r)
		}
	}
	for _, races := range [][]horseracing.Race{open, closed} {
		slices.SortFunc(races, func(x, y horseracing.Race) int {
			return cmp.Or(x.RegistrationDeadline.Compare(y.RegistrationDeadline.Time), cmp.Compare(x.MainRaceID, y.MainRaceID))
		})
	}
	return open, closed
}

// The columns, those that a player decides by first: a narrow terminal drops the last ones.
var headers = []string{"closes in", "race", "tier", "name", "fee", "places", "levels", "length", "wins", "hippodrome"}

// isNumeric marks the columns that are aligned to the right.
var isNumeric = []bool{true, true, false, false, true, true, true, true, false, false}

// cells are a race's row.
func cells(r horseracing.Race, now time.Time) []string {
	return []string{
		left(r.RegistrationDeadline.Sub(now)),
		strconv.FormatInt(int64(r.MainRaceID), 10),
		printable(string(r.Tier)),
		printable(r.Info.Name),
		program.Tokens(r.EntryFee),
		program.Places(&r),
		program.Levels(&r),
		fmt.Sprintf("%d fur", r.Length),
		printable(program.Wins(&r)),
		printable(r.Info.HippodromeName),
	}
}

// printable removes what could steer a terminal: players choose the names.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

// table returns a line with the headers and one for each race, in as many
// columns as fit into the width.
func table(races []horseracing.Race, now time.Time, width int) []string {
	rows := [][]string{slices.Clone(headers)}
	for _, r := range races {
		rows = append(rows, cells(r, now))
	}
	lines := make([]string, len(rows))
	for column := range headers {
		widest := 0
		for _, row := range rows {
			row[column] = ansi.Truncate(row[column], max(9, width/3), "…")
			widest = max(widest, ansi.StringWidth(row[column]))
		}
		if column > 0 && ansi.StringWidth(lines[0])+widest > width {
			break
		}
		for i, row := range rows {
			space := strings.Repeat(" ", widest-ansi.StringWidth(row[column]))
			if isNumeric[column] {
				lines[i] += space + row[column] + "  "
			} else {
				lines[i] += row[column] + space + "  "
			}
		}
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// left writes a time to go with two units: what a glance can take in.
func left(d time.Duration) string {
	d = d.Truncate(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case d <= 0:
		return "closed"
	case h >= 48:
		return fmt.Sprintf("%dd %02dh", h/24, h%24)
	case h > 0:
		return fmt.Sprintf("%dh %02dm", h, m)
	case m > 0:
		return fmt.Sprintf("%dm %02ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}
