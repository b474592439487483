package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/horseracing-go/horseracing"
)

var redirects = []int{301, 302, 303, 307, 308}

func TestNoRedirectIsFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	second := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		w.Write([]byte("[]"))
	}))
	defer second.Close()
	var first atomic.Int64
	for _, status := range redirects {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			first.Add(1)
			w.Header().Set("Location", second.URL+"/path?key="+r.Header.Get("X-Api-Key"))
			w.WriteHeader(status)
		}))
		via := &http.Client{
			Transport:     second.Client().Transport, // would reach both
			CheckRedirect: func(*http.Request, []*http.Request) error { t.Error("asked whether to follow"); return nil },
		}
		c := connect(t, server.URL, via, briefly)
		for name, call := range map[string]func(context.Context) error{
			"a read":             func(ctx context.Context) error { _, err := c.Races.Open(ctx); return err },
			"a read with a body": func(ctx context.Context) error { _, err := c.Horses.Owned(ctx, userKey); return err },
			"a registration":     func(ctx context.Context) error { _, err := c.Races.Register(ctx, entry); return err },
			"Do":                 func(ctx context.Context) error { return c.Do(ctx, "PUT", "/x", nil, nil) },
		} {
			t.Run(fmt.Sprint(status, " to ", name), func(t *testing.T) {
				first.Store(0)
				err := call(t.Context())
				var api *horseracing.APIError
				if !errors.Is(err, horseracing.ErrRedirect) || !errors.As(err, &api) || api.StatusCode != status {
					t.Fatalf("got %v", err)
				}
				write := name == "a registration" || name == "Do"
				if errors.Is(err, horseracing.ErrOutcomeUnknown) != write {
					t.Errorf("unknown outcome: %v", err)
				}
				if text := err.Error(); !strings.Contains(text, second.URL) || strings.Contains(text, "?key") {
					t.Errorf("the error names more or less than the target's origin: %s", text)
				}
				if n := first.Load(); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
		server.Close()
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("the other host saw %d requests", n)
	}
}

func TestTheTargetOfARedirectIsNamedByItsOriginAlone(t *testing.T) {
	for location, want := range map[string]string{
		"https://new.test/a?b=" + appKey: "to https://new.test;",
		"https://user:pass@new.test/":    "to https://new.test;",
		"//new.test/a":                   "to https://new.test;",
		"/moved":                         "to https://game.test;",
		"http://new.test:8080/":          "to http://new.test:8080;",
		"https://%zz/" + appKey:          "to an unreadable location;",
		"":                               "to an unreadable location;",
		"https://[::1]:99999999/x":       "to https://[::1]:99999999;",
	} {
		for _, status := range redirects {
			s := play(answer(status, "", "Location: "+location))
			_, err := s.client(t, briefly).Races.Open(t.Context())
			if !errors.Is(err, horseracing.ErrRedirect) || !strings.Contains(err.Error(), want) || len(s.requests()) != 1 {
				t.Errorf("%d to %q: after %d requests: %v", status, location, len(s.requests()), err)
			}
		}
	}
}

func TestAHostThatEchoesTheKeyIsScrubbed(t *testing.T) {
	s := play(answer(302, "", "Location: https://0123456789abcdef.evil.test/"))
	c, err := horseracing.NewClient(service, "0123456789abcdef", horseracing.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Races.Open(t.Context()); !strings.Contains(err.Error(), "to https://[redacted].evil.test;") {
		t.Error(err)
	}
}
