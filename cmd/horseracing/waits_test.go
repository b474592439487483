package main

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAWaitIsReportedOnceAMinuteAndAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		log := slog.New(&waits{Handler: slog.DiscardHandler, p: &program{name: "horseracing", stderr: &screen}})
		for attempt := range 7 { // a page fails
			log.Warn("horseracing: retry", "attempt", attempt+1, "status", 503)
		}
		log.Debug("horseracing: attempt", "attempt", 8, "status", 200)
		time.Sleep(30 * time.Second)
		log.Warn("horseracing: retry", "attempt", 9, "error", "connection refused")
		time.Sleep(31 * time.Second)
		log.Warn("horseracing: retry", "attempt", 9, "error", "connection refused")
		time.Sleep(61 * time.Second)
		log.Warn("horseracing: waiting until the service accepts requests", "attempt", 1)
		log.Info("horseracing: the service accepts requests again")
		want := `horseracing: waiting for the service: it responds with status 503
horseracing: waiting for the service: it does not respond (connection refused)
horseracing: waiting for the service: it refuses requests
horseracing: the service accepts requests again
`
		if diff := cmp.Diff(want, screen.String()); diff != "" {
			t.Error(diff)
		}
	})
}
