package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
)

// program is what all commands share.
type program struct {
	name        string // "horseracing results", before errors
	stdin       io.Reader
	stdout      io.Writer
	stderr      io.Writer
	interactive bool // standard output is a terminal
	attended    bool // standard error is a terminal
	began       time.Time
	reported    time.Time // when progress was printed last

	patience        time.Duration // how long a request that fails is repeated, zero if not for long
	asJSON, asTable bool
	demo, verbose   bool
}

const (
	listingPatience               = 10 * time.Minute
	forever         time.Duration = -1
)

// isTerminal reports whether a file is a terminal, or another device that is
// not for storage.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// setFlags defines the flags that every command has.
func (p *program) setFlags(flags *flag.FlagSet) {
	flags.BoolVar(&p.asJSON, "json", false, "print JSON Lines (the default unless it goes to a terminal), and errors as JSON")
	flags.BoolVar(&p.asTable, "table", false, "print a table (the default on a terminal)")
	flags.BoolVar(&p.demo, "demo", false, "read an embedded fake of the service")
	flags.BoolVar(&p.verbose, "v", false, "log every request to standard error")
}

// printsJSON reports whether values are printed as JSON.
func (p *program) printsJSON() bool { return p.asJSON || !p.asTable && !p.interactive }

// printJSON prints a line of JSON.
func (p *program) printJSON(value any) error { return writeJSON(p.stdout, value) }

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printTitle prints a line for people.
func (p *program) printTitle(format string, args ...any) error {
	if p.printsJSON() {
		return nil
	}
	for i, arg := range args {
		args[i] = printable(fmt.Sprint(arg))
	}
	_, err := fmt.Fprintf(p.stdout, format+"\n", args...)
	return err
}

// say prints sentences to standard error, each on a line. The name of the program
// takes the place of the library's.
func (p *program) say(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "horseracing: "), "ledger: ")
		fmt.Fprintf(p.stderr, "%s: %s\n", p.name, printable(strings.TrimSpace(line)))
	}
}

// progressOf returns a function to call for each entry that was handled. It prints how
// many there are, how fast they come, and the date that was reached, unless the entries
// themselves are on the terminal.
func (p *program) progressOf(name string, arePrinted bool) func(time.Time) {
	began, n := time.Now(), 0
	return func(reached time.Time) {
		n++
		if !arePrinted || !p.interactive {
			p.reportProgress("%d %s, %.0f a second, at %s", n, name, float64(n)/max(time.Since(began).Seconds(), 1), minute(reached))
		}
	}
}

// reportProgress prints how far a command is: every five seconds if somebody may read it,
// or else once a minute, except with -follow, which has no end.
func (p *program) reportProgress(format string, args ...any) {
	every := 5 * time.Second
	if !p.attended {
		every = time.Minute
	}
	if isEndless := p.patience == forever; time.Since(p.reported) < every || isEndless && !p.attended {
		return
	}
	p.say(fmt.Sprintf(format, args...))
	p.reported = time.Now()
}

// printable removes what could control a terminal: names are chosen by players.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}
