package sending_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// Close returns what a client holds: 50 clients that were thrown away held 150
// goroutines.
func TestCloseEndsTheClientsIdleConnections(t *testing.T) {
	var open atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[]") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	server.Start()
	defer server.Close()
	c, err := horseracing.NewClient(server.URL, double.AppKey)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a closed client can be used
		if _, err := c.Races.Open(t.Context()); err != nil || open.Load() != 1 {
			t.Errorf("%d connections, %v", open.Load(), err)
		}
		c.Close()
		double.Eventually(t, func() string {
			if n := open.Load(); n > 0 {
				return fmt.Sprintf("%d connections after Close", n)
			}
			return ""
		})
	}
}

func TestCloseLeavesTheCallersTransportAlone(t *testing.T) {
	var conns atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[]") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	mine := &http.Transport{}
	defer mine.CloseIdleConnections()
	c := double.Connect(t, server.URL, &http.Client{Transport: mine})
	for range 3 {
		if _, err := c.Races.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("3 reads over %d connections", n)
	}
}

func TestEveryAttemptPassesThroughTheWrappers(t *testing.T) {
	var order []string
	made := 0
	named := func(name string) horseracing.Option {
		return horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
			made++
			return double.TripFunc(func(req *http.Request) (*http.Response, error) {
				order = append(order, name+" "+req.Method)
				return next.RoundTrip(req)
			})
		})
	}
	s := double.Play(double.Respond(503, ""), double.Respond(200, "[]"), double.Respond(200, "{}"))
	c := s.Client(t, double.Briefly, named("inner"), named("outer"))
	if _, err := c.Races.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Races.Register(t.Context(), double.Entry); err != nil {
		t.Fatal(err)
	}
	want := []string{"outer GET", "inner GET", "outer GET", "inner GET", "outer POST", "inner POST"}
	if diff := cmp.Diff(want, order); diff != "" || made != 2 {
		t.Errorf("wrappers were made %d times; attempts (-want +got):\n%s", made, diff)
	}
}

func TestAWrapperThatIsNilIsRefused(t *testing.T) {
	for name, opt := range map[string]horseracing.Option{
		"nil":         horseracing.WithTransportWrapper(nil),
		"returns nil": horseracing.WithTransportWrapper(func(http.RoundTripper) http.RoundTripper { return nil }),
	} {
		if c, err := horseracing.NewClient(double.Service, double.AppKey, opt); c != nil || !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), "WithTransportWrapper") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a wrapper does, one attempt of a registration reaches the transport
// once at most.
func TestNoWrapperSendsARegistrationTwice(t *testing.T) {
	again := func(req *http.Request, ctx context.Context) *http.Request {
		again := req.Clone(ctx)
		again.Body = io.NopCloser(strings.NewReader(`{}`))
		again.ContentLength = 2
		return again
	}
	for name, wrapper := range map[string]func(next http.RoundTripper, req *http.Request) (*http.Response, error){
		"after a 503, as a retrying transport does": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(again(req, req.Context()))
			for n := 0; n < 3 && err == nil && resp.StatusCode == 503; n++ {
				resp.Body.Close()
				resp, err = next.RoundTrip(again(req, req.Context()))
			}
			return resp, err
		},
		"both at once": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			var both sync.WaitGroup
			both.Go(func() { _, _ = next.RoundTrip(again(req, req.Context())) })
			resp, err := next.RoundTrip(req)
			both.Wait()
			return resp, err
		},
		"in the background, without the context": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			_, _ = next.RoundTrip(again(req, context.Background()))
			return next.RoundTrip(req)
		},
		"with another method": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			put := again(req, req.Context())
			put.Method = http.MethodPut
			_, _ = next.RoundTrip(put)
			return next.RoundTrip(req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := double.Play(double.Respond(503, ""))
			c := s.Client(t, double.Briefly, horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
				return double.TripFunc(func(req *http.Request) (*http.Response, error) { return wrapper(next, req) })
			}))
			_, err := c.Races.Register(t.Context(), double.Entry)
			if n := len(s.Requests()); n != 1 || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
				t.Errorf("sent %d times: %v", n, err)
			}
		})
	}
}

