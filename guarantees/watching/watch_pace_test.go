package watching_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// refusedThreeMinutes returns a service that refuses everything from a minute on until
// three minutes later. What it says is either nothing, or a minute more.
func refusedThreeMinutes(began time.Time, status int, header ...string) *double.Script {
	return double.Play(func(r *http.Request) (*http.Response, error) {
		if since := time.Since(began); since >= time.Minute && since < 4*time.Minute {
			lines := slices.Clone(header)
			for i, line := range lines {
				lines[i] = strings.ReplaceAll(line, "in a minute", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
			}
			return double.Respond(status, "", lines...)(r)
		}
		return double.Respond(200, double.List(listed(1, "a")))(r)
	})
}

// TestAWatcherOutlivesRefusals that last for longer than a call waits: its
// snapshot has the error meanwhile, it polls seldom, and is soon back at its
// interval afterwards.
func TestAWatcherOutlivesRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		header []string
		polls  int // requests while the service refuses, at most
	}{
		"Retry-After of a minute":          {429, []string{"Retry-After: 60"}, 3},
		"a 503 with Retry-After":           {503, []string{"Retry-After: 60"}, 3},
		"Retry-After as a date":            {429, []string{"Retry-After: in a minute"}, 3},
		"no Retry-After":                   {429, nil, 20},
		"a Retry-After that a call heeds":  {429, []string{"Retry-After: 10"}, 18},
		"a Retry-After longer than it all": {429, []string{"Retry-After: 600"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := refusedThreeMinutes(began, test.status, test.header...)
				w := s.Client(t).Races.Watcher(horseracing.WatchQuery{})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- w.Run(ctx) }()

				time.Sleep(time.Minute - time.Second)
				if snapshot := w.Snapshot(); snapshot.Err != nil || len(snapshot.Races) != 1 {
					t.Errorf("before the refusals: %+v", snapshot)
				}
				time.Sleep(3 * time.Minute) // a second before the last of them
				snapshot := w.Snapshot()
				if refusal, ok := errors.AsType[*horseracing.APIError](snapshot.Err); !ok || refusal.StatusCode != test.status || len(snapshot.Races) != 1 || snapshot.At.Sub(began) > time.Minute {
					t.Errorf("meanwhile: %+v", snapshot)
				}
				time.Sleep(11 * time.Minute)
				if snapshot := w.Snapshot(); snapshot.Err != nil || time.Since(snapshot.At) > 15*time.Second {
					t.Errorf("afterwards: %+v, at %v", snapshot, snapshot.At.Sub(began))
				}
				refused, last := 0, time.Duration(0)
				for _, r := range s.Requests() {
					at := r.At.Sub(began)
					if at >= time.Minute && at < 4*time.Minute {
						refused++
					}
					if last >= 4*time.Minute && at-last > time.Minute {
						t.Errorf("the service accepts again, and the poll after %v comes after %v", last, at)
					}
					last = at
				}
				if refused == 0 || refused > test.polls {
					t.Errorf("%d requests in three minutes of refusals, want at most %d", refused, test.polls)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
