package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/internal/redact"
)

func TestATableFitsTheTerminal(t *testing.T) {
	type row struct {
		id   int64
		name string
		cell string
	}
	rows := []row{{7, "one", "a"}, {1 << 40, "\x1b[31mé\r\n\u202e", "soon"}, {8, strings.Repeat("馬", 20_000), "b"}}
	l := layout[row]{fields: []field[row]{
		whole("ID", func(r *row) int64 { return r.id }), words("NAME", func(r *row) string { return r.name }),
		whole("LENGTH", func(r *row) int { return len(r.name) }), words("CLOSES", func(r *row) string { return r.cell }).wide(9),
	}}
	for _, width := range []int{120, 20} {
		var screen strings.Builder
		p := &program{stdout: &screen, interactive: true, width: width}
		double.NoError(t, printList(p, l, rows, nil))
		double.Golden(t, fmt.Sprintf("testdata/%d.table", width), screen.String())
	}
}

// A name may have one.
func TestNoFormOfOutputShowsAKey(t *testing.T) {
	const key = "key-0123456789"
	l := layout[string]{fields: []field[string]{words("ID", func(*string) string { return "7" }), words("NAME", func(s *string) string { return *s })}}
	for form, p := range map[string]*program{"a table": {interactive: true, width: 80}, "CSV": {asCSV: true}, "JSON": {asJSON: true}} {
		var screen strings.Builder
		p.stdout, p.keys = &screen, redact.New(key)
		double.NoError(t, printList(p, l, []string{"a " + key}, nil))
		double.FailIf(t, strings.Contains(screen.String(), key) || !strings.Contains(screen.String(), "a [redacted]"), "%s: %s", form, screen.String())
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
	p := &program{stdout: &screen, interactive: true, width: 80, now: now}
	double.NoError(t, errors.Join(
		printList(p, p.raceLayout(openColumns), []horseracing.Race{race}, nil),
		printList(p, p.changeLayout(), []change{{Kind: horseracing.RaceOpened, Race: &race, Time: now}, {Kind: horseracing.RaceUpdated, Race: &race, Time: now, Changed: []string{"horse 1740 entered", "horse 990 left"}}}, nil),
		printList(p, tournamentLayout, []horseracing.Tournament{tournament}, nil),
	))
	double.Golden(t, "testdata/narrow.table", screen.String())
}

func TestJSONIsWhatWasReceived(t *testing.T) {
	t.Parallel()
	const (
		entry = "{ \"weather\": \"a\\/b\u202e\", \"wind\":\"\xff\", \"_id\":\"t7\",\"main_race_id\":7.0,\"number\":7,\"start_time\":1748774562859,\n\"entry_fee\":1e+21," +
			`"prizes":[1E21,0.50,1e-2],"min_level":0,"info":{"surface":null},"participants":[{"number":5,"total":0,"lane":0}],"final_order":[0],"it is the-users-key":"the-app-key, 1e21"}`
		want = `{"weather":"a\/b` + "\u202e" + `","wind":"` + "\ufffd" + `","_id":"t7","main_race_id":7.0,"number":7,"start_time":1748774562859,"entry_fee":1000000000000000000000,` +
			`"prizes":[1000000000000000000000,0.50,1e-2],"min_level":0,"info":{"surface":null},"participants":[{"number":5,"total":0,"lane":0}],"final_order":[0],"it is [redacted]":"[redacted], 1e21"}`
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := "[" + entry + "]" // a race, a horse and a tournament in one
		var query struct {
			From int64 `json:"start_time_from"`
		}
		if _ = json.NewDecoder(r.Body).Decode(&query); strings.HasSuffix(r.URL.Path, "results") && query.From != 0 && query.From <= 1748774562859 {
			body = "[]"
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	service := variables(server.URL, "the-app-key", "the-users-key")
	file := filepath.Join(t.TempDir(), "file")
	for _, args := range []string{"open", "race 7", "results", "results --follow --since 2025-01-01 -n 1", "results --since 2025-01-01 --cursor " + file + ".position",
		"horse 7", "owned", "tournaments", "tournaments t7", "tournaments --finished"} {
		double.Equal(t, args, result{stdout: want + "\n"}, run(t, service, strings.Fields(args)...))
	}
	for range 2 { // it is not added twice
		run(t, service, "results", "--since", "2025-01-01", "-o", file)
	}
	double.Equal(t, "-o", []string{want + "\n"}, linesOf(t, file))
}

func TestHelpFitsTheTerminalAndHasEveryCommandOnce(t *testing.T) {
	for _, width := range []int{80, 120} {
		p := &program{}
		names := []string{"", "help"}
		for _, c := range p.rootCommand().Commands() {
			names = append(names, c.Name())
		}
		for _, name := range names {
			var text strings.Builder
			p := &program{stdout: &text, width: width}
			double.Equal(t, name, nil, p.run(t.Context(), strings.Fields(name+" -h")))
			for line := range strings.Lines(text.String()) {
				n := utf8.RuneCountInString(strings.TrimRight(line, " \n"))
				double.FailIf(t, n > width, "%s: %d columns: %s", name, n, line)
			}
			for _, c := range p.rootCommand().Commands() {
				double.FailIf(t, name == "" && c.Runnable() && strings.Count(text.String(), "\n  "+c.Name()+" ") != 1, "%s is not shown once", c.Name())
			}
		}
	}
}

func TestEveryExampleOfADemoWorks(t *testing.T) {
	t.Parallel()
	n := 0
	root := new(program).rootCommand()
	for _, c := range append(root.Commands(), root) {
		for line := range strings.Lines(c.Example) {
			if args := strings.Fields(line); strings.Contains(line, " --demo") {
				n++
				got := run(t, nil, args[1:]...)
				double.FailIf(t, got.status != 0 || got.stdout == "", "%s: %+v", line, got)
			}
		}
	}
	double.Equal(t, "there are examples with --demo", true, n > 0)
}

func TestHelpGoesToStandardOutputAndCompletionOffersWhatThereIs(t *testing.T) {
	t.Parallel()
	transcript(t, newFake(t), "help", map[string]string{"VERSION": horseracing.Version})
}
