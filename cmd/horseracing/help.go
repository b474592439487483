package main

import (
	"embed"
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
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", p.width)))
	kinds := map[string]string{"race": "race", "horse": "horse", "missions": "horse", "tournaments": "tournament"}
	for _, c := range root.Commands() {
		if kind := kinds[c.Name()]; kind != "" {
			c.ValidArgsFunction = ids(kind)
		} else if len(c.ValidArgs) == 0 && c.Name() != "ledger" { // whose argument is a file
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			values := cobra.NoFileCompletions
			switch name, _ := pflag.UnquoteUsage(f); {
			case name == "FILE":
				return
			case f.Name == "tier":
				values = severalOf(tierNames)
			case f.Name == "race" || f.Name == "horse":
				values = ids(f.Name)
			case strings.Contains(name, "|"):
				values = cobra.FixedCompletions(strings.Split(name, "|"), noFiles)
			}
			_ = c.RegisterFlagCompletionFunc(f.Name, values) // it exists, and has none
		})
	}
}

const noFiles = cobra.ShellCompDirectiveNoFileComp
