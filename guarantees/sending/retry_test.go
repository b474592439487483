package sending_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// outcome is what came of a call to a script.
type outcome struct {
	Attempts int
	Err      error // a sentinel that errors.Is finds; nil: success
}

func TestReadsAreRetriedWhereItCanHelp(t *testing.T) {
	ok := double.Respond(200, `[]`)
	cutBody := double.Stream(200, 100, func() io.Reader {
		return io.MultiReader(strings.NewReader(`[{"le`), double.FailingReader{Err: io.ErrUnexpectedEOF})
	})
	for name, test := range map[string]struct {
		steps []double.Step
		want  outcome
	}{
		"at once":                      {[]double.Step{ok}, outcome{1, nil}},
		"after a reset":                {[]double.Step{double.Broken(double.ErrReset), ok}, outcome{2, nil}},
		"after a cut body":             {[]double.Step{cutBody, ok}, outcome{2, nil}},
		"after 408":                    {[]double.Step{double.Respond(408, ""), ok}, outcome{2, nil}},
		"after 429":                    {[]double.Step{double.Respond(429, ""), ok}, outcome{2, nil}},
		"after 500, 502, 503":          {[]double.Step{double.Respond(500, ""), double.Respond(502, ""), double.Respond(503, ""), ok}, outcome{4, nil}},
		"resets without end":           {[]double.Step{double.Broken(double.ErrReset)}, outcome{4, double.ErrReset}},
		"cut bodies without end":       {[]double.Step{cutBody}, outcome{2, io.ErrUnexpectedEOF}},
		"500 without end":              {[]double.Step{double.Respond(500, "")}, outcome{4, horseracing.ErrServer}},
		"a reset, then 401":            {[]double.Step{double.Broken(double.ErrReset), double.Respond(401, "")}, outcome{2, horseracing.ErrUnauthorized}},
		"401":                          {[]double.Step{double.Respond(401, "")}, outcome{1, horseracing.ErrUnauthorized}},
		"501":                          {[]double.Step{double.Respond(501, "")}, outcome{1, horseracing.ErrServer}},
		"a redirect":                   {[]double.Step{double.Respond(302, "", "Location: /elsewhere")}, outcome{1, horseracing.ErrRedirect}},
		"a response that is too large": {[]double.Step{double.Respond(200, strings.Repeat(" ", 2<<20)+"[]")}, outcome{1, horseracing.ErrResponseTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := double.Play(test.steps...)
				var response horseracing.Response
				_, err := s.Client(t, horseracing.WithMaxResponseBytes(1<<20)).
					Races.Open(t.Context(), horseracing.CaptureResponse(&response))
				got := outcome{len(s.Requests()), test.want.Err}
				if !errors.Is(err, test.want.Err) {
					got.Err = err
				}
				if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
				if response.Attempts != test.want.Attempts {
					t.Errorf("Response.Attempts is %d after %d requests", response.Attempts, test.want.Attempts)
				}
				var api *horseracing.APIError
				if errors.As(err, &api) && api.Attempts != test.want.Attempts {
					t.Errorf("APIError.Attempts is %d after %d requests", api.Attempts, test.want.Attempts)
				}
				var transport *horseracing.TransportError
				if errors.As(err, &transport) && transport.Attempts != test.want.Attempts {
					t.Errorf("TransportError.Attempts is %d after %d requests", transport.Attempts, test.want.Attempts)
				}
			})
		})
	}
}