// What a wrapper adds must not make net/http repeat the request.
func TestAWrapperCannotMakeARegistrationRepeatable(t *testing.T) {
	repeatable := horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return double.TripFunc(func(req *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Header.Set("Idempotency-Key", "1")
			req.Header["X-Idempotency-Key"] = nil
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
			req.Body, _ = req.GetBody()
			return next.RoundTrip(req)
		})
	})
	s := double.PlayH2(t, double.ResetStream(double.RefusedStream))
	_, err := double.Connect(t, s.URL, s.Client, double.Briefly, repeatable).Races.Register(t.Context(), double.Entry)
	if n := s.Requests.Load(); n != 1 || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
		t.Errorf("HTTP/2: the service read the registration %d times: %v", n, err)
	}
}

// A wrapper may repeat reads, and make reads of its own.
func TestAWrapperMayRepeatReads(t *testing.T) {
	s := double.Play(double.Respond(503, ""), double.Respond(200, "[]"))
	c := s.Client(t, horseracing.WithRetry(horseracing.Retry{Max: -1}), horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return double.TripFunc(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req.Clone(context.Background()))
			if err == nil && resp.StatusCode == 503 {
				return next.RoundTrip(req)
			}
			return resp, err
		})
	}))
	if _, err := c.Races.Open(t.Context()); err != nil || len(s.Requests()) != 2 {
		t.Errorf("%d requests, %v", len(s.Requests()), err)
	}
}

// No connection is made: through a wrapper, too, that is seen, and the
// registration is sent again.
func TestThroughAWrapperARegistrationWithoutAConnectionIsRetried(t *testing.T) {
	attempts := 0
	c := double.Connect(t, double.Refused, &http.Client{Transport: &http.Transport{}}, double.Briefly, horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return double.TripFunc(func(req *http.Request) (*http.Response, error) { attempts++; return next.RoundTrip(req) })
	}))
	if _, err := c.Races.Register(t.Context(), double.Entry); err == nil || errors.Is(err, horseracing.ErrOutcomeUnknown) || attempts != 4 {
		t.Errorf("after %d attempts: %v", attempts, err)
	}
}

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
			CheckRedirect: func(*http.Request, []*http.Request) error { t.Error("CheckRedirect was called"); return nil },
		}
		c := double.Connect(t, server.URL, via, double.Briefly)
		for name, call := range map[string]func(context.Context) error{
			"a read":             func(ctx context.Context) error { _, err := c.Races.Open(ctx); return err },
			"a read with a body": func(ctx context.Context) error { _, err := c.Horses.Owned(ctx, double.UserKey); return err },
			"a registration":     func(ctx context.Context) error { _, err := c.Races.Register(ctx, double.Entry); return err },
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
		"https://new.test/a?b=" + double.AppKey: "to https://new.test;",
		"https://user:pass@new.test/":           "to https://new.test;",
		"//new.test/a":                          "to https://new.test;",
		"/moved":                                "to https://game.test;",
		"http://new.test:8080/":                 "to http://new.test:8080;",
		"https://%zz/" + double.AppKey:          "to an unreadable location;",
		"":                                      "to an unreadable location;",
		"https://[::1]:99999999/x":              "to https://[::1]:99999999;",
	} {
		for _, status := range redirects {
			s := double.Play(double.Respond(status, "", "Location: "+location))
			_, err := s.Client(t, double.Briefly).Races.Open(t.Context())
			if !errors.Is(err, horseracing.ErrRedirect) || !strings.Contains(err.Error(), want) || len(s.Requests()) != 1 {
				t.Errorf("%d to %q: after %d requests: %v", status, location, len(s.Requests()), err)
			}
		}
	}
}

func TestAHostThatEchoesTheKeyIsRedacted(t *testing.T) {
	s := double.Play(double.Respond(302, "", "Location: https://0123456789abcdef.evil.test/"))
	c, err := horseracing.NewClient(double.Service, "0123456789abcdef", horseracing.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Races.Open(t.Context()); !strings.Contains(err.Error(), "to https://[redacted].evil.test;") {
		t.Error(err)
	}
}
