package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	for width, want := range map[int]string{
		120: "           ID  NAME                                      LENGTH  CLOSES\n" +
			"            7  one                                            3  a\n" +
			"1099511627776  [31mé                                         12  soon\n" +
			"            8  " + strings.Repeat("馬", 19) + "…    60000  b\n",
		20: "           ID  NAME…\n            7  one …\n1099511627776  [31m…\n            8  馬馬…\n",
	} {
		var screen strings.Builder
		p := &program{stdout: &screen, interactive: true, width: width}
		if err := printList(p, l, rows, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, screen.String()); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
	}
}

func TestJSONOnATerminalCannotControlIt(t *testing.T) {
	for isTerminal, want := range map[bool]string{
		false: "\"é\u007f\u009b\u202e\U000e0001馬\"\n",
		true:  `"é\u007f\u009b\u202e\udb40\udc01馬"` + "\n",
	} {
		var screen strings.Builder
		p := &program{stdout: &screen, interactive: isTerminal}
		if err := p.printJSON("é\u007f\u009b\u202e\U000e0001馬"); err != nil || screen.String() != want {
			t.Errorf("%q, %v; want %q", screen.String(), err, want)
		}
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
		if got := closing(now.Add(left), now); got != want {
			t.Errorf("%v before: %q, want %q", left, got, want)
		}
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
	err := errors.Join(
		printList(p, openRaceLayout(now), []horseracing.Race{race}, nil),
		printList(p, changeLayout, []change{{Kind: horseracing.RaceOpened, Race: &race, Time: now}}, nil),
		printList(p, openTournamentLayout, []horseracing.Tournament{tournament}, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	double.Golden(t, "testdata/narrow.table", screen.String())
}