// A 200 that is an HTML page or cut is likely to be whole the next time.
func TestADamagedReadIsRetriedOnce(t *testing.T) {
	const page = "<!DOCTYPE html><title>Bad gateway</title>"
	horse := double.Respond(200, `{"name":"Comet","level":3}`)
	decode := errors.New("a DecodeError") // in place of a sentinel
	for name, test := range map[string]struct {
		steps []double.Step
		want  outcome
	}{
		"a page":                {[]double.Step{double.Respond(200, page), horse}, outcome{2, nil}},
		"cut JSON":              {[]double.Step{double.Respond(200, `{"breed":"Gone","lev`), horse}, outcome{2, nil}},
		"a page, then a 503":    {[]double.Step{double.Respond(200, page), double.Respond(503, ""), horse}, outcome{3, nil}},
		"pages without end":     {[]double.Step{double.Respond(200, page)}, outcome{2, decode}},
		"a page, a 503, a page": {[]double.Step{double.Respond(200, page), double.Respond(503, ""), double.Respond(200, page), horse}, outcome{3, decode}},
		"another shape":         {[]double.Step{double.Respond(200, `[1]`), horse}, outcome{1, decode}},
		"an empty body":         {[]double.Step{double.Respond(200, ``), horse}, outcome{1, decode}},
		"an error object":       {[]double.Step{double.Respond(200, `{"error":"asleep"}`), horse}, outcome{1, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := double.Play(test.steps...)
				var response horseracing.Response
				got, err := s.Client(t).Horses.Get(t.Context(), 7, horseracing.CaptureResponse(&response))
				if n := len(s.Requests()); n != test.want.Attempts || response.Attempts != n {
					t.Errorf("%d requests, %d attempts, want %d", n, response.Attempts, test.want.Attempts)
				}
				var d *horseracing.DecodeError
				switch {
				case name == "an error object":
				case test.want.Err == nil && (err != nil || got.Name != "Comet" || got.Breed != ""):
					t.Errorf("got %+v, %v", got, err)
				case test.want.Err == decode && !errors.As(err, &d):
					t.Errorf("got %v", err)
				case test.want.Err != nil && test.want.Err != decode && !errors.Is(err, test.want.Err):
					t.Errorf("got %v", err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		// What Do decodes into is the caller's: nothing of the cut response is left in it.
		object := map[string]int{"mine": 1}
		if err := double.Play(double.Respond(200, `{"cut":2,"mo`), double.Respond(200, `{"whole":3}`)).Client(t).Do(t.Context(), "GET", "/x", nil, &object); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string]int{"mine": 1, "whole": 3}, object); diff != "" {
			t.Errorf("Do (-want +got):\n%s", diff)
		}
		s := double.Play(double.Respond(200, page))
		if _, err := s.Client(t, double.NoRetries()).Horses.Get(t.Context(), 7); err == nil || len(s.Requests()) != 1 {
			t.Errorf("with Max 0: %d requests, %v", len(s.Requests()), err)
		}
		s = double.Play(double.Respond(503, ""))
		c := s.Client(t)
		for range 100 { // the budget is spent
			c.Races.Open(t.Context())
		}
		s.Steps = []double.Step{double.Respond(200, page)}
		before := len(s.Requests())
		if _, err := c.Races.Open(t.Context()); err == nil || len(s.Requests()) != before+1 {
			t.Errorf("without a budget: %d requests, %v", len(s.Requests())-before, err)
		}
	})
}

func TestMaxSetsHowOftenAReadIsSent(t *testing.T) {
	for most, want := range map[int]int{-2: 1, -1: 1, 0: 4, 1: 2, 2: 3, 5: 6} {
		synctest.Test(t, func(t *testing.T) {
			s := double.Play(double.Respond(503, ""))
			_, err := s.Client(t, horseracing.WithRetry(horseracing.Retry{Max: most})).Races.Open(t.Context())
			if !errors.Is(err, horseracing.ErrServer) || len(s.Requests()) != want {
				t.Errorf("WithRetry Max %d: %d requests, %v", most, len(s.Requests()), err)
			}
			s = double.Play(double.Respond(503, ""))
			_, err = s.Client(t).Races.Open(t.Context(), horseracing.CallRetry(horseracing.Retry{Max: most}))
			if !errors.Is(err, horseracing.ErrServer) || len(s.Requests()) != want {
				t.Errorf("CallRetry Max %d: %d requests, %v", most, len(s.Requests()), err)
			}
		})
	}
}

func TestTheLastResponseReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(500, `{"message":"first"}`), double.Respond(503, `{"message":"last words"}`, "X-Trace: 42"))
		_, err := s.Client(t).Races.Open(t.Context())
		var api *horseracing.APIError
		if !errors.As(err, &api) {
			t.Fatalf("got %v", err)
		}
		if api.StatusCode != 503 || api.Message != "last words" || api.Header.Get("X-Trace") != "42" ||
			string(api.Body) != `{"message":"last words"}` || api.Attempts != 4 {
			t.Errorf("got %+v, header %v, body %s", api, api.Header, api.Body)
		}
	})
}

