package horseracingtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest/internal/wire"
)

// Server is a running fake of the service. Its methods are safe for concurrent use.
type Server struct {
	URL    string // the base URL, without a trailing slash
	APIKey string // the API key that it accepts, or the first of several

	settings *settings
	wire     *wire.Wire

	http    *http.Server
	client  *http.Client
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
	s := &Server{APIKey: set.wire.APIKeys[0], settings: set}
	if s.wire, err = wire.New(set.wire); err != nil {
		return nil, err
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
		Handler:   s.wire,
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
		s.wire.Close()
		s.http.Close()
		s.serving.Wait()
		s.http.Close() // what was accepted meanwhile
		s.client.CloseIdleConnections()
		s.conns.Wait()
		s.wire.AwaitEnd()
	})
}

// Reset returns the fake to its start: the state is generated again, advances of the
// clock are undone, the limits are those of [WithRequestLimit], and handlers, faults,
// registrations and the request log are removed. Address and keys stay the same.
func (s *Server) Reset() { s.wire.Reset() }

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

// must panics with an error: of a test that is wrong.
func must(err error) {
	if err != nil {
		panic("horseracingtest: " + err.Error())
	}
}
