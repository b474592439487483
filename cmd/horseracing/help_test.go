package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

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
				if n := utf8.RuneCountInString(strings.TrimRight(line, " \n")); n > width {
					t.Errorf("%s: %d columns: %s", name, n, line)
				}
			}
			for _, c := range p.rootCommand().Commands() {
				if name == "" && c.Runnable() && strings.Count(text.String(), "\n  "+c.Name()+" ") != 1 {
					t.Errorf("%s is not shown once", c.Name())
				}
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
				if got := run(t, nil, args[1:]...); got.status != 0 || got.stdout == "" {
					t.Errorf("%s: %+v", line, got)
				}
			}
		}
	}
	double.Equal(t, "there are examples with --demo", true, n > 0)
}

func TestHelpGoesToStandardOutputAndCompletionOffersWhatThereIs(t *testing.T) {
	t.Parallel()
	transcript(t, newFake(t), "help", map[string]string{"VERSION": horseracing.Version})
}
