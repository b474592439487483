package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/profile"
)

// completeView completes the flags of a list.
func completeView(c *cobra.Command, names []string) {
	var orders []string
	for _, name := range names {
		orders = append(orders, name, "-"+name)
	}
	_ = c.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(orders, noFiles)) // the flags exist
	_ = c.RegisterFlagCompletionFunc("columns", severalOf(func() []string { return names }))
}

// severalOf completes the last word of several, which commas separate.
func severalOf(words func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (all []string, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		for _, word := range words() {
			all = append(all, before+word)
		}
		return all, noFiles | cobra.ShellCompDirectiveNoSpace
	}
}

// profileNames completes --profile.
func profileNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, _ := profile.Load() // none if they cannot be read
	return all.Names(), noFiles
}

// tierNames returns the tiers that horseracing tiers printed last, or those that are documented.
func tierNames() (names []string) {
	for _, line := range recall("tier") {
		_, name, _ := strings.Cut(line, "\t")
		names = append(names, name)
	}
	if names == nil {
		names = []string{string(horseracing.TierNameOmega), string(horseracing.TierNameBeta)}
	}
	return names
}

// maxRemembered is how many ids of the last list are kept for completion.
const maxRemembered = 100

// remembered are the kinds of ids that are completed, with the file of each.
func remembered(kind string) (path string, isKept bool) {
	folder, err := os.UserCacheDir()
	return filepath.Join(folder, "horseracing", kind+".ids"), err == nil && slices.Contains([]string{"race", "horse", "tournament", "tier"}, kind)
}

// remember keeps the ids of a list, by its first field. Completion can do without them.
func (s *sheet[T]) remember() {
	path, isKept := remembered(s.fields[0].name())
	if !isKept || len(s.ids) == 0 {
		return
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = os.WriteFile(path, []byte(strings.Join(s.ids, "\n")), 0o600)
	}
}

// recall returns the ids of the last list of a kind.
func recall(kind string) []string {
	path, _ := remembered(kind)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}

// ids completes the ids of the last list.
func ids(kind string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return slices.DeleteFunc(recall(kind), func(line string) bool {
			id, _, _ := strings.Cut(line, "\t")
			return slices.Contains(args, id)
		}), noFiles
	}
}
