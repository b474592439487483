package main

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// help has what the commands say of themselves with -h, NAME.txt after the usage line.
//
//go:embed help
var help embed.FS

// arrange wraps the help of the flags, and completes what has few values.
func (p *program) arrange(root *cobra.Command) {
	root.SetHelpCommand(p.helpCommand(root))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", p.width)))
	for _, c := range root.Commands() {
		if len(c.ValidArgs) == 0 && c.Name() != "ledger" { // whose argument is a file
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			values := cobra.NoFileCompletions
			switch name, _ := pflag.UnquoteUsage(f); {
			case name == "FILE":
				return
			case strings.Contains(name, "|"):
				values = cobra.FixedCompletions(strings.Split(name, "|"), cobra.ShellCompDirectiveNoFileComp)
			}
			_ = c.RegisterFlagCompletionFunc(f.Name, values) // it exists, and has none
		})
	}
}

// helpCommand returns the command help, to which a name that does not exist is a mistake.
func (p *program) helpCommand(root *cobra.Command) *cobra.Command {
	c := p.command("help [COMMAND]", "Help about a command, status or amounts", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		about, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return usageError(fmt.Sprintf("there is no command or topic %q", strings.Join(args, " ")))
		}
		about.InitDefaultHelpFlag()
		return about.Help()
	})
	for _, topic := range root.Commands() {
		c.ValidArgs = append(c.ValidArgs, cobra.CompletionWithDesc(topic.Name(), topic.Short))
	}
	return c
}

// plainUsage removes the marks of pflag from what the flags say of themselves, which a shell would
// show beside completions.
func plainUsage(root *cobra.Command) {
	for _, c := range append(root.Commands(), root) {
		unquote := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
		c.Flags().VisitAll(unquote)
		c.PersistentFlags().VisitAll(unquote)
	}
}

// wanted is what flags take, by the types of their values.
var wanted = map[string]string{
	"bool": "true or false", "duration": "a time like 30s, 10m or 24h", "float64": "a number",
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number that is not negative",
}

// mistake returns the error of a command line in one sentence.
func mistake(c *cobra.Command, err error) error {
	unknown, isUnknownFlag := errors.AsType[*pflag.NotExistError](err)
	empty, isEmpty := errors.AsType[*pflag.ValueRequiredError](err)
	invalid, isInvalid := errors.AsType[*pflag.InvalidValueError](err)
	text, suggested, isUnknown := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	switch {
	case isInvalid && wanted[invalid.GetFlag().Value.Type()] != "":
		text = fmt.Sprintf("invalid argument %q for --%s: want %s", invalid.GetValue(), invalid.GetFlag().Name, wanted[invalid.GetFlag().Value.Type()])
	case isUnknown:
		text += ": did you mean " + strings.Join(strings.Fields(suggested), " or ") + "?"
	case isUnknownFlag:
		if like := flagsLike(c, unknown.GetSpecifiedName()); len(like) > 0 {
			text += ": did you mean --" + strings.Join(like, " or --") + "?"
		}
	case isEmpty:
		name, _ := pflag.UnquoteUsage(empty.GetFlag())
		text = "an argument is missing:" + text[strings.LastIndexByte(text, ' '):] + " " + name // the flag as it was typed
	case c.HasParent() && strings.HasPrefix(text, "unknown command"):
		text = "it takes no arguments"
	case strings.Contains(text, " arg(s)"):
		text = "usage: " + c.UseLine()
	}
	return usageError(strings.Join(strings.Fields(text), " "))
}

// flagsLike returns the flags of a command whose names are like one that does not exist.
func flagsLike(c *cobra.Command, name string) []string {
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return flags.SuggestionsFor(name)
}
