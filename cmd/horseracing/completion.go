package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

const completionHelp = `Examples:
  source <(horseracing completion bash)
  horseracing completion zsh >"${fpath[1]}/_horseracing"
  horseracing completion fish >~/.config/fish/completions/horseracing.fish
`

// shells are the beginnings and ends of the completion scripts, around a line for each
// command with its flags.
var shells = map[string]struct{ before, command, after string }{
	"bash": {
		before: `_horseracing() {
	local word=${COMP_WORDS[COMP_CWORD]} command flags= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-*) ;;
		*) command=${COMP_WORDS[i]}; break ;;
		esac
	done
	case $command in
`,
		command: "\t%[1]s) flags='%[3]s' ;;\n",
		after: `	*) flags='%[1]s' ;;
	esac
	COMPREPLY=($(compgen -W "$flags" -- "$word"))
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _horseracing horseracing
`,
	},
	"zsh": {
		before: `#compdef horseracing
local -A flags
`,
		command: "flags[%[1]s]='%[3]s'\n",
		after: `local command=${words[(r)(%[2]s)]}
if [[ -n $command && $words[CURRENT] != $command ]]; then
	compadd -- ${=flags[$command]}
	_files
else
	compadd -- %[1]s
fi
`,
	},
	"fish": {
		before:  "complete -c horseracing -f -n __fish_use_subcommand -a '%[1]s'\n",
		command: "complete -c horseracing -n '__fish_seen_subcommand_from %[1]s' -a '%[3]s'\n",
	},
}

// printCompletion prints a script that completes commands and their flags.
func printCompletion(w io.Writer, shell string, commands []command, common func(*flag.FlagSet)) error {
	script, ok := shells[shell]
	if !ok {
		return usageError("want bash, zsh or fish")
	}
	var names []string
	var lines strings.Builder
	for _, c := range commands {
		names = append(names, c.name)
		var flags []string
		newCommandLine(c, common).flags.VisitAll(func(f *flag.Flag) { flags = append(flags, "-"+f.Name) })
		fmt.Fprintf(&lines, script.command, c.name, c.about, strings.Join(flags, " "))
	}
	fill := strings.NewReplacer("%[1]s", strings.Join(names, " "), "%[2]s", strings.Join(names, "|"))
	_, err := io.WriteString(w, fill.Replace(script.before)+lines.String()+fill.Replace(script.after))
	return err
}
