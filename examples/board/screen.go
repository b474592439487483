package main

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// A screen is the board on a terminal.
type screen struct {
	board
	service       string // its name
	snapshot      func() horseracing.Snapshot
	at            time.Time // of the last successful poll, zero before it
	trouble       error     // of the last poll
	now           time.Time
	width, height int
	top           int // the first line of the table that is shown
}

type tick time.Time

func tickAfter(d time.Duration) tea.Cmd {
	return tea.Tick(d, func(t time.Time) tea.Msg { return tick(t) })
}

func (s screen) Init() tea.Cmd { return tickAfter(0) }

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		s.now = time.Time(msg)
		latest := s.snapshot()
		s.races, s.at, s.trouble = latest.Races, latest.At, latest.Err
		if isFinal(s.trouble) {
			return s, tea.Quit
		}
		s.top = min(s.top, s.lastTop())
		if s.at.IsZero() {
			return s, tickAfter(100 * time.Millisecond) // soon there is something to show
		}
		return s, tickAfter(time.Second)
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
		s.top = min(s.top, s.lastTop())
	case tea.KeyPressMsg:
		switch key := msg.String(); key {
		case "q", "esc":
			return s, tea.Quit
		case "ctrl+c":
			return s, tea.Interrupt
		default:
			s.top = min(max(0, s.top+s.scroll(key)), s.lastTop())
		}
	}
	return s, nil
}

// scroll returns how many lines further a key goes.
func (s screen) scroll(key string) int {
	switch key {
	case "down", "j":
		return 1
	case "up", "k":
		return -1
	case "pgdown", "space":
		return max(1, s.room())
	case "pgup":
		return -max(1, s.room())
	case "end", "G":
		return len(s.races)
	case "home", "g":
		return -len(s.races)
	}
	return 0
}

// room returns how many lines of the table fit under its headers.
func (s screen) room() int {
	return max(0, s.height-lipgloss.Height(s.title())-1-lipgloss.Height(s.status(0, 1)))
}

// lastTop returns the first line that is shown when the last one is.
func (s screen) lastTop() int {
	_, lines := s.lines()
	return max(0, len(lines)-s.room())
}

// There are no colours: less important text is faint, and the words say why.
var (
	plain = lipgloss.NewStyle().PaddingLeft(1)
	bold  = plain.Bold(true)
	faint = plain.Faint(true)
)

func (s screen) View() tea.View {
	view := tea.NewView(s.content())
	view.AltScreen = true
	view.WindowTitle = "open races"
	return view
}

func (s screen) content() string {
	if s.at.IsZero() {
		return lipgloss.JoinVertical(lipgloss.Left, s.title(), s.status(0, 0))
	}
	header, lines := s.lines()
	shown := lines[min(s.top, len(lines)):]
	shown = shown[:min(len(shown), s.room())]
	return strings.Join(append(append([]string{s.title(), header}, shown...), s.status(len(shown), len(lines))), "\n")
}

// lines returns the table's line of headers, and those of the races: an empty one
// is before those that have closed.
func (s screen) lines() (header string, lines []string) {
	open, closed := s.split(s.now)
	all := append(open, closed...)
	text := table(all, s.now, s.width-1)
	for i, line := range text[1:] {
		if i == len(open) && i > 0 {
			lines = append(lines, "")
		}
		style := plain
		if i >= len(open) || all[i].FreePlaces() == 0 {
			style = faint
		}
		lines = append(lines, style.Render(line))
	}
	return bold.Render(text[0]), lines
}

func (s screen) title() string {
	text := "open races"
	if !s.at.IsZero() {
		open, closed := s.split(s.now)
		text = fmt.Sprintf("%d open races", len(open))
		if len(closed) > 0 {
			text += fmt.Sprintf(", %d closed", len(closed))
		}
	}
	if s.level != 0 {
		text += fmt.Sprintf(", for level %d", s.level)
	}
	return s.fit(bold, text+"  "+s.service+"  "+s.now.UTC().Format("15:04:05 UTC")+"  q quits")
}

// status is the last line, or several: what is wrong, and which lines are shown.
func (s screen) status(shown, all int) string {
	switch {
	case s.trouble != nil && s.at.IsZero():
		return s.fit(bold, s.sentence())
	case s.trouble != nil:
		return s.fit(bold, "as of "+s.at.UTC().Format("15:04:05")+": "+s.sentence())
	case s.at.IsZero():
		return s.fit(faint, "waiting for the service")
	case shown < all:
		return s.fit(faint, fmt.Sprintf("lines %d to %d of %d; arrow keys scroll", s.top+1, s.top+shown, all))
	}
	return ""
}

// sentence is the trouble, of several the first.
func (s screen) sentence() string {
	first, _, _ := strings.Cut(program.Explain(s.trouble), "\n")
	return printable(first)
}

// fit wraps a text at the width of the window.
func (s screen) fit(style lipgloss.Style, text string) string {
	if lipgloss.Width(text)+1 > s.width {
		style = style.Width(s.width)
	}
	return style.Render(text)
}
