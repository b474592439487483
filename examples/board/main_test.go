package main

import (
	"bytes"
	"io"
	"math/big"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// TestMain lets a test start the program itself: this binary, told to be it.
func TestMain(m *testing.M) {
	if os.Getenv("BE_BOARD") != "" {
		main()
	}
	os.Exit(m.Run())
}

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func tokens(t *testing.T, digits string) horseracing.BigInt {
	t.Helper()
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		t.Fatalf("%q is no integer", digits)
	}
	return horseracing.NewBigInt(n)
}

func openRace(t *testing.T, id horseracing.RaceID, closes time.Duration, taken, places int) horseracing.Race {
	return horseracing.Race{
		MainRaceID: id, RegistrationDeadline: horseracing.NewTimestamp(noon.Add(closes)), Length: 8, Type: horseracing.RaceTypeBestTime,
		Info: horseracing.RaceInfo{Name: "Clover Cup", HippodromeName: "Larkspur Downs"}, EntryFee: tokens(t, "2500000000000000000"),
		Places: places, Participants: make([]horseracing.RaceParticipant, taken), MinLevel: 1, MaxLevel: 20,
	}
}

// sample is a screen with races in every state.
func sample(t *testing.T) screen {
	s := screen{board: newBoard(0), now: noon, width: 120, height: 20}
	races := []horseracing.Race{
		openRace(t, 104, 3*time.Hour, 0, 12),
		openRace(t, 101, 42*time.Second, 11, 12),
		openRace(t, 102, 4*time.Minute, 12, 12),
		openRace(t, 103, -time.Second, 5, 6),
	}
	races[0].MinLevel, races[0].MaxLevel, races[0].Info.Name = 30, 60, "evil\x1b[2Jname"
	for _, r := range races {
		next, _ := s.Update(news{change: horseracing.RaceChange{Kind: horseracing.RaceOpened, Race: &r}})
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
	got := lines(sample(t))
	want := []string{
		" 4 open races  12:00:00 UTC  q quits",
		" closes in  race  fee   places  levels  length  wins     hippodrome      name",
		got[2],
		"       42s   101  2.5    11/12    1-20   8 fur  fastest  Larkspur Downs  Clover Cup",
		"    4m 00s   102  2.5  full/12    1-20   8 fur  fastest  Larkspur Downs  Clover Cup",
		"    3h 00m   104  2.5     0/12   30-60   8 fur  fastest  Larkspur Downs  evil[2Jname",
		"    closed   103  2.5      5/6    1-20   8 fur  fastest  Larkspur Downs  Clover Cup",
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the screen (-want +got):\n%s", diff)
	}
	if strings.Contains(sample(t).content(), "\x1b[2J") {
		t.Error("a race's name steers the terminal")
	}
}

func TestTheScreenFollowsChanges(t *testing.T) {
	s := sample(t)
	update := func(msg tea.Msg) {
		next, _ := s.Update(msg)
		s = next.(screen)
	}
	shown := func() string { return strings.Join(lines(s), "\n") }

	closed := openRace(t, 102, 0, 0, 12)
	update(news{change: horseracing.RaceChange{Kind: horseracing.RaceClosed, Race: &closed}})
	if strings.Contains(shown(), " 102 ") {
		t.Errorf("a race that closed is still shown:\n%s", shown())
	}
	fuller := openRace(t, 101, 42*time.Second, 12, 12)
	update(news{change: horseracing.RaceChange{Kind: horseracing.RaceUpdated, Race: &fuller}})
	if !strings.Contains(shown(), "full/12") {
		t.Errorf("a race that filled up does not show it:\n%s", shown())
	}
	update(tick(noon.Add(30 * time.Second)))
	if !strings.Contains(shown(), " 12s ") {
		t.Errorf("the time left did not go on:\n%s", shown())
	}
	update(news{err: horseracing.ErrServer})
	if !strings.Contains(shown(), "trouble at 12:00:30") {
		t.Errorf("a failed request is not told:\n%s", shown())
	}
	s.trouble = nil
	update(tea.WindowSizeMsg{Width: 40, Height: 5})
	if got := lines(s); len(got) != 5 || !strings.Contains(got[4], "and 2 more") {
		t.Errorf("on a small terminal:\n%s", shown())
	}
	for _, line := range lines(s) {
		if ansi.StringWidth(line) > 40 {
			t.Errorf("too wide for the terminal: %q", line)
		}
	}
	s.level, s.height = 50, 20
	if !strings.Contains(shown(), " 104 ") || strings.Contains(shown(), " 101 ") {
		t.Errorf("for level 50:\n%s", shown())
	}
}

func TestFee(t *testing.T) {
	for digits, want := range map[string]string{
		"0":                         "free",
		"1000000000000000000":       "1",
		"2500000000000000000":       "2.5",
		"5000000000000000001":       "5.0…",
		"123456789000000000000":     "123.4567…",
		"1":                         "0.0…",
		"1000000000000000000000":    "1,000",
		"1234567000000000000000000": "1,234,567",
	} {
		if got := fee(tokens(t, digits), fewDecimals); got != want {
			t.Errorf("fee(%s) = %q, want %q", digits, got, want)
		}
	}
	for digits, want := range map[string]string{
		"0":                         "free",
		"1":                         "0.000000000000000001",
		"5000000000000000001":       "5.000000000000000001",
		"1234567500000000000000000": "1,234,567.5",
	} {
		if got := fee(tokens(t, digits), allDecimals); got != want {
			t.Errorf("fee(%s) in full = %q, want %q", digits, got, want)
		}
	}
}

// environment makes run use the fake.
func environment(t *testing.T, fake *horseracingtest.Server) {
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", fake.APIKey)
}

func TestWithoutATerminalItPrintsAPlainTable(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	environment(t, fake)
	var stdout, stderr strings.Builder
	if status := run(t.Context(), nil, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	races, err := fake.Client().Races.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(races) == 0 {
		t.Fatal("the fake has no open race: the test shows nothing")
	}
	if got := strings.Count(strings.TrimSpace(stdout.String()), "\n"); got != len(races) {
		t.Errorf("%d lines under the header, want %d:\n%s", got, len(races), stdout.String())
	}
	if strings.Contains(stdout.String(), "\x1b") {
		t.Error("the plain table has escape sequences")
	}
	for _, r := range races {
		if whole := strings.ReplaceAll(stdout.String(), ",", ""); !strings.Contains(whole, " "+r.EntryFee.Decimal(18)+" ") {
			t.Errorf("the plain table lacks the fee of %s units:\n%s", r.EntryFee, stdout.String())
		}
	}
}

// lockedBuffer is read while the program still writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func waitFor(t *testing.T, output *lockedBuffer, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(output.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %q in:\n%s", text, ansi.Strip(output.String()))
		}
	}
}

