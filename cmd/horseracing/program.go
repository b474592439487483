package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/itchyny/gojq"
	"golang.org/x/term"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// program is what all commands share.
type program struct {
	name        string // "horseracing results", before errors
	stdin       io.Reader
	stdout      io.Writer
	stderr      io.Writer
	interactive bool      // standard output is a terminal
	attended    bool      // standard error is a terminal
	width       int       // of a line of standard output
	reported    time.Time // when progress was printed last

	isRunning       bool // the command line was understood
	isEndless       bool // it runs until it is interrupted
	isPaying        atomic.Bool
	timeout         time.Duration
	asJSON, asTable bool
	asCSV           bool
	jq              *gojq.Code // of --jq, or nil
	limit           int        // of a list, zero if it is not limited
	profile         string     // of --profile
	now             time.Time  // of the service, zero if it is not known
	demo, verbose   bool
	rate            float64     // requests per second, zero if not limited
	complained      error       // the last error that did not end the program
	skipped         int         // entries that could not be read
	unread          []string    // their places in the list
	service         *service    // nil before it is known
	keys            redact.Keys // what no output shows, nil before a service is known
}

// pipeWidth is the width of a table that does not go to a terminal.
const pipeWidth = 120

// isOutputClosed reports whether nobody reads standard output any more.
func isOutputClosed(err error) bool {
	file, isFile := errors.AsType[*fs.PathError](err)
	return isFile && file.Path == os.Stdout.Name() && errors.Is(file.Err, syscall.EPIPE)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func widthOf(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return pipeWidth
}

// printsJSON reports whether values are printed as JSON.
func (p *program) printsJSON() bool { return p.asJSON || p.jq != nil || !p.asTable && !p.interactive }

// checkForm refuses flags that want several forms of output.
func (p *program) checkForm() error {
	var forms []string
	for _, form := range []struct {
		flag    string
		isGiven bool
	}{{"--json", p.asJSON && p.jq == nil}, {"--table", p.asTable}, {"--csv", p.asCSV}, {"--jq", p.jq != nil}} {
		if form.isGiven {
			forms = append(forms, form.flag)
		}
	}
	if len(forms) > 1 {
		return usageError(strings.Join(forms, " and ") + " exclude each other")
	}
	return nil
}

// printJSON prints a line of JSON.
func (p *program) printJSON(value any) error {
	text, err := p.line(value)
	switch {
	case err != nil:
		return err
	case p.jq != nil:
		return p.applyJQ(text)
	}
	return p.write(text)
}

// lineOf returns a value as a line of JSON.
func lineOf(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// write prints JSON. For a terminal it escapes what could control it.
func (p *program) write(text []byte) error {
	if p.interactive {
		text = escapeControls(text)
	}
	_, err := p.stdout.Write(text)
	return err
}

// escapeControls writes characters that are not printable as JSON does, which does not
// have to escape all of them: names are chosen by players.
func escapeControls(text []byte) []byte {
	var escaped bytes.Buffer
	for _, r := range string(text) {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			escaped.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&escaped, `\u%04x`, unit)
		}
	}
	return escaped.Bytes()
}

// say prints sentences to standard error, each on a line, with --json of JSON. The name of the
// program takes the place of the library's.
func (p *program) say(text string) {
	for line := range strings.Lines(text) {
		line = redact.Visible(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "horseracing: "), "ledger: ")))
		if p.asJSON {
			said, _ := lineOf(map[string]string{"level": "info", "message": line}) // it is made of text
			_, _ = p.stderr.Write(said)                                            // there is nowhere to report it
		} else {
			fmt.Fprintf(p.stderr, "%s: %s\n", p.name, line)
		}
	}
}

// log returns the log, which has the form of what say prints, with -v of every request.
func (p *program) log() *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelWarn}
	if p.verbose {
		o.Level = slog.LevelDebug
	}
	if !p.asJSON {
		return slog.New(slog.NewTextHandler(p.stderr, o))
	}
	o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.LevelKey:
			return slog.String(a.Key, strings.ToLower(a.Value.String()))
		case slog.MessageKey:
			a.Key = "message"
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(p.stderr, o))
}

// progressOf returns a function to call for each entry that was handled. It prints how
// many there are, how fast they come, and the date that was reached, unless the entries
// themselves are shown on the terminal, or nobody looks at a command that has no end.
func (p *program) progressOf(name string, areShown bool) func(time.Time) {
	began, n := time.Now(), 0
	return func(reached time.Time) {
		n++
		if !areShown && (p.attended || !p.isEndless) {
			counted := fmt.Sprintf("%d %ss", n, name)
			switch {
			case n == 1:
				counted = "1 " + name
			case n >= 10:
				counted += fmt.Sprintf(", %.0f a second", float64(n)/max(time.Since(began).Seconds(), 1))
			}
			p.reportProgress("%s, at %s", counted, minute(reached))
		}
	}
}

// reportProgress prints how far a command is, each minute, or more often if somebody may read it.
func (p *program) reportProgress(format string, args ...any) {
	interval := time.Minute
	if p.attended {
		interval = 5 * time.Second
	}
	if time.Since(p.reported) >= interval {
		p.say(fmt.Sprintf(format, args...))
		p.reported = time.Now()
	}
}
