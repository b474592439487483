// Command horseracing reads the game data service of a horse-racing game, and
// registers horses. Its output is a table for people, or JSON Lines for other
// programs.
package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

const sigpipe = syscall.Signal(13) // syscall.SIGPIPE is not defined for js

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	signal.Ignore(sigpipe)       // a write to a closed pipe is an error instead, which exitCodeOf handles
	p := &program{
		name: "horseracing", stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		interactive: isTerminal(os.Stdout), attended: isTerminal(os.Stderr), width: widthOf(os.Stdout), reported: time.Now(),
	}
	os.Exit(p.exit(ctx, p.run(ctx, os.Args[1:])))
}

// run executes the command line.
func (p *program) run(ctx context.Context, args []string) error {
	err := p.execute(ctx, args)
	if _, isMistake := err.(usageError); isMistake { // perhaps before the flag was parsed
		p.asJSON = p.asJSON || slices.Contains(args, "--json") || slices.Contains(args, "-json")
	}
	return err
}

func (p *program) execute(ctx context.Context, args []string) (err error) {
	root := p.rootCommand()
	if len(args) == 0 || !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		if args, err = p.normalize(root, args); err != nil {
			return err
		}
	}
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// normalize moves the command before its flags, so that they may come first. It returns
// an error about a command that does not exist, or a long flag with one dash.
func (p *program) normalize(root *cobra.Command, args []string) ([]string, error) {
	for i, word := range args {
		for _, command := range root.Commands() {
			if command.Name() == word {
				p.name = command.CommandPath()
				return slices.Concat(args[i:i+1], args[:i], args[i+1:]), checkDashes(command, args)
			}
		}
	}
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return args, checkDashes(root, args)
	}
	return args, unknownCommand(root, args[i])
}

// checkDashes returns an error about a flag that is typed as -since. It would be read as
// -s -i -n -c -e, or -out as the flag -o with the value "ut".
func checkDashes(command *cobra.Command, args []string) error {
	command.InitDefaultHelpFlag()
	command.InitDefaultVersionFlag()
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if arg == "--" {
			return nil
		}
		if len(name) > 1 && strings.HasPrefix(arg, "-") && command.Flag(name) != nil {
			return usageError(fmt.Sprintf("there is no flag -%s: did you mean --%[1]s?", name))
		}
	}
	return nil
}

// unknownCommand returns an error that suggests the nearest command.
func unknownCommand(root *cobra.Command, word string) error {
	text := fmt.Sprintf("there is no command %q", word)
	if near := root.SuggestionsFor(word); len(near) > 0 {
		text += ": did you mean " + near[0] + "?"
	}
	return usageError(text)
}

// help has what the commands say of themselves with -h, NAME.txt after the usage line.
//
//go:embed help
var help embed.FS

// command returns a command that takes that many arguments, with its help.
func (p *program) command(use, short string, least, most int) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: takes(least, most)}
	text, _ := help.ReadFile("help/" + c.Name() + ".txt") // short may say it all
	more, examples, _ := strings.Cut("\n\n"+string(text), "\n\nExamples:\n")
	c.Long, c.Example = strings.TrimSpace(short+"."+more), strings.TrimRight(examples, "\n")
	return c
}

// rootCommand returns the program's commands.
func (p *program) rootCommand() *cobra.Command {
	root := p.command("horseracing", "Reads the game data service of a horse-racing game, and registers horses", 0, many)
	root.SilenceErrors, root.SilenceUsage = true, true // one sentence for a mistake, not the whole help
	root.SuggestionsMinimumDistance, root.Version = 2, horseracing.Version
	root.SetOut(p.stdout)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagMistake(err) })
	root.RunE = func(*cobra.Command, []string) error { return usageError("a command is missing") }
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if p.asJSON && p.asTable {
			return usageError("--json and --table exclude each other")
		}
		return nil
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&p.asJSON, "json", false, "print JSON Lines (the default unless it goes to a terminal), and errors as JSON")
	flags.BoolVar(&p.asTable, "table", false, "print a table (the default on a terminal)")
	flags.BoolVarP(&p.verbose, "verbose", "v", false, "log every request to standard error")
	cobra.EnableCommandSorting = false
	root.AddCommand(p.openCommand(), p.resultsCommand(), p.raceCommand(), p.horseCommand(), p.ownedCommand(), p.breedingCommand(),
		p.tournamentsCommand(), p.tiersCommand(), p.catalogueCommand(), p.missionsCommand(), p.watchCommand(), p.registerCommand(),
		p.ledgerCommand(), p.callCommand(), p.doctorCommand(), p.fakeCommand(), p.versionCommand())
	root.SetHelpCommand(p.helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"}) // it exists now
	completion.Args, completion.RunE = cobra.ArbitraryArgs, func(*cobra.Command, []string) error { return usageError("want bash, zsh, fish or powershell") }
	footer, _ := help.ReadFile("help/footer.txt")
	root.SetUsageTemplate(root.UsageTemplate() + "\n" + string(footer))
	root.SetVersionTemplate(versionLine())
	return root
}

func (p *program) helpCommand() *cobra.Command {
	c := p.command("help [COMMAND]", "Describe the program, or a command", 0, 1)
	c.RunE = func(c *cobra.Command, args []string) error {
		described, rest, _ := c.Root().Find(args)
		if len(rest) > 0 {
			return unknownCommand(c.Root(), rest[0])
		}
		described.InitDefaultHelpFlag()
		return described.Help()
	}
	return c
}

func versionLine() string {
	return fmt.Sprintf("horseracing %s (%s %s/%s)\n", horseracing.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (p *program) versionCommand() *cobra.Command {
	c := p.command("version", "Print the version", 0, 0)
	c.RunE = func(*cobra.Command, []string) error {
		_, err := io.WriteString(p.stdout, versionLine())
		return err
	}
	return c
}
