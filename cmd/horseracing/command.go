package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// command is one of the program's commands.
type command struct {
	name, args  string // args as the usage line shows them
	least, most int    // how many args it takes
	about       string // one line
	more        string // the rest of the command's help
	setup       func(*flag.FlagSet) action
}

// action does what a command is for, after its flags were parsed.
type action func(ctx context.Context, p *program, args []string) error

const many = 1 << 20

// reading returns an action that uses the service.
func reading(do func(ctx context.Context, p *program, s *service, args []string) error) action {
	return func(ctx context.Context, p *program, args []string) error {
		s, err := p.connect()
		if err != nil {
			return err
		}
		defer s.close()
		return do(ctx, p, s, args)
	}
}

// commandLine is a parsed command line.
type commandLine struct {
	command command
	flags   *flag.FlagSet
	do      action
	args    []string // what is neither the command nor a flag
}

// parse reads the command line. With an error there is a commandLine if the
// command is known.
func parse(args []string, commands []command, common func(*flag.FlagSet)) (*commandLine, error) {
	for i, word := range args {
		for _, c := range commands {
			if c.name == word {
				line := newCommandLine(c, common)
				if err := line.parse(slices.Concat(args[:i], args[i+1:])); err != nil {
					return line, err
				}
				return line, line.check()
			}
		}
	}
	line := newCommandLine(command{setup: func(*flag.FlagSet) action { return nil }}, common)
	err := line.parse(args)
	switch {
	case len(line.args) > 0: // before help, which would hide the mistake
		return nil, unknownCommand(line.args[0], commands)
	case err != nil:
		return nil, err
	}
	return nil, errors.New("a command is missing")
}

func newCommandLine(c command, common func(*flag.FlagSet)) *commandLine {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // one sentence for a mistake, not the whole help
	flags.Usage = func() {}
	common(flags)
	return &commandLine{command: c, flags: flags, do: c.setup(flags)}
}

// parse reads flags and arguments in any order.
func (l *commandLine) parse(args []string) error {
	for len(args) > 0 {
		if err := l.flags.Parse(args); err != nil {
			return err
		}
		if args = l.flags.Args(); len(args) > 0 {
			l.args, args = append(l.args, args[0]), args[1:]
		}
	}
	return nil
}

// check returns an error if there are too few or too many arguments.
func (l *commandLine) check() error {
	switch c := l.command; {
	case l.flags.Lookup("json").Value.String() == "true" && l.flags.Lookup("table").Value.String() == "true":
		return errors.New("-json and -table exclude each other")
	case len(l.args) < c.least:
		return fmt.Errorf("%s is missing", strings.Fields(c.args)[len(l.args)])
	case len(l.args) > c.most:
		return fmt.Errorf("unexpected argument %q", l.args[c.most])
	}
	return nil
}

// unknownCommand returns an error that suggests the nearest command.
func unknownCommand(word string, commands []command) error {
	nearest := slices.MinFunc(commands, func(a, b command) int { return distance(word, a.name) - distance(word, b.name) })
	if distance(word, nearest.name) > max(2, len(word)/3) {
		return fmt.Errorf("there is no command %q", word)
	}
	return fmt.Errorf("there is no command %q: did you mean %s?", word, nearest.name)
}

// distance returns how many letters must be changed, added, dropped or swapped with
// the next one to make b of a.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
