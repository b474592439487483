package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestATableFitsTheTerminal(t *testing.T) {
	type row struct {
		id   int64
		name string
		cell string
	}
	rows := []row{{7, "one", "a"}, {1 << 40, "\x1b[31mé\r\n\u202e", "soon"}, {8, strings.Repeat("馬", 20_000), "b"}}
	l := layout[row]{
		columns: []column{{title: "ID", isNumber: true}, {title: "NAME"}, {title: "LENGTH", isNumber: true}, {title: "CLOSES", width: 9}},
		cells:   func(r *row) []any { return []any{r.id, r.name, len(r.name), r.cell} },
	}
	for _, width := range []int{120, 20} {
		var screen strings.Builder
		p := &program{stdout: &screen, interactive: true, width: width}
		double.NoError(t, printList(p, l, rows, nil))
		double.Golden(t, fmt.Sprintf("testdata/%d.table", width), screen.String())
	}
}

func TestJSONOnATerminalCannotControlIt(t *testing.T) {
	for isTerminal, want := range map[bool]string{
		false: "\"é\u007f\u009b\u202e\U000e0001馬\"\n",
		true:  `"é\u007f\u009b\u202e\udb40\udc01馬"` + "\n",
	} {
		var screen strings.Builder
		p := &program{stdout: &screen, interactive: isTerminal}
		double.NoError(t, p.printJSON("é\u007f\u009b\u202e\U000e0001馬"))
		double.Equal(t, "what is printed", want, screen.String())
	}
}

func TestADeadlineIsShownWithTheTimeThatIsLeft(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for left, want := range map[time.Duration]string{
		50*time.Hour + time.Second:   "05-03, in 2d",
		90*time.Minute + time.Second: "13:30, in 1h30m",
		119 * time.Second:            "12:01, in 1m",
		59 * time.Second:             "12:00, in 59s",
		-time.Second:                 "11:59, closed",
	} {
		double.Equal(t, left.String()+" before", want, closing(now.Add(left), now))
	}
}

// A table of 80 columns has what one decides by.
func TestANarrowTableHasWhatOneDecidesBy(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	race := horseracing.Race{
		MainRaceID: 4017, Places: 12, Tier: "Omega", Length: 9, MinLevel: 1, MaxLevel: 100, EntryFee: horseracing.NewBigInt(25e17),
		StartTime: horseracing.NewTimestamp(now.Add(2 * time.Hour)), RegistrationDeadline: horseracing.NewTimestamp(now.Add(90 * time.Minute)),
	}
	race.Info.Name, race.Info.HippodromeName = "The Long Northern Mile", "Saint-Cloud"
	tournament := horseracing.Tournament{ID: "683c95201000000000000005", Name: "Two Rivers Tournament", Places: 16, EntryFee: race.EntryFee, StartTime: race.StartTime}
	var screen strings.Builder
	p := &program{stdout: &screen, interactive: true, width: 80}
	double.NoError(t, errors.Join(
		printList(p, openRaceLayout(now), []horseracing.Race{race}, nil),
		printList(p, changeLayout, []change{{Kind: horseracing.RaceOpened, Race: &race, Time: now}}, nil),
		printList(p, openTournamentLayout, []horseracing.Tournament{tournament}, nil),
	))
	double.Golden(t, "testdata/narrow.table", screen.String())
}
