package transport

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestLogHasAnAttemptWithoutKeysAtDebug(t *testing.T) {
	fails := tripFunc(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("the-key is wrong\x1b" + strings.Repeat("x", 5000))
	})
	for level, want := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 1} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		pass(t.Context(), attemptLink{fails, Header("the-key", "agent"), time.Minute, 1000, logger}, http.MethodGet)
		text := log.String()
		if strings.Count(text, "horseracing: attempt") != want || strings.Contains(text, "the-key") || strings.Contains(text, "x1b") || strings.Contains(text, "status") || len(text) > 2200 {
			t.Errorf("at %v: %s", level, text)
		}
	}
}
