package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

func TestATableFitsTheTerminal(t *testing.T) {
	type row struct {
		id   int64
		name string
		cell string
	}
	rows := []row{{7, "one", "a"}, {1 << 40, "\x1b[31mé\r\n\u202e", "soon"}, {8, strings.Repeat("馬", 20_000), "b"}}
	l := layout[row]{
		columns: []column{{title: "ID", isNumber: true}, {title: "NAME"}, {title: "LENGTH", isNumber: true, rank: 2}, {title: "CLOSES", width: 9, rank: 1}},
		cells:   func(r *row) []any { return []any{r.id, r.name, len(r.name), r.cell} },
	}
	for width, want := range map[int]string{
		120: "           ID  NAME                                      LENGTH  CLOSES\n" +
			"            7  one                                            3  a\n" +
			"1099511627776  [31mé                                         12  soon\n" +
			"            8  " + strings.Repeat("馬", 19) + "…    60000  b\n",
		40: "           ID  NAME\n            7  one\n1099511627776  [31mé\n            8  馬馬馬馬馬馬馬馬馬…\n",
		10: "           ID  NAME\n            7  one\n1099511627776  [31…\n            8  馬…\n",
	} {
		var screen, said strings.Builder
		p := &program{name: "horseracing", stdout: &screen, stderr: &said, interactive: true, attended: true, width: width}
		if err := printList(p, l, rows, nil); err != nil {
			t.Fatal(err)
		}
		if isWhole := width == 120; (said.Len() == 0) != isWhole || !isWhole && !strings.Contains(said.String(), "no room for LENGTH, CLOSES:") {
			t.Errorf("%d columns: %s", width, &said)
		}
		if diff := cmp.Diff(want, screen.String()); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
	}
}

func TestRowsThatArePrintedOneByOneStayInTheirColumns(t *testing.T) {
	var screen strings.Builder
	p := &program{stdout: &screen, stderr: &screen, interactive: true, attended: true, width: 80, name: "horseracing"}
	s := newSheet(p, layout[string]{
		columns: []column{{title: "NAME", width: 8}, {title: "LENGTH", isNumber: true}},
		cells:   func(name *string) []any { return []any{*name, len(*name)} },
	})
	for _, name := range []string{"one", "longer than that"} {
		p.reportProgress("reading %s", "rows")
		if err := errors.Join(s.add(&name, &name), s.flush()); err != nil {
			t.Fatal(err)
		}
	}
	p.say("a page is missing\nand another")
	want := "horseracing: reading rows\nNAME      LENGTH\none            3\nlonger …      16\n" +
		"horseracing: a page is missing\nhorseracing: and another\n"
	if diff := cmp.Diff(want, screen.String()); diff != "" {
		t.Error(diff)
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

// printedLines prints a value as a table of so many columns, twice, and returns the lines.
func printedLines[T any](t *testing.T, width int, l layout[T], value T) []string {
	t.Helper()
	var screen strings.Builder
	s := newSheet(&program{stdout: &screen, interactive: true, width: width}, l)
	for range 2 {
		if err := errors.Join(s.add(&value, &value), s.flush()); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Split(strings.TrimSpace(screen.String()), "\n")
}

func TestANarrowTableKeepsWhatOneDecidesBy(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	race := horseracing.Race{
		MainRaceID: 4017, Places: 12, Tier: "Omega", Length: 9, MinLevel: 1, MaxLevel: 100, EntryFee: horseracing.NewBigInt(25e17),
		StartTime: horseracing.NewTimestamp(now.Add(2 * time.Hour)), RegistrationDeadline: horseracing.NewTimestamp(now.Add(90 * time.Minute)),
	}
	race.Info.Name, race.Info.HippodromeName = "The Long Northern Mile", "Saint-Cloud"
	tournament := horseracing.Tournament{ID: "683c95201000000000000005", Name: "Two Rivers Tournament", Places: 16, EntryFee: race.EntryFee, StartTime: race.StartTime}
	opened := change{Kind: horseracing.RaceOpened, Race: &race, Time: now}
	for _, width := range []int{80, 100} {
		for _, test := range []struct {
			lines []string
			want  string
		}{
			{printedLines(t, width, openRaceLayout(now), race), "4017  13:30, in 1h30m  Omega  The Long Northern M"},
			{printedLines(t, width, changeLayout, opened), "13:30, in 1h30m   The Long North"},
			{printedLines(t, width, openTournamentLayout, tournament), "683c95201000000000000005  2026-05-01 14:00"},
		} {
			last := test.lines[len(test.lines)-1]
			if len(test.lines) != 3 || test.lines[1] != last || !strings.Contains(last, test.want) || len([]rune(last)) > width {
				t.Errorf("%d columns, want %q:\n%s", width, test.want, strings.Join(test.lines, "\n"))
			}
			for _, title := range []string{"NAME", "FREE", "FEE (TOKENS)"} {
				if !strings.Contains(test.lines[0], title) {
					t.Errorf("%d columns lack %s:\n%s", width, title, test.lines[0])
				}
			}
		}
	}
}
