package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/horseracing-go/horseracing"
)

// A board is the open races.
type board struct {
	races []horseracing.Race
	level int // show only races that take a horse of this level; 0: all
}

// sorted returns the races to show: those that still take registrations first,
// and of them the ones that close first.
func (b board) sorted(now time.Time) []horseracing.Race {
	races := slices.Clone(b.races)
	races = slices.DeleteFunc(races, func(r horseracing.Race) bool { return b.level != 0 && !r.AcceptsLevel(b.level) })
	slices.SortFunc(races, func(x, y horseracing.Race) int {
		return cmp.Or(
			-compareBool(x.RegistrationOpenAt(now), y.RegistrationOpenAt(now)),
			x.RegistrationDeadline.Compare(y.RegistrationDeadline.Time),
			cmp.Compare(x.MainRaceID, y.MainRaceID))
	})
	return races
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

// The columns, those that a player decides by first: a narrow terminal drops the last ones.
var headers = []string{"closes in", "race", "fee", "places", "levels", "length", "wins", "hippodrome", "name"}

// numeric marks the columns that are aligned to the right.
var numeric = []bool{true, true, true, true, true, true, false, false, false}

// cells are a race's row, its fee with at most so many decimals.
func cells(r horseracing.Race, now time.Time, decimals int) []string {
	return []string{
		left(r.RegistrationDeadline.Sub(now)),
		strconv.FormatInt(int64(r.MainRaceID), 10),
		fee(r.EntryFee, decimals),
		places(r),
		levels(r),
		fmt.Sprintf("%d fur", r.Length),
		kind(r.Type),
		printable(r.Info.HippodromeName),
		printable(r.Info.Name),
	}
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

// A token is 10^18 units. All its decimals are exact; a glance takes in four.
const (
	allDecimals = 18
	fewDecimals = 4
)

// fee writes an entry fee in whole tokens, with at most so many decimals: exact
// where they suffice, else cut and marked. The arithmetic is on digits.
func fee(n horseracing.BigInt, decimals int) string {
	if n.IsZero() {
		return "free"
	}
	whole, fraction, _ := strings.Cut(n.Decimal(allDecimals), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	rest := ""
	if len(fraction) > decimals {
		fraction, rest = strings.TrimRight(fraction[:decimals], "0"), "…"
	}
	if fraction == "" && rest == "" {
		return whole
	}
	if fraction == "" {
		fraction = "0"
	}
	return whole + "." + fraction + rest
}

func places(r horseracing.Race) string {
	if r.FreePlaces() == 0 {
		return fmt.Sprintf("full/%d", r.Places)
	}
	return fmt.Sprintf("%d/%d", len(r.Participants), r.Places)
}

func levels(r horseracing.Race) string {
	switch {
	case r.MinLevel == 0 && r.MaxLevel == 0:
		return "any"
	case r.MaxLevel == 0:
		return fmt.Sprintf("%d+", r.MinLevel)
	}
	return fmt.Sprintf("%d-%d", r.MinLevel, r.MaxLevel)
}

func kind(t horseracing.RaceType) string {
	switch t {
	case horseracing.RaceTypeBestTime:
		return "fastest"
	case horseracing.RaceTypeWorstTime:
		return "slowest"
	}
	return printable(string(t))
}

// printable drops what could steer a terminal from a text that others chose.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}

// print writes a plain table, its fees exact: programs read it, too.
func (b board) print(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(headers, "\t")))
	for _, r := range b.sorted(now) {
		fmt.Fprintln(w, strings.Join(cells(r, now, allDecimals), "\t"))
	}
	fmt.Fprintln(w)
	return w.Flush()
}
