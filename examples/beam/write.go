package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn3x1[context.Context, string, func(*string) bool, error](&writeMonth{})
	register.Iter1[string]()
}

// writeMonths writes lines, keyed by month, to a file per month: FOLDER/2026-05.jsonl. Months are written
// by as many workers as the runner has. Writing one again replaces it, so a repeated bundle leaves no line twice.
//
// The lines of a file have no order. (Beam's own textio and parquetio write one file from one worker, and parquetio does
// not look at the error of closing it, which is where object stores report that nothing was stored.)
func writeMonths(s beam.Scope, folder string, lines beam.PCollection) {
	filesystem.ValidateScheme(folder)
	beam.ParDo0(s, &writeMonth{Folder: strings.TrimRight(folder, "/")}, beam.GroupByKey(s, lines))
}

type writeMonth struct{ Folder string }

// ProcessElement writes one month.
func (w *writeMonth) ProcessElement(ctx context.Context, month string, lines func(*string) bool) error {
	fs, err := filesystem.New(ctx, w.Folder)
	if err != nil {
		return err
	}
	defer fs.Close()
	return writeFile(ctx, fs, w.Folder+"/"+month+".jsonl", func(out io.Writer) error {
		buffer := bufio.NewWriterSize(out, 1<<20)
		for line := ""; lines(&line); {
			_, _ = buffer.WriteString(line) // Flush returns the error
			_ = buffer.WriteByte('\n')
		}
		return buffer.Flush()
	})
}

// writeFile replaces a file as a whole: where an interrupted write leaves a part of a file, on local disks, it writes
// under another name first. An object store stores nothing before Close.
func writeFile(ctx context.Context, fs filesystem.Interface, path string, write func(io.Writer) error) error {
	name := path
	local := !isRemote(path)
	if local {
		name = fmt.Sprintf("%s.%016x.tmp", path, rand.Uint64())
	}
	file, err := fs.OpenWrite(ctx, name)
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Close())
	if err == nil && local {
		err = filesystem.Rename(ctx, fs, name, path)
	}
	if remover, ok := fs.(filesystem.Remover); ok && local && err != nil {
		_ = remover.Remove(ctx, name)
	}
	return err
}
