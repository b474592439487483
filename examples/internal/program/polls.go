package program

import (
	"errors"
	"fmt"
	"io"

	"github.com/horseracing-go/horseracing"
)

// Polls prints what is wrong with the polls of a program that goes on, once for
// each change.
type Polls struct {
	name string
	out  io.Writer
	last string
}

// NewPolls prints lines that begin with the program's name.
func NewPolls(name string, out io.Writer) *Polls { return &Polls{name: name, out: out} }

// Report takes the error of a poll, nil if it succeeded.
func (p *Polls) Report(err error) {
	line := ""
	switch {
	case errors.Is(err, horseracing.ErrHole):
		line = "left out: " + err.Error()
	case err != nil:
		line = Explain(err) + "; polling goes on"
	}
	switch {
	case line == p.last:
	case line == "":
		fmt.Fprintf(p.out, "%s: the service responds again\n", p.name)
	default:
		fmt.Fprintf(p.out, "%s: %s\n", p.name, line)
	}
	p.last = line
}
