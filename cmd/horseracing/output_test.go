package main

import (
	"strings"
	"testing"
	"time"
)

func TestATableAndItsProgressAreForATerminal(t *testing.T) {
	t.Parallel()
	var screen strings.Builder
	p := &program{stdout: &screen, stderr: &screen, interactive: true, attended: true, name: "horseracing"}
	type row struct{ Name string }
	t1 := newTable(p, layout[row]{
		titles: []string{"NAME    ", "LENGTH"},
		cells:  func(r *row) []any { return []any{r.Name, len(r.Name)} },
	})
	for _, r := range []row{{"one"}, {"\x1b[31mé\r\n"}, {"longer than that"}} {
		p.reportProgress("reading %s", "rows")
		if err := t1.add(&r, &r); err != nil {
			t.Fatal(err)
		}
		if err := t1.flush(); err != nil {
			t.Fatal(err)
		}
	}
	p.say("a page is missing\nand another")
	want := "horseracing: reading rows\n" +
		"NAME      LENGTH\none       3\n[31mé     9\nlonger than that  16\n" +
		"horseracing: a page is missing\nhorseracing: and another\n"
	if got := screen.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
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
		if got := closing(now.Add(left), now); got != want {
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
