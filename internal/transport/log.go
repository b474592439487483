package transport

import (
	"log/slog"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// maxLogged is the most of an error's text that is logged, in bytes.
const maxLogged = 1800

// attrs returns the operation and its last attempt, for the log.
func (r *Record) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("operation", r.Method+" "+r.Route), slog.String("id", r.ID), slog.Int("attempt", r.Attempts())}
	if r.Status != 0 {
		attrs = append(attrs, slog.Int("status", r.Status))
	}
	if r.Err != nil {
		text := redact.Visible(r.Keys.Text(r.Err.Error()))
		attrs = append(attrs, slog.String("error", text[:min(len(text), maxLogged)]))
	}
	return attrs
}