func TestAnOutageDoesNotMultiplyLoad(t *testing.T) {
	for _, down := range []double.Step{double.Respond(503, ""), double.Broken(double.ErrReset)} {
		synctest.Test(t, func(t *testing.T) {
			s := double.Play(down)
			c := s.Client(t)
			load := func(calls int) int {
				before := len(s.Requests())
				for range calls {
					c.Races.Open(t.Context())
				}
				return len(s.Requests()) - before
			}
			if n := load(1000); n > 1100 {
				t.Errorf("1000 calls into an outage made %d requests", n)
			}
			if n := load(100); n != 100 {
				t.Errorf("100 calls into a long outage made %d requests", n)
			}
			// Back again: successes earn retries for the next failure.
			s.Steps = []double.Step{double.Respond(200, "[]")}
			load(500)
			s.Steps = []double.Step{down}
			if n := load(10); n != 40 {
				t.Errorf("10 calls after the service was back made %d requests, want 4 each", n)
			}
			// However long all was well, no more is saved up.
			s.Steps = []double.Step{double.Respond(200, "[]")}
			load(3000)
			s.Steps = []double.Step{down}
			if n := load(1000); n > 1100 {
				t.Errorf("1000 calls into the next outage made %d requests", n)
			}
		})
	}
}

func TestEveryAttemptSendsTheSameRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Broken(double.ErrReset), double.Respond(500, ""), double.Respond(502, ""), double.Respond(200, "[]"))
		if _, err := s.Client(t).Horses.Owned(t.Context(), "a-user's key"); err != nil {
			t.Fatal(err)
		}
		first := s.Requests()[0]
		if first.Body != `{"user_key":"a-user's key"}` {
			t.Errorf("body %s", first.Body)
		}
		for _, r := range s.Requests() {
			if r.Body != first.Body || r.Request.URL.String() != first.Request.URL.String() {
				t.Errorf("sent %v with %s, at first %v with %s", r.Request.URL, r.Body, first.Request.URL, first.Body)
			}
			if diff := cmp.Diff(first.Request.Header, r.Request.Header); diff != "" {
				t.Errorf("header (-first +now):\n%s", diff)
			}
			if r.Request.ContentLength != int64(len(first.Body)) || len(r.Request.TransferEncoding) != 0 {
				t.Errorf("Content-Length %d for %d bytes", r.Request.ContentLength, len(first.Body))
			}
		}
	})
}

// Proxies refuse a GET whose body comes in chunks.
func TestAGetWithABodyHasAContentLengthOnTheWire(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength <= 0 || len(r.TransferEncoding) > 0 {
			w.WriteHeader(http.StatusLengthRequired)
			return
		}
		io.WriteString(w, "[]")
	}))
	defer server.Close()
	if _, err := double.Connect(t, server.URL, server.Client()).Horses.Owned(t.Context(), double.UserKey); err != nil {
		t.Error(err)
	}
}

