package main

import (
	"bufio"
	"io"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func tokens(t *testing.T, digits string) horseracing.BigInt {
	t.Helper()
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		t.Fatalf("%q is no integer", digits)
	}
	return horseracing.BigIntFrom(n)
}

func openRace(t *testing.T, id horseracing.RaceID, closes time.Duration, taken, places int) horseracing.Race {
	return horseracing.Race{
		MainRaceID: id, RegistrationDeadline: horseracing.NewTimestamp(noon.Add(closes)), Length: 8, Type: horseracing.RaceTypeBestTime,
		Info: horseracing.RaceInfo{Name: "Clover Cup", HippodromeName: "Larkspur Downs"}, EntryFee: tokens(t, "2500000000000000000"),
		Places: places, Participants: make([]horseracing.RaceParticipant, taken), MinLevel: 1, MaxLevel: 20, Tier: horseracing.TierNameOmega,
	}
}

// sample is a screen with races in every state, and what it takes its snapshots from.
func sample(t *testing.T) (screen, *horseracing.Snapshot) {
	latest := &horseracing.Snapshot{At: noon, Races: []horseracing.Race{
		openRace(t, 104, 3*time.Hour, 0, 12),
		openRace(t, 101, 42*time.Second, 11, 12),
		openRace(t, 102, 4*time.Minute, 12, 12),
		openRace(t, 103, -time.Second, 5, 6),
	}}
	latest.Races[0].MinLevel, latest.Races[0].MaxLevel, latest.Races[0].Info.Name = 30, 60, "evil\x1b[2Jname"
	s := screen{service: "an embedded fake", snapshot: func() horseracing.Snapshot { return *latest }, now: noon, width: 120, height: 20}
	return after(s, tick(noon)), latest
}

// after is the screen after messages.
func after(s screen, messages ...tea.Msg) screen {
	for _, m := range messages {
		next, _ := s.Update(m)
		s = next.(screen)
	}
	return s
}

func lines(s screen) []string {
	all := strings.Split(ansi.Strip(s.content()), "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	return all
}

func TestTheScreenShowsWhatClosesFirstOnTop(t *testing.T) {
	s, _ := sample(t)
	got := lines(s)
	want := []string{
		" 3 open races, 1 closed  an embedded fake  12:00:00 UTC  q quits",
		" closes in  race  tier   name         fee         places  levels  length  wins     hippodrome",
		"       42s   101  Omega  Clover Cup   2.5   1 of 12 free    1-20   8 fur  fastest  Larkspur Downs",
		"    4m 00s   102  Omega  Clover Cup   2.5   0 of 12 free    1-20   8 fur  fastest  Larkspur Downs",
		"    3h 00m   104  Omega  evil[2Jname  2.5  12 of 12 free   30-60   8 fur  fastest  Larkspur Downs",
		"",
		"    closed   103  Omega  Clover Cup   2.5    1 of 6 free    1-20   8 fur  fastest  Larkspur Downs",
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the screen (-want +got):\n%s", diff)
	}
	if strings.Contains(s.content(), "\x1b[2J") {
		t.Error("a race's name steers the terminal")
	}
}

func TestTheScreenFollowsTheWatcher(t *testing.T) {
	s, latest := sample(t)
	shown := func() string { return strings.Join(lines(s), "\n") }
	latest.Races = []horseracing.Race{latest.Races[0], openRace(t, 101, 42*time.Second, 12, 12)}
	s = after(s, tick(noon.Add(30*time.Second)))
	for text, want := range map[string]bool{" 102 ": false, "0 of 12 free": true, " 12s ": true, "2 open races  ": true} {
		if strings.Contains(shown(), text) != want {
			t.Errorf("%q on the screen: %v, want %v:\n%s", text, !want, want, shown())
		}
	}
	latest.Err = horseracing.ErrServer
	s = after(s, tick(noon.Add(31*time.Second)))
	if !strings.Contains(shown(), "as of 12:00:00: "+horseracing.ErrServer.Error()) {
		t.Errorf("the error of a failed poll is missing:\n%s", shown())
	}
	latest.Err = nil
	if s = after(s, tick(noon.Add(32*time.Second))); strings.Contains(shown(), "as of") {
		t.Errorf("the recovery is missing:\n%s", shown())
	}
	s.level = 50
	if !strings.Contains(shown(), " 104 ") || strings.Contains(shown(), " 101 ") || !strings.Contains(shown(), "for level 50") {
		t.Errorf("for level 50:\n%s", shown())
	}
}

func TestTheScreenScrolls(t *testing.T) {
	s, latest := sample(t)
	latest.Races = nil
	for i := range 30 {
		latest.Races = append(latest.Races, openRace(t, horseracing.RaceID(100+i), time.Duration(i+1)*time.Minute, 1, 12))
	}
	s = after(s, tick(noon), tea.WindowSizeMsg{Width: 80, Height: 14})
	first := func() string { return strings.Fields(lines(s)[2])[2] }
	for _, step := range []struct {
		key  rune
		want string
	}{{tea.KeyUp, "100"}, {tea.KeyDown, "101"}, {tea.KeyPgDown, "112"}, {tea.KeyEnd, "119"}, {tea.KeyDown, "119"}, {tea.KeyPgUp, "108"}, {tea.KeyHome, "100"}} {
		s = after(s, tea.KeyPressMsg{Code: step.key})
		if got := first(); got != step.want || len(lines(s)) != 14 {
			t.Fatalf("after key %d race %s is on top of %d lines, want %s of 14", step.key, got, len(lines(s)), step.want)
		}
	}
	if last := lines(s)[13]; last != " lines 1 to 11 of 30; arrow keys scroll" {
		t.Errorf("the last line is %q", last)
	}
}

func TestOnATerminalItLivesUntilTheUserEndsIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such terminals there")
	}
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	for key, status := range map[string]int{"q": 0, "\x03": 130} {
		child := programtest.Command(t, append(programtest.Environment(fake), "TERM=xterm-256color"), "-interval", "50ms")
		terminal, err := pty.StartWithSize(child, &pty.Winsize{Rows: 60, Cols: 120})
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		output := bufio.NewReader(terminal)
		for shown := ""; !strings.Contains(shown, "closes in"); {
			char, err := output.ReadByte()
			if err != nil {
				t.Fatalf("%v after:\n%s", err, ansi.Strip(shown))
			}
			shown += string(rune(char))
		}
		io.WriteString(terminal, key)
		rest, _ := io.ReadAll(output) // a terminal whose program has ended is an error
		child.Wait()
		if got := child.ProcessState.ExitCode(); got != status || strings.Contains(string(rest), "goroutine") {
			t.Errorf("key %q: exit status %d, want %d:\n%s", key, got, status, ansi.Strip(string(rest)))
		}
	}
}

func TestItStartsAndEndsAsEveryExample(t *testing.T) {
	programtest.ExpectUsage(t)
	programtest.ExpectErrors(t)
	programtest.Run(t, nil, "-level", "high").ExpectSentence(t, 2, "-level")
	r := programtest.Run(t, nil)
	if r.Status != 0 || strings.Count(r.Stdout, "\n") < 5 || strings.Contains(r.Stdout, "\x1b") {
		t.Errorf("without a terminal: exit status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}
