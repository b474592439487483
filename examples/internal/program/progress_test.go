package program

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// terminal is as much of one as Progress needs. It breaks long lines, and breaks
// them anew when its width changes.
type terminal struct {
	width int
	lines []string // the cursor is at the end of the last
}

// rows are the lines as they are shown.
func (v *terminal) rows() (rows []string) {
	for _, line := range v.lines {
		for len(line) > v.width {
			rows, line = append(rows, line[:v.width]), line[v.width:]
		}
		rows = append(rows, line)
	}
	return rows
}

// Write handles a return, ESC [ n A and ESC [ J. What lies behind the cursor is
// forgotten early: Progress always clears it.
func (v *terminal) Write(b []byte) (int, error) {
	for text := string(b); text != ""; {
		switch rows := v.rows(); {
		case strings.HasPrefix(text, "\x1b[J"):
			text = text[3:]
		case strings.HasPrefix(text, "\x1b["):
			v.lines = append(rows[:len(rows)-1-int(text[2]-'0')], "")
			text = text[4:]
		case text[0] == '\r':
			v.lines, text = append(rows[:len(rows)-1], ""), text[1:]
		case text[0] == '\n':
			v.lines, text = append(v.lines, ""), text[1:]
		default:
			v.lines[len(v.lines)-1] += text[:1]
			text = text[1:]
		}
	}
	return len(b), nil
}

// clocked returns a Progress of 1,000 races whose clock the caller moves.
func clocked(out io.Writer, width func() int) (p *Progress, pass func(time.Duration)) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p = NewProgress(out, width, "races", 1000)
	p.now = func() time.Time { return now }
	p.start()
	return p, func(d time.Duration) { now = now.Add(d) }
}

func TestProgressIsOneLineWhateverBecomesOfTheTerminal(t *testing.T) {
	v := &terminal{width: 100, lines: []string{"$ export", ""}}
	p, pass := clocked(v, func() int { return v.width })
	for _, test := range []struct {
		width int
		want  string
	}{
		{100, "100 of 1000 races, 100 a second, 9s left, back to 2026-01-31, service allows about 100 requests"},
		{30, "200 of 1000 races"},
		{17, ""},
		{120, "400 of 1000 races, 100 a second, 6s left, back to 2026-01-31, service allows about 100 requests"},
		{11, ""},
		{60, "600 of 1000 races, 100 a second, 4s left"},
	} {
		v.width = test.width
		pass(time.Second)
		p.Add(100, "back to 2026-01-31", "", "service allows about 100 requests")
		if diff := cmp.Diff([]string{"$ export", test.want}, v.lines); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", test.width, diff)
		}
	}
	v.width = 25
	p.Println("a note")
	pass(time.Second)
	p.Add(400)
	p.End()
	if diff := cmp.Diff([]string{"$ export", "a note", ""}, v.lines); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

func TestProgressElsewhereIsALineEveryFiveSeconds(t *testing.T) {
	var out strings.Builder
	p, pass := clocked(&out, nil)
	for range 12 {
		pass(time.Second)
		p.Add(90, "back to 2026-01-31")
	}
	p.End()
	const want = "450 of 1000 races, 90 a second, 6s left, back to 2026-01-31\n900 of 1000 races, 90 a second, 1s left, back to 2026-01-31\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
