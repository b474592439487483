// Layers holds the rule that the files of a package use one another in one
// direction. It prints each cycle of files among the packages below a directory,
// by the names that they use: those of the package's level, methods and fields.
package main

import (
	"fmt"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/horseracing-go/horseracing"

// together are the files that tell one type in several parts, by package.
var together = map[string][]string{
	module + "/internal/walk": {"next.go", "time.go"},
	module + "/ledger":        {"file.go", "ledger.go", "limits.go"},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: layers DIRECTORY")
		os.Exit(2)
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir:  os.Args[1],
	}, "./...")
	if err != nil || packages.PrintErrors(loaded) > 0 {
		fmt.Fprintln(os.Stderr, "layers:", err)
		os.Exit(1)
	}
	failed := false
	for _, p := range loaded {
		uses := usesOf(p)
		for _, cycle := range cycles(uses) {
			if isSubset(cycle, together[p.PkgPath]) {
				continue
			}
			failed = true
			fmt.Printf("%s: a cycle of files: %s\n", p.PkgPath, strings.Join(cycle, ", "))
			for _, from := range cycle {
				for _, to := range cycle {
					if names := uses[from][to]; len(names) > 0 {
						fmt.Printf("\t%s uses of %s: %s\n", from, to, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
					}
				}
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// uses has the names that each file uses of each other file.
type uses map[string]map[string]map[string]bool

func usesOf(p *packages.Package) uses {
	found := uses{}
	for _, syntax := range p.Syntax {
		found[filepath.Base(p.Fset.Position(syntax.Pos()).Filename)] = map[string]map[string]bool{}
	}
	for id, used := range p.TypesInfo.Uses {
		if used.Pkg() != p.Types {
			continue
		}
		from := filepath.Base(p.Fset.Position(id.Pos()).Filename)
		to := filepath.Base(p.Fset.Position(origin(used).Pos()).Filename)
		if from == to || found[from] == nil || found[to] == nil {
			continue
		}
		if found[from][to] == nil {
			found[from][to] = map[string]bool{}
		}
		found[from][to][used.Name()] = true
	}
	return found
}

// origin returns the declaration behind a member of an instantiated type.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// cycles returns the sets of files that reach one another.
func cycles(u uses) [][]string {
	reached := map[string]map[string]bool{}
	for file := range u {
		seen := map[string]bool{}
		var visit func(string)
		visit = func(from string) {
			for to := range u[from] {
				if !seen[to] {
					seen[to] = true
					visit(to)
				}
			}
		}
		visit(file)
		reached[file] = seen
	}
	var found [][]string
	placed := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(u)) {
		if placed[file] || !reached[file][file] {
			continue
		}
		var cycle []string
		for _, other := range slices.Sorted(maps.Keys(u)) {
			if reached[file][other] && reached[other][file] {
				cycle = append(cycle, other)
				placed[other] = true
			}
		}
		found = append(found, cycle)
	}
	return found
}

func isSubset(files, of []string) bool {
	return !slices.ContainsFunc(files, func(file string) bool { return !slices.Contains(of, file) })
}
