package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

const usage = `Usage: horseracing [flags] COMMAND [flags] [arguments]

Reads the game data service of a horse-racing game, and registers horses.

Commands:
%s
The output is a table if it goes to a terminal, and JSON Lines if not: -json and
-table choose. Fees in JSON are in units of 10^-18 tokens. Flags may come before or
after the command. "horseracing help COMMAND" describes a command.

The service is HORSERACING_BASE_URL, with the key HORSERACING_API_KEY;
HORSERACING_USER_KEY is the key of the horses' owner. With -demo it is an embedded
fake of the service that lasts as long as the program: no key, no network.

Examples:
  horseracing -demo open
  horseracing results -since 30d -o results.jsonl   # run it again for what is new
  horseracing watch -new

%s`

func printUsage(w io.Writer, commands []command) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, c := range commands {
		fmt.Fprintf(table, "  %s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
	}
	_ = table.Flush() // writes to memory do not fail
	_, err := fmt.Fprintf(w, usage, text.String(), exitStatuses)
	return err
}

// printHelp prints what "horseracing COMMAND -h" shows.
func printHelp(w io.Writer, c command, flags *flag.FlagSet) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage: horseracing %s\n\n%s%s.\n", strings.TrimSpace(c.name+" [flags] "+c.args), strings.ToUpper(c.about[:1]), c.about[1:])
	if c.more != "" {
		fmt.Fprintf(&text, "\n%s", c.more)
	}
	text.WriteString("\nFlags:\n")
	flags.SetOutput(&text)
	flags.PrintDefaults()
	_, err := fmt.Fprintf(w, "%s\n%s", text.String(), exitStatuses)
	return err
}
