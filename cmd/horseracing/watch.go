package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

// change is a line of the command watch.
type change struct {
	Kind    horseracing.RaceChangeKind `json:"kind"`
	Race    *horseracing.Race          `json:"race"`
	Time    time.Time                  `json:"time"`
	Changed []string                   `json:"changed,omitempty"`
}

func (p *program) watchCommand() *cobra.Command {
	var interval time.Duration
	var w watcher
	c := p.reading("watch", "Changes in the open races", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		if interval < time.Second {
			return usageError("--interval must be at least 1s")
		}
		if w.order != "" {
			return usageError("--sort is for lists, and watch prints each change when it is seen")
		}
		return w.run(ctx, s, interval)
	})
	flags := c.Flags()
	flags.DurationVar(&interval, "interval", 15*time.Second, "the `TIME` between polls, at least 1s")
	flags.BoolVar(&w.isNew, "new", false, "leave out the races that are open at the start")
	flags.Func("exec", "run this shell `COMMAND` for each change, one after another, with its line of JSON on standard input", func(text string) error {
		if w.exec = text; text == "" {
			return errors.New("want a command")
		}
		return nil
	})
	fileFlag(flags, &w.path, "state", "", "keep in this `FILE` what was reported, and continue there if it exists")
	w.view = newView(p, c, p.changeLayout())
	return c
}

// watcher reports the changes of the open races.
type watcher struct {
	*view[change]
	isNew      bool // those that are open at the start are left out
	exec, path string
}

// run reports changes until the context ends.
func (w *watcher) run(ctx context.Context, s *service, interval time.Duration) error {
	known, err := openReported(w.path, s.BaseURL())
	if err != nil {
		return err
	}
	defer known.close()
	table, isSilent, printed := newSheet(w.view), w.isNew && !known.isContinued, 0
	for poll, err := range s.Races.Watch(ctx, horseracing.WatchQuery{Interval: interval, Last: known.Races}) {
		switch {
		case endsReading(err):
			return err
		case err != nil:
			w.p.complain(err)
			continue
		}
		for _, c := range poll.Changes {
			if ctx.Err() != nil { // a command may have taken long
				return ctx.Err()
			}
			line := change{Kind: c.Kind, Race: c.Race, Time: time.Now().UTC().Truncate(time.Second), Changed: changed(c)}
			if !isSilent && w.fits(&line) {
				if err := w.report(ctx, table, &line); err != nil {
					return err
				}
				printed++
			}
			known.note(c)
			if err := known.replace(known); err != nil || printed > 0 && printed == w.p.limit {
				return err
			}
		}
		isSilent = false
		if !known.isContinued { // also if no race is open
			known.isContinued = true
			if err := known.replace(known); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// report prints a change, and runs the command of --exec.
func (w *watcher) report(ctx context.Context, table *sheet[change], line *change) error {
	if err := errors.Join(table.add(horseracing.Entry[change]{Value: line}), table.flush()); err != nil || w.exec == "" {
		return err
	}
	text, err := w.p.line(line)
	if err != nil {
		return err
	}
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	command := exec.Command(shell[0], shell[1], w.exec)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), w.p.stderr, w.p.stderr
	if err := command.Run(); err != nil {
		select { // Ctrl-C ends the command, too, which is then to run again
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(signalTime):
			w.p.complain(fmt.Errorf("--exec failed for race %d, which %s: %w", line.Race.MainRaceID, line.Kind, err))
		}
	}
	return nil
}

// signalTime is how long after the end of a command the signal that ended it may arrive here.
const signalTime = 100 * time.Millisecond

// reported is the file of --state: the open races as they were reported last.
type reported struct {
	origin
	Races []horseracing.Race `json:"races"`

	locked
	isContinued bool // the file existed
}

// openReported locks and reads the file at path, if there is one, which may not exist yet.
func openReported(path, service string) (r *reported, err error) {
	r = &reported{origin: origin{Service: service}}
	if path == "" {
		return r, nil
	}
	if r.locked, err = lockFile("--state", path); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		_ = r.close()
		return nil, err
	}
	return r, nil
}

// read reads the file, if it exists.
func (r *reported) read() error {
	text, err := readText(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var stored reported
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		return fmt.Errorf("%s was not written by --state, or is damaged: restore it, or remove it to begin anew (%w)", r.path, err)
	}
	r.Races, r.isContinued = stored.Races, true
	return stored.check(r.origin, r.path)
}

// note notes that a change was reported.
func (r *reported) note(c horseracing.RaceChange) {
	r.Races = slices.DeleteFunc(r.Races, func(known horseracing.Race) bool { return keyOf(&known) == keyOf(c.Race) })
	if c.Kind != horseracing.RaceClosed {
		r.Races = append(r.Races, *c.Race)
	}
}

// changed returns what an update changed.
func changed(c horseracing.RaceChange) (parts []string) {
	if c.Kind != horseracing.RaceUpdated {
		return nil
	}
	add := func(isChanged bool, format string, args ...any) {
		if isChanged {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	for _, horse := range c.Race.Participants {
		add(!c.Previous.Has(horse.Number), "horse %d entered", horse.Number)
	}
	for _, horse := range c.Previous.Participants {
		add(!c.Race.Has(horse.Number), "horse %d left", horse.Number)
	}
	add(!c.Race.RegistrationDeadline.Equal(c.Previous.RegistrationDeadline.Time), "closes %s", minute(c.Race.RegistrationDeadline.Time))
	add(c.Race.Status != c.Previous.Status, "status %q", c.Race.Status)
	return parts
}

// changeLayout has the fields of a change, and those of its race with their filters.
func (p *program) changeLayout() layout[change] {
	what := words("WHAT CHANGED", func(c *change) string {
		return cmp.Or(strings.Join(c.Changed, ", "), string(c.Kind))
	}).wide(20)
	what.isFull = true
	fields := []field[change]{what, moment("TIME", func(c *change) time.Time { return c.Time }).as(func(c *change) string { return c.Time.Format("15:04") })}
	for _, f := range p.raceLayout(nil).fields {
		fields = append(fields, field[change]{
			title: f.title, width: f.width, isAmount: f.isAmount, isNumber: f.isNumber, flag: f.flag, about: f.about,
			value: func(c *change) any { return f.value(c.Race) },
			text:  func(c *change) string { return f.text(c.Race) },
			parse: func(text string) (func(*change) bool, error) {
				fits, err := f.parse(text)
				return func(c *change) bool { return fits(c.Race) }, err
			},
		})
	}
	return layout[change]{fields, []string{"what_changed", "time", "race", "free", "closes", "fee", "name", "levels"}}
}
