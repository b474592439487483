package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"
)

func TestATableFitsTheTerminal(t *testing.T) {
	text.EnableColors()
	type row struct {
		id   int64
		name string
		cell any
	}
	rows := []row{
		{7, "one", "a"},
		{1 << 40, "\x1b[31mé\r\n\u202e", painted{text: "soon", color: text.FgYellow}},
		{8, strings.Repeat("馬", 20_000), "b"},
	}
	l := layout[row]{
		columns: []column{{title: "ID", isNumber: true}, {title: "NAME"}, {title: "LENGTH", isNumber: true, rank: 2}, {title: "CLOSES", width: 9, rank: 1}},
		cells:   func(r *row) []any { return []any{r.id, r.name, len(r.name), r.cell} },
	}
	for width, want := range map[int]string{
		120: "           ID  NAME                                      LENGTH  CLOSES\n" +
			"            7  one                                            3  a\n" +
			"1099511627776  [31mé                                         12  \x1b[33msoon\x1b[0m\n" +
			"            8  " + strings.Repeat("馬", 19) + "…    60000  b\n",
		40: "           ID  NAME\n            7  one\n1099511627776  [31mé\n            8  馬馬馬馬馬馬馬馬馬馬馬馬…\n",
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
		50*time.Hour + time.Second:   "2026-05-03 14:00, in 2d",
		90*time.Minute + time.Second: "2026-05-01 13:30, in 1h30m",
		119 * time.Second:            "2026-05-01 12:01, in 1m",
		59 * time.Second:             "2026-05-01 12:00, in 59s",
		-time.Second:                 "2026-05-01 11:59, closed",
	} {
		if got := closing(now.Add(left), now).text; got != want {
			t.Errorf("%v before: %q, want %q", left, got, want)
		}
	}
}

func TestProgressIsReportedOnceAMinuteWhereNobodyLooks(t *testing.T) {
	for _, test := range []struct {
		attended bool
		patience time.Duration
		silent   time.Duration // so far
		want     bool
	}{
		{true, 0, 6 * time.Second, true}, {true, forever, 6 * time.Second, true}, {true, 0, time.Second, false},
		{false, 0, 59 * time.Second, false}, {false, 0, 61 * time.Second, true}, {false, forever, time.Hour, false},
	} {
		var stderr strings.Builder
		p := &program{stderr: &stderr, attended: test.attended, patience: test.patience, reported: time.Now().Add(-test.silent)}
		p.reportProgress("%d races", 7)
		if printed := stderr.Len() > 0; printed != test.want {
			t.Errorf("%+v: %q", test, stderr.String())
		}
	}
}
