package horseracingtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// Server is a running fake of the service. Its methods are safe for concurrent use.
type Server struct {
	URL    string // the base URL, without a trailing slash
	APIKey string // the API key that it accepts, or the first of several

	clock    clock
	world    world.World
	faults   faults
	handlers handlers
	effects  effects
	replays  replays
	limiter  limiter
	log      requestLog
	settings *settings

	http    *http.Server
	client  *http.Client
	closing chan struct{}
	close   sync.Once
	serving sync.WaitGroup // the goroutine that accepts
	conns   sync.WaitGroup // connections
}

// NewServer starts a fake of the service. Like [net/http/httptest.NewServer] it
// panics if it cannot. Call Close when done.
func NewServer(opts ...Option) *Server {
	s, err := Start(opts...)
	if err != nil {
		panic("horseracingtest: " + err.Error())
	}
	return s
}

// Start is like NewServer, but returns an error if an option is invalid or it cannot
// listen at the address.
func Start(opts ...Option) (*Server, error) {
	set, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	s := &Server{settings: set, closing: make(chan struct{})}
	s.clock.now = set.now
	s.log.init(set.logged)
	s.limiter.set(set.limits)
	s.faults.seed = set.world.Seed
	s.world.Reset(set.world, s.clock.millis())
	if len(set.apiKeys) == 0 || set.apiKeys[0] == "" {
		set.apiKeys = []string{fmt.Sprintf("app-key-%016x", world.Key(set.world.Seed, 0))}
	}
	s.APIKey = set.apiKeys[0]
	if set.recorded != nil {
		if s.replays.recording, err = readRecording(set.recorded); err != nil {
			return nil, err
		}
		s.replays.reset()
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

// listen starts to serve, and makes the client that fits.
func (s *Server) listen() error {
	transport := &http.Transport{MaxIdleConnsPerHost: 256, ForceAttemptHTTP2: true}
	var listener net.Listener
	if s.settings.inMemory {
		p := newPipes()
		listener = p
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }
	} else {
		tcp, err := net.Listen("tcp", s.settings.addr)
		if err != nil {
			return err
		}
		listener = tcp
	}
	s.http = &http.Server{
		Handler:   http.HandlerFunc(s.serve),
		ErrorLog:  log.New(io.Discard, "", 0), // handshakes that fail are what some tests want
		ConnState: s.track,
	}
	host := reachable(listener.Addr())
	s.URL = "http://" + host
	serve := func() { s.http.Serve(listener) }
	if s.settings.tls {
		certificate, roots, err := newCertificate()
		if err != nil {
			listener.Close()
			return err
		}
		s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
		transport.TLSClientConfig = trusting(roots)
		s.URL = "https://" + host
		serve = func() { s.http.ServeTLS(listener, "", "") }
	}
	s.client = &http.Client{Transport: transport}
	s.serving.Go(serve)
	return nil
}

// reachable is where a client on this machine finds an address: one that
// listens everywhere has no host of its own.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// trusting is the configuration of a client that trusts these roots alone,
// by whatever name it reaches the server.
func trusting(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, ServerName: "localhost"}
}

// track counts the connections that Close waits for.
func (s *Server) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateHijacked, http.StateClosed:
		s.conns.Done()
	}
}

// Close stops the fake and drops its connections. It returns when all goroutines of
// the fake have ended. It can be called more than once.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closing)
		s.http.Close()
		s.serving.Wait()
		s.http.Close() // what was accepted meanwhile
		s.client.CloseIdleConnections()
		s.conns.Wait()
		s.log.awaitEnd()
	})
}

// Reset returns the fake to its start: the state is generated again, advances of the
// clock are undone, the limits are those of [WithRequestLimit], and handlers, faults,
// registrations and the request log are removed. Address and keys stay the same.
func (s *Server) Reset() {
	s.effects.mu.Lock()
	s.effects.pending = nil
	s.clock.advanced.Store(0)
	s.world.Reset(s.settings.world, s.clock.millis())
	s.effects.mu.Unlock()
	s.handlers.reset()
	s.faults.reset()
	s.limiter.set(s.settings.limits)
	s.replays.reset()
	s.ResetLog()
}

// HTTPClient returns an HTTP client that trusts the fake's certificate, and reaches the
// fake with [WithInMemory] too.
func (s *Server) HTTPClient() *http.Client { return s.client }

// Client returns a client of the fake with these options. It panics if one of them
// is invalid.
func (s *Server) Client(opts ...horseracing.Option) *horseracing.Client {
	opts = append([]horseracing.Option{horseracing.WithHTTPClient(s.client)}, opts...)
	client, err := horseracing.NewClient(s.URL, s.APIKey, opts...)
	if err != nil {
		panic("horseracingtest: " + err.Error())
	}
	return client
}

// serve takes a request through the log, the faults, the limits and the service.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	arrived := Request{Time: s.clock.Now(), Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header}
	ticket := s.log.begin(arrived)
	defer s.log.end()
	leave := sync.OnceFunc(s.log.leave)
	defer leave()
	status := 0
	if logger := s.settings.logger; logger != nil {
		began := time.Now()
		defer func() {
			logger.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("method", r.Method), slog.String("path", r.URL.EscapedPath()),
				slog.Int("status", status), slog.Duration("took", time.Since(began)))
		}()
	}

	fault := s.faults.strike(r)
	var unread *world.Refusal
	if !fault.ResetBefore {
		// Before any delay: net/http notices that a client is gone only once the
		// body was read.
		arrived.Body, unread = readBody(w, r)
		s.log.update(ticket, func(r *Request) { r.Body = arrived.Body })
	}
	if !s.wait(r.Context(), fault.Delay) {
		panic(http.ErrAbortHandler)
	}
	if fault.ResetBefore {
		drop(w)
	}
	if fault.IgnoreBody {
		arrived.Body, unread = nil, nil
	}
	if fault.TakesEffectAfter > 0 {
		s.effects.add(effect{s.clock.millis() + fault.TakesEffectAfter.Milliseconds(), r, arrived.Body, unread})
		drop(w)
	}
	out := response{status: fault.Status, body: []byte(fault.Body)}
	release := leave
	if fault.Status == 0 {
		admitted := s.limiter.admit(r.Header.Get("X-Api-Key"), r.URL.Path, s.clock.Now())
		release = func() { admitted.release(); leave() }
		defer release()
		if admitted.refusal != nil {
			out = refused(admitted.refusal)
		} else {
			out = s.handle(r, arrived, unread)
		}
		maps.Copy(w.Header(), admitted.header)
	}
	if !s.wait(r.Context(), s.settings.latency) {
		panic(http.ErrAbortHandler)
	}
	if fault.ResetAfter {
		drop(w)
	}
	// Noted before it is sent: a test that has the response finds it in the log.
	status = out.status
	s.log.update(ticket, func(r *Request) { r.Status = out.status })
	s.send(w, r, out, &fault, release)
}
