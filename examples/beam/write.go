package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/horseracing-go/horseracing/examples/internal/program"
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
	return writeFile(ctx, w.Folder+"/"+month+".jsonl", func(out io.Writer) error {
		buffer := bufio.NewWriterSize(out, 1<<20)
		for line := ""; lines(&line); {
			_, _ = buffer.WriteString(line) // Flush returns the error
			_ = buffer.WriteByte('\n')
		}
		return buffer.Flush()
	})
}

// writeFile replaces a file as a whole. An object store stores nothing before Close.
func writeFile(ctx context.Context, path string, write func(io.Writer) error) error {
	if !isRemote(path) {
		return program.WriteFile(path, write)
	}
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	file, err := fs.OpenWrite(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
