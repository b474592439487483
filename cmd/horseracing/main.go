// Command horseracing reads the game data service of a horse-racing game, and
// registers horses. Its output is a table for people, or JSON Lines for other
// programs.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/profile"
	"github.com/horseracing-go/horseracing/cmd/internal/signals"
)

func main() {
	// net/http logs parts of responses, which may hold keys.
	log.SetOutput(io.Discard)
	p := &program{
		name: "horseracing", stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		interactive: isTerminal(os.Stdout), attended: isTerminal(os.Stderr), width: widthOf(os.Stdout), reported: time.Now(),
	}
	ctx := signals.Context(func(r signals.Received) { os.Exit(p.abandon(r)) })
	os.Exit(p.exit(ctx, p.run(ctx, os.Args[1:])))
}

// run executes the command line.
func (p *program) run(ctx context.Context, args []string) error {
	root := p.rootCommand()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	p.name = c.CommandPath()
	if err != nil && !p.isRunning { // a mistake of the command line, found perhaps before the flag was parsed
		p.asJSON = p.asJSON || slices.Contains(args, "--json")
		err = usageError(strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

// command returns a command with its help, that runs do.
func (p *program) command(use, short string, args cobra.PositionalArgs, do func(c *cobra.Command, args []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: args}
	text, _ := help.ReadFile("help/" + c.Name() + ".txt") // short may say it all
	more, examples, _ := strings.Cut("\n\n"+string(text), "\n\nExamples:\n")
	c.Long, c.Example = strings.TrimSpace(short+"."+more), strings.TrimRight(examples, "\n")
	if do != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			p.isRunning, p.name = true, c.CommandPath()
			if err := p.checkForm(); err != nil {
				return err
			}
			return do(c, args)
		}
	}
	return c
}

// rootCommand returns the program's commands.
func (p *program) rootCommand() *cobra.Command {
	root := p.command("horseracing", "Reads the game data service of a horse-racing game, and registers horses", nil, nil)
	root.SilenceErrors, root.SilenceUsage = true, true // one sentence for a mistake, not the whole help
	root.Version = horseracing.Version
	root.SetVersionTemplate(versionLine())
	root.SetOut(p.stdout)
	flags := root.PersistentFlags()
	flags.BoolVar(&p.asJSON, "json", false, "print JSON Lines (the default if the output does not go to a terminal), and errors as JSON")
	flags.BoolVar(&p.asTable, "table", false, "print a table (the default on a terminal)")
	flags.BoolVarP(&p.verbose, "verbose", "v", false, "log every request to standard error")
	flags.Func("profile", "use the settings that horseracing login saved as `NAME`; default HORSERACING_PROFILE, or default", profile.Flag(&p.profile))
	_ = root.RegisterFlagCompletionFunc("profile", profileNames) // it exists
	cobra.EnableCommandSorting = false
	add := func(group string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: group, Title: group})
		for _, c := range commands {
			c.GroupID = group
		}
		root.AddCommand(commands...)
	}
	add("Read the service:", p.openCommand(), p.resultsCommand(), p.raceCommand(), p.horseCommand(), p.ownedCommand(), p.breedingCommand(),
		p.tournamentsCommand(), p.tiersCommand(), p.catalogueCommand(), p.missionsCommand(), p.watchCommand())
	add("Register horses:", p.registerCommand(), p.ledgerCommand())
	add("Settings:", p.loginCommand(), p.logoutCommand(), p.profilesCommand())
	add("Examine and try:", p.callCommand(), p.doctorCommand(), p.fakeCommand())
	root.AddCommand(p.versionCommand(), p.command("status", "The exit statuses", nil, nil), p.command("amounts", "The units of amounts", nil, nil))
	p.arrange(root)
	return root
}

func versionLine() string {
	return fmt.Sprintf("horseracing %s (%s %s/%s)\n", horseracing.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (p *program) versionCommand() *cobra.Command {
	return p.command("version", "Print the version", cobra.NoArgs, func(*cobra.Command, []string) error {
		_, err := io.WriteString(p.stdout, versionLine())
		return err
	})
}
