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
	call.Err = err
	l.logger.LogAttrs(ctx, slog.LevelDebug, "horseracing: attempt", append(call.attrs(), slog.Duration("duration", time.Since(started)))...)
	return resp, err
}

// attrs returns the operation and its last attempt.
func (c *Call) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("operation", c.Name), slog.Int("attempt", c.Attempts())}
	if c.Status != 0 {
		attrs = append(attrs, slog.Int("status", c.Status))
	}
	if c.Err != nil {
		attrs = append(attrs, slog.String("error", c.Keys.Beginning(redact.Visible(c.Keys.Text(c.Err.Error())), maxLogged, false)))
	}
	return attrs
}
