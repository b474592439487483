package program

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Waits makes a client print a line when it waits for five seconds or more, with
// the reason.
func Waits(out io.Writer) horseracing.Option {
	plain := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}
	text := slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: plain})
	return horseracing.WithLogger(slog.New(waits{text}))
}

// waits drops retries after short waits.
type waits struct{ slog.Handler }

func (h waits) Handle(ctx context.Context, record slog.Record) error {
	isShort := false
	record.Attrs(func(a slog.Attr) bool {
		isShort = a.Key == "wait" && a.Value.Duration() < 5*time.Second
		return !isShort
	})
	if isShort {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}
