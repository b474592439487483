package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// prepare makes the folder. One that holds something is refused: a month's file replaces another, so that a second run
// could leave less there, or races of two tiers.
func (c *crawl) prepare(ctx context.Context) (err error) {
	if !isRemote(c.out) {
		if c.out, err = filepath.Abs(c.out); err != nil { // go -C runs in another folder than the user's
			return err
		}
	}
	fs, err := filesystem.New(ctx, c.out)
	if err != nil {
		return err
	}
	defer fs.Close()
	names, err := fs.List(ctx, strings.TrimRight(c.out, "/")+"/*")
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return program.UsageError(fmt.Sprintf("%s is not empty: choose another -out", c.out))
	}
	if isRemote(c.out) {
		return nil
	}
	return os.MkdirAll(c.out, 0o755)
}

// discard removes the folder if a failed run left it empty.
func (c crawl) discard() {
	if !isRemote(c.out) {
		_ = os.Remove(c.out)
	}
}

// isRemote reports whether a path is of an object store.
func isRemote(path string) bool { return strings.Contains(path, "://") }
