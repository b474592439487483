package sending_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestAnAPIErrorIsLoggedAsAGroupWithoutItsBody(t *testing.T) {
	err := double.OneHorse(t.Context(), double.Play(double.Respond(400, `{"message":"no such `+double.AppKey+`"}`)).Client(t))
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Error("failed", "error", err)
	_, after, _ := strings.Cut(logged.String(), "msg=failed ")
	want := `error.operation="GET /api/v1/horses/{horse_number}" error.id=7 error.status=400 error.attempts=1 error.message="no such [redacted]"` + "\n"
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
}

// A bot that meets the same refusal again and again can leave out what it has logged.
func TestTheSameRefusalHasTheSameText(t *testing.T) {
	for header, want := range map[string]string{
		"120":                  "GET /api/v1/races/open: status 503 Service Unavailable: not sent, because an earlier request was refused until 2000-01-01T00:02:00Z",
		"7200":                 "", // an hour is heeded
		"99999999999999999999": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := double.Play(double.Respond(503, "", "Retry-After: "+header)).Client(t, double.NoRetries())
			if err := double.OpenRaces(t.Context(), c); want == "" && !strings.Contains(err.Error(), "; wait longer than an hour before") {
				t.Errorf("%v", err)
			}
			texts := map[string]bool{}
			for range 5 {
				time.Sleep(7 * time.Second)
				err := double.OpenRaces(t.Context(), c)
				if api, ok := errors.AsType[*horseracing.APIError](err); !ok || api.Attempts != 0 || api.RetryAfter <= 0 {
					t.Errorf("%v", err)
				}
				texts[err.Error()] = true
			}
			if len(texts) != 1 || want != "" && !texts[want] {
				t.Errorf("%v", texts)
			}
		})
	}
}

func TestSettleSaysUntilWhenAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := `[{"main_race_id":7,"registration_deadline":946685400000,"participants":[]}]` // at 00:10, the year 2000
		var logged bytes.Buffer
		c := double.Play(double.Respond(200, body)).Client(t, horseracing.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Races.Settle(ctx, 7, 1)
		if want := "horse 1 is not in the race so far, which is final from 2000-01-01T00:11:00Z on"; !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
		if want := "until=2000-01-01T00:11:00.000Z"; strings.Count(logged.String(), want) != 1 {
			t.Errorf("%s", logged.String())
		}
	})
}
