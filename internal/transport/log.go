package transport

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// maxLogged is the most of an error's text that is logged, in bytes.
const maxLogged = 1800

// logLink logs each attempt.
type logLink struct {
	next   http.RoundTripper
	logger *slog.Logger
}

func (l logLink) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if !l.logger.Enabled(ctx, slog.LevelDebug) {
		return l.next.RoundTrip(req)
	}
	call, started := callOf(req), time.Now()
	resp, err := l.next.RoundTrip(req)
	attrs := []slog.Attr{
		slog.String("operation", call.Name), slog.Int("attempt", call.Attempts()), slog.Duration("duration", time.Since(started)),
	}
	if call.Status != 0 {
		attrs = append(attrs, slog.Int("status", call.Status))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", call.Keys.Beginning(redact.Visible(call.Keys.Text(err.Error())), maxLogged, false)))
	}
	l.logger.LogAttrs(ctx, slog.LevelDebug, "horseracing: attempt", attrs...)
	return resp, err
}
