package horseracingtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// Server is a running fake of the service. Its methods are safe for concurrent use.
type Server struct {
	URL    string // the base URL, without a trailing slash
	APIKey string // the API key that it accepts, or the first of several

	settings *settings
	clock    clock
	world    world.World
	log      requestLog
	faults   faults
	limiter  limiter
	handlers handlers
	late     late
	closing  chan struct{}

	http   *httptest.Server
	client *http.Client
	close  sync.Once
}

// NewServer starts a fake of the service. Like [net/http/httptest.NewServer] it
// panics if it cannot. Call Close when done.
//
// Its time stays at 2025-06-01 12:00 UTC until [Server.Advance]: pass [Server.Now], not
// time.Now, to [horseracing.Race.CheckEntry], or start it with WithClock(time.Now).
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
	s := &Server{APIKey: set.apiKeys[0], settings: set, closing: make(chan struct{})}
	s.clock.now = set.now
	s.log.init(set.logged)
	s.faults.seed = set.world.Seed
	s.late.clock, s.late.world, s.late.keys = &s.clock, &s.world, headers(set.apiKeys)
	s.Reset()
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

// chain is the way of a request to the service and back: each link handles it, or lets
// the next one do so.
func (s *Server) chain() handle {
	sleep, keys := sleepUntil(s.closing), headers(s.settings.apiKeys)
	next := service(&reading{Readings: s.settings.readings, world: &s.world}, &s.late, keys)
	next = s.handlers.link(keys, next)
	next = s.limiter.link(&s.clock, next)
	next = instead(next)
	next = latency(s.settings.latency, sleep, next)
	next = s.faults.link(&s.late, sleep, next)
	next = send(&s.clock, sleep, next)
	return s.log.link(&s.clock, s.settings.logger, next)
}

// listen starts to serve, and makes the client that fits.
func (s *Server) listen() error {
	chain := s.chain()
	s.http = &httptest.Server{EnableHTTP2: s.settings.tls, Config: &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chain(&call{writer: w, request: r}) }),
		ErrorLog: log.New(io.Discard, "", 0), // handshakes that fail are what some tests want
	}}
	transport := &http.Transport{MaxIdleConnsPerHost: 256, ForceAttemptHTTP2: true}
	if s.settings.inMemory {
		p := newPipes()
		s.http.Listener = p
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }
	} else {
		tcp, err := net.Listen("tcp", s.settings.addr)
		if err != nil {
			return err
		}
		s.http.Listener = tcp
	}
	scheme := "http://"
	if s.settings.tls {
		scheme = "https://"
		s.http.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(s.http.Certificate())
		// It is trusted by whatever name it is reached.
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: s.http.Certificate().DNSNames[0]}
	} else {
		s.http.Start()
	}
	s.URL = scheme + reachable(s.http.Listener.Addr())
	s.client = &http.Client{Transport: transport}
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

// Close stops the fake and drops its connections. It returns when all goroutines of
// the fake have ended. It can be called more than once.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closing)
		s.http.Config.Close() // its own Close waits for the requests that are served
		s.http.Close()
		s.client.CloseIdleConnections()
		s.log.awaitEnd()
	})
}

// Reset returns the fake to its start: the state is generated again, advances of the
// clock are undone, the limits are those of [WithRequestLimit], and handlers, faults,
// registrations and the request log are removed. Address and keys stay the same.
func (s *Server) Reset() {
	s.late.reset(s.settings.world)
	s.handlers.reset()
	s.faults.reset()
	s.limiter.set(s.settings.limits)
	s.log.reset()
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

// must panics with an error: of a test that is wrong.
func must(err error) {
	if err != nil {
		panic("horseracingtest: " + err.Error())
	}
}
