// Placement holds the rule of where a test stands: beside the code if it looks
// inside, else in guarantees/. It lists the tests of the packages in the given
// directory that use nothing unexported of the code.
package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: placement DIRECTORY")
		os.Exit(2)
	}
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir:   os.Args[1],
		Tests: true,
	}, ".")
	if err != nil || packages.PrintErrors(loaded) > 0 {
		fmt.Fprintln(os.Stderr, "placement:", err)
		os.Exit(1)
	}
	misplaced := 0
	for _, p := range loaded {
		for _, name := range outside(p) {
			fmt.Printf("%s uses nothing unexported of the code: it belongs in guarantees/\n", name)
			misplaced++
		}
	}
	if misplaced > 0 {
		os.Exit(1)
	}
}

// outside returns the tests that reach nothing unexported, directly or through
// the declarations of test files that they use.
func outside(p *packages.Package) []string {
	isTestFile := func(o types.Object) bool {
		return strings.HasSuffix(p.Fset.Position(o.Pos()).Filename, "_test.go")
	}
	uses := map[types.Object][]types.Object{} // of a declaration in a test file
	var tests []types.Object
	for _, file := range p.Syntax {
		for _, decl := range file.Decls {
			for _, o := range declared(p, decl) {
				if !isTestFile(o) {
					continue
				}
				if isTest(o.Name()) {
					tests = append(tests, o)
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						if used := p.TypesInfo.Uses[id]; used != nil && used.Pkg() == p.Types {
							uses[o] = append(uses[o], used)
						}
					}
					return true
				})
			}
		}
	}
	var names []string
	for _, test := range tests {
		seen := map[types.Object]bool{}
		var looksInside func(types.Object) bool
		looksInside = func(o types.Object) bool {
			if seen[o] {
				return false
			}
			seen[o] = true
			for _, used := range uses[o] {
				if isTestFile(used) && looksInside(used) || !isTestFile(used) && !used.Exported() && isMember(p, used) {
					return true
				}
			}
			return false
		}
		if !looksInside(test) {
			names = append(names, test.Name())
		}
	}
	return names
}

// declared returns the objects that a declaration declares at the package's
// level.
func declared(p *packages.Package, decl ast.Decl) []types.Object {
	var objects []types.Object
	add := func(id *ast.Ident) {
		if o := p.TypesInfo.Defs[id]; o != nil {
			objects = append(objects, o)
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		add(d.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add(s.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(id)
				}
			}
		}
	}
	return objects
}

// isMember reports whether o belongs to the package's level or to a type:
// local variables and parameters do not count.
func isMember(p *packages.Package, o types.Object) bool {
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return true
	}
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == p.Types.Scope()
}

func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Benchmark"} {
		if strings.HasPrefix(name, prefix) && name != "TestMain" {
			return true
		}
	}
	return false
}
