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
	r, started := recordOf(req), time.Now()
	resp, err := l.next.RoundTrip(req)
	r.Err = err
	l.logger.LogAttrs(ctx, slog.LevelDebug, "horseracing: attempt", append(r.attrs(), slog.Duration("duration", time.Since(started)))...)
	return resp, err
}

// attrs returns the operation and its last attempt.
func (r *Record) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("operation", r.Name), slog.Int("attempt", r.Attempts())}
	if r.Status != 0 {
		attrs = append(attrs, slog.Int("status", r.Status))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Keys.Beginning(redact.Visible(r.Keys.Text(r.Err.Error())), maxLogged, false)))
	}
	return attrs
}
