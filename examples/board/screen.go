package main

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

	"github.com/horseracing-go/horseracing"
)

// A screen is the board on a terminal.
type screen struct {
	board
	snapshot      func() horseracing.Snapshot
	at            time.Time // of the last successful poll; zero: none yet
	trouble       error     // of the last poll
	now           time.Time
	width, height int
	top           int // the first race that is shown
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

// scroll returns how many races further a key goes.
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

// room returns how many races fit on the screen.
func (s screen) room() int {
	if s.height == 0 {
		return len(s.races)
	}
	const headings = 2 // with the line under them
	return max(0, s.height-lipgloss.Height(s.title(0))-headings-lipgloss.Height(s.status(1, 1, 2)))
}

// lastTop returns the first race that is shown when the last one is.
func (s screen) lastTop() int { return max(0, len(s.sorted(s.now))-s.room()) }

// Colours of the terminal's own palette, so that they suit its theme.
var (
	plain  = lipgloss.NewStyle().Padding(0, 1)
	bold   = plain.Bold(true)
	faint  = plain.Faint(true)
	red    = plain.Foreground(lipgloss.Red)
	yellow = plain.Foreground(lipgloss.Yellow)
	green  = plain.Foreground(lipgloss.Green)
	cyan   = plain.Foreground(lipgloss.Cyan)
)

func (s screen) View() tea.View {
	view := tea.NewView(s.content())
	view.AltScreen = true
	view.WindowTitle = "open races"
	return view
}

func (s screen) content() string {
	if s.at.IsZero() {
		return lipgloss.JoinVertical(lipgloss.Left, s.fit(bold, "open races"), s.status(0, 0, 0))
	}
	races := s.sorted(s.now)
	all := len(races)
	if races = races[min(s.top, all):]; len(races) > s.room() {
		races = races[:s.room()]
	}
	rows := make([][]string, len(races))
	for i, r := range races {
		rows[i] = cells(r, s.now, fewDecimals)
	}
	shown := s.columns(rows)
	t := table.New().Headers(headers[:shown]...).Wrap(false).
		Border(lipgloss.NormalBorder()).BorderStyle(lipgloss.NewStyle().Faint(true)).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		StyleFunc(func(row, column int) lipgloss.Style {
			style := bold
			if row != table.HeaderRow {
				style = s.style(races[row], column)
			}
			if numeric[column] {
				return style.Align(lipgloss.Right)
			}
			return style
		})
	for _, row := range rows {
		t.Row(row[:shown]...)
	}
	content := lipgloss.JoinVertical(lipgloss.Left, s.title(all), t.Render(), s.status(s.top, len(races), all))
	if s.width > 0 {
		content = lipgloss.NewStyle().MaxWidth(s.width).Render(content)
	}
	return content
}

func (s screen) title(races int) string {
	text := fmt.Sprintf("%d open races", races)
	if s.level != 0 {
		text += fmt.Sprintf(" for level %d", s.level)
	}
	return s.fit(bold, text+"  "+s.now.UTC().Format("15:04:05 UTC")+"  q quits")
}

// status is the last line, or several: what is wrong, and which races are on screen.
func (s screen) status(top, shown, all int) string {
	switch {
	case s.trouble != nil && s.at.IsZero():
		return s.fit(red, printable(s.trouble.Error()))
	case s.trouble != nil:
		return s.fit(red, "as of "+s.at.UTC().Format("15:04:05")+": "+printable(s.trouble.Error()))
	case s.at.IsZero():
		return s.fit(faint, "waiting for the service")
	case shown < all:
		return s.fit(faint, fmt.Sprintf("races %d to %d of %d; arrow keys scroll", top+1, top+shown, all))
	}
	return ""
}

// fit wraps a text at the width of the window.
func (s screen) fit(style lipgloss.Style, text string) string {
	if s.width > 0 && lipgloss.Width(text)+2 > s.width {
		style = style.Width(s.width)
	}
	return style.Render(text)
}

// columns returns how many columns fit into the window.
func (s screen) columns(rows [][]string) int {
	if s.width == 0 {
		return len(headers)
	}
	total := 0
	for column, header := range headers {
		width := lipgloss.Width(header)
		for _, row := range rows {
			width = max(width, lipgloss.Width(row[column]))
		}
		if total += width + 2; total > s.width {
			return max(1, column)
		}
	}
	return len(headers)
}

// style colours by what a player must decide soon: what closes, what costs,
// what is full.
func (s screen) style(r horseracing.Race, column int) lipgloss.Style {
	if !r.RegistrationOpenAt(s.now) || r.FreePlaces() == 0 {
		return faint
	}
	switch headers[column] {
	case "closes in":
		switch to := r.RegistrationDeadline.Sub(s.now); {
		case to < time.Minute:
			return red.Bold(true)
		case to < 5*time.Minute:
			return yellow
		}
		return green
	case "fee":
		return cyan
	case "places":
		if r.FreePlaces() <= 2 {
			return yellow
		}
	}
	return plain
}
