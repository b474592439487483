// Trace prints what a call of Races.Open passes if no race is open: each function of the root and of
// internal, in the order of the first entries, and how often the call moves from one file to another,
// by an entry or a return. Function literals count for the function around them. It works on a copy
// of the module, in which each function notes its entry and its return.
//
//	go -C tools run ./trace
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	to, err := os.MkdirTemp("", "trace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(to)
	if err := run("..", to); err != nil {
		log.Println(err)
	}
}

// run copies the module, and makes a call in the copy.
func run(from, to string) error {
	files := map[string]string{"internal/notes/notes.go": notes, "trace/main.go": call}
	err := fs.WalkDir(os.DirFS(from), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && !strings.HasPrefix(path, "internal") || path == "internal/double":
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(filepath.Join(from, path))
		if files[path] = string(data); filepath.Ext(path) == ".go" {
			files[path], err = noting(path, data)
		}
		return err
	})
	if err != nil {
		return err
	}
	for path, text := range files {
		path = filepath.Join(to, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	program := exec.Command("go", "run", "./trace")
	program.Dir, program.Stdout, program.Stderr = to, os.Stdout, os.Stderr
	return program.Run()
}

// noting returns the text of a Go file whose functions note their entries and returns.
func noting(path string, data []byte) (string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, data, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	text := string(data)
	insert := func(at token.Pos, what string) {
		offset := set.Position(at).Offset
		text = text[:offset] + what + text[offset:]
	}
	for _, decl := range slices.Backward(file.Decls) { // an insertion moves what follows
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			name := f.Name.Name
			if f.Recv != nil {
				name = text[set.Position(f.Recv.Opening).Offset:set.Position(f.Recv.Closing).Offset+1] + "." + name
			}
			insert(f.Body.Lbrace+1, fmt.Sprintf("defer notes.Enter(%q, %q)();", name, path))
		}
	}
	insert(file.Name.End(), `;import "github.com/horseracing-go/horseracing/internal/notes"`)
	return text + "var _ = notes.Enter\n", nil
}

// notes is the package that the functions of the copy call.
const notes = `package notes

import "fmt"

type function struct{ name, file string }

var (
	began bool
	stack []string         // the files of the functions that were entered
	calls = map[function]int{}
	order []function
	files = map[string]bool{}
	moves int
)

// Enter notes the entry of a function, and returns a function that notes its return.
func Enter(name, file string) func() {
	if !began {
		return func() {}
	}
	f := function{name, file}
	if calls[f]++; calls[f] == 1 {
		order = append(order, f)
	}
	isMove := len(stack) > 0 && stack[len(stack)-1] != file
	if stack, files[file] = append(stack, file), true; isMove {
		moves++
	}
	return func() {
		if stack = stack[:len(stack)-1]; isMove {
			moves++
		}
	}
}

// Trace notes a call, and prints what was noted.
func Trace(call func()) {
	began = true
	call()
	began = false
	all := 0
	for _, f := range order {
		all += calls[f]
		fmt.Printf("%3d  %-32s %s\n", calls[f], f.file, f.name)
	}
	fmt.Printf("%d calls of %d functions in %d files, %d moves between files\n", all, len(order), len(files), moves)
}
`

// call is the program that makes the call.
const call = `package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/notes"
)

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "[]")
	}))
	defer server.Close()
	client, err := horseracing.NewClient(server.URL, "key")
	if err != nil {
		log.Fatal(err)
	}
	notes.Trace(func() { _, err = client.Races.Open(context.Background()) })
	if err != nil {
		log.Fatal(err)
	}
}
`