func program(fake *horseracingtest.Server, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "BE_BOARD=1", "TERM=xterm-256color", "HORSERACING_BASE_URL="+fake.URL, "HORSERACING_API_KEY="+fake.APIKey)
	return c
}

func TestOnATerminalItLivesUntilTheUserEndsIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithClock(time.Now))
	defer fake.Close()
	for _, test := range []struct {
		key    string
		status int
	}{{"q", 0}, {"\x03", 130}} {
		child := program(fake, "-interval", "50ms")
		terminal, err := pty.StartWithSize(child, &pty.Winsize{Rows: 60, Cols: 120})
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		output := new(lockedBuffer)
		read := make(chan struct{})
		go func() { io.Copy(output, terminal); close(read) }()

		waitFor(t, output, "closes in")
		late := openRace(t, 900_001, 0, 1, 12)
		late.Info.Name = "Pressed " + map[string]string{"q": "Q", "\x03": "C"}[test.key]
		late.StartTime = horseracing.NewTimestamp(time.Now().Add(time.Hour))
		late.RegistrationDeadline = horseracing.NewTimestamp(time.Now().Add(50 * time.Minute))
		late.Tier = horseracing.TierNameOmega
		fake.AddRaces(late)
		waitFor(t, output, late.Info.Name)
		fake.RemoveRaces(late.MainRaceID)

		io.WriteString(terminal, test.key)
		child.Wait()
		<-read
		if got := child.ProcessState.ExitCode(); got != test.status || strings.Contains(output.String(), "goroutine") {
			t.Errorf("key %q: exit status %d, want %d:\n%s", test.key, got, test.status, ansi.Strip(output.String()))
		}
	}
}

func TestWatchPrintsAgainAfterAChangeUntilCtrlC(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	child := program(fake, "-watch", "-interval", "20ms")
	output := new(lockedBuffer)
	child.Stdout, child.Stderr = output, output
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	waitFor(t, output, "CLOSES IN")
	late := openRace(t, 900_001, 0, 1, 12)
	late.StartTime = horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	late.RegistrationDeadline = horseracing.NewTimestamp(fake.Now().Add(50 * time.Minute))
	late.Tier = horseracing.TierNameOmega
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: 400})
	waitFor(t, output, "trying again")
	fake.AddRaces(late)
	waitFor(t, output, "900001")
	child.Process.Signal(os.Interrupt)
	if child.Wait(); child.ProcessState.ExitCode() != 130 {
		t.Errorf("after Ctrl-C: %v, want exit status 130", child.ProcessState)
	}
	if tables := strings.Count(output.String(), "CLOSES IN"); tables != 2 || !strings.HasSuffix(output.String(), "board: stopped\n") {
		t.Errorf("%d tables, want 2:\n%s", tables, output)
	}
}

func TestFlagsAndErrors(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	environment(t, fake)
	t.Setenv("HORSERACING_API_KEY", "wrong")
	for _, test := range []struct {
		args   string
		status int
		says   string
	}{
		{"-h", 0, "Usage: board"},
		{"-level high", 2, "-level"},
		{"-level -3", 2, "-level cannot be negative"},
		{"now", 2, "unexpected argument"},
		{"", 1, "board: "},
		{"-watch", 1, "board: "},
	} {
		var stderr strings.Builder
		status := run(t.Context(), strings.Fields(test.args), io.Discard, &stderr)
		if status != test.status || !strings.Contains(stderr.String(), test.says) || status == 1 && strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("board %s: exit status %d, want %d; it said:\n%s", test.args, status, test.status, stderr.String())
		}
	}
}