func TestAnUntrustedCertificateIsNotRetried(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	var handshakes atomic.Int64
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		return nil, nil
	}}
	server.Config.ErrorLog = double.Silent
	server.StartTLS()
	defer server.Close()
	c := double.Connect(t, server.URL, nil, double.Briefly)
	_, err := c.Races.Open(t.Context())
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) || handshakes.Load() != 1 {
		t.Errorf("Open, after %d handshakes: %v", handshakes.Load(), err)
	}
	_, err = c.Races.Register(t.Context(), double.Entry)
	if !errors.As(err, &untrusted) || errors.Is(err, horseracing.ErrOutcomeUnknown) || handshakes.Load() != 2 {
		t.Errorf("Register, after %d handshakes: %v", handshakes.Load(), err)
	}
}

func TestAServerWithoutTLSIsNamedAndNotRetried(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	var connections atomic.Int64
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Config.ErrorLog = double.Silent
	server.Start()
	defer server.Close()
	c := double.Connect(t, strings.Replace(server.URL, "http://", "https://", 1), nil, double.Briefly)
	_, err := c.Races.Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "should the base URL begin with http:// instead?") || connections.Load() != 1 {
		t.Errorf("Open, after %d connections: %v", connections.Load(), err)
	}
	if _, err = c.Races.Register(t.Context(), double.Entry); err == nil || errors.Is(err, horseracing.ErrOutcomeUnknown) || connections.Load() != 2 {
		t.Errorf("Register, after %d connections: %v", connections.Load(), err)
	}
}

// A list is always there: where it is not, the base URL leads elsewhere.
func TestAMissingListNamesTheBaseURLAsACause(t *testing.T) {
	c := double.Play(double.Respond(404, "")).Client(t)
	_, err := c.Races.Open(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), "status 404 Not Found; check the base URL") {
		t.Errorf("Open: %v", err)
	}
	for name, call := range map[string]func() error{
		"Get":      func() error { _, err := c.Races.Get(t.Context(), 1); return err },
		"Register": func() error { _, err := c.Races.Register(t.Context(), double.Entry); return err },
	} {
		if err := call(); !errors.Is(err, horseracing.ErrNotFound) || strings.Contains(err.Error(), "base URL") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// closeCounter is a transport that several clients may share.
type closeCounter struct {
	http.RoundTripper
	closed atomic.Int64
}

func (c *closeCounter) CloseIdleConnections() { c.closed.Add(1) }

func TestFailingCallsLeaveTheSharedPoolAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &closeCounter{RoundTripper: double.Play(double.Respond(503, ""))}
		c := double.Connect(t, double.Service, &http.Client{Transport: shared})
		c.Races.Open(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		c.Races.Open(ctx)
		c.Races.Register(t.Context(), double.Entry)
		c.Close()
		if n := shared.closed.Load(); n != 0 {
			t.Errorf("the idle connections were closed %d times", n)
		}
	})
}

func TestTheCallersClientIsNotChanged(t *testing.T) {
	mine := &http.Client{Transport: double.Play(double.Respond(302, "", "Location: /")), Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { t.Error("CheckRedirect was called"); return nil }}
	transport := mine.Transport
	c := double.Connect(t, double.Service, mine)
	c.Races.Open(t.Context())
	c.Races.Register(t.Context(), double.Entry)
	if mine.Transport != transport || mine.Timeout != time.Minute || mine.CheckRedirect == nil || mine.Jar != nil {
		t.Errorf("changed to %+v", mine)
	}
	pool := &http.Transport{MaxIdleConnsPerHost: 3}
	double.Connect(t, double.Service, &http.Client{Transport: pool})
	if pool.DisableKeepAlives || pool.MaxIdleConnsPerHost != 3 {
		t.Errorf("the transport was changed")
	}
	if _, err := horseracing.NewClient(double.Service, double.AppKey); err != nil {
		t.Fatal(err)
	}
	if def := http.DefaultTransport.(*http.Transport); def.MaxIdleConnsPerHost != 0 || def.DisableKeepAlives {
		t.Errorf("http.DefaultTransport was changed")
	}
}
