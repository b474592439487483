package horseracingtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Server is a running fake of the service. Its methods are safe for concurrent use.
type Server struct {
	URL    string // the base URL, without a trailing slash
	APIKey string // the API key that it accepts, or the first of several

	settings *settings
	log      requestLog
	faults   faults
	limiter  limiter
	handlers handlers
	closing  chan struct{}

	mu       sync.Mutex // guards what follows
	advanced time.Duration
	world    *world
	late     []effect // of requests that take effect later, earliest first

	http   *httptest.Server
	client *http.Client
	close  sync.Once
}

// An Option configures a [Server].
type Option func(*settings)

type settings struct {
	now       func() time.Time
	apiKeys   []string
	latency   time.Duration
	limits    []RequestLimit
	logged    int
	logger    *slog.Logger
	readings  Readings
	tls       bool
	inMemory  bool
	addr      string
	historyOf iter.Seq[horseracing.Race]

	seed    uint64
	races   int // in the past of the default tier
	ties    int // of them start at one instant
	perHour int // races that open by themselves
	users   int
	past    []pastRace // that open again
}

const (
	maxHistory = 20_000
	maxPerHour = 3600
	maxUsers   = 500 // who own three of four horses
	anyPort    = "127.0.0.1:0"
)

// WithSeed sets the seed that the fake is generated from: the same seed gives the
// same horses, races and keys. The default is 1.
func WithSeed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// WithHistory sets how many races of the default tier finished before the fake starts, at
// most 20,000. Each other tier has a tenth as many, and there is a tournament for every
// forty races. The default is 2,000.
func WithHistory(races int) Option { return func(s *settings) { s.races = races } }

// WithTies makes this many races of the history start at each instant, from 1 to 12. The
// default is 1. A listing by time cannot show more than ten races of one instant.
func WithTies(races int) Option { return func(s *settings) { s.ties = races } }

// WithClock makes the fake follow a clock such as time.Now, which returns fake time in
// a testing/synctest bubble. By default the fake's clock changes only with
// [Server.Advance].
func WithClock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// WithSchedule sets how many races open in an hour of the fake's clock, at most 3,600.
// If it is 0, no races or tournaments open by themselves. The default is 12.
func WithSchedule(perHour int) Option { return func(s *settings) { s.perHour = perHour } }

// WithLatency makes every response wait this long after the request was
// handled. The wait ends when the request is canceled.
func WithLatency(d time.Duration) Option { return func(s *settings) { s.latency = d } }

// WithTLS makes the fake serve HTTPS, and with it HTTP/2. Only [Server.Client] and
// [Server.HTTPClient] trust its certificate.
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithInMemory makes the fake work without sockets, so that it can run in a
// testing/synctest bubble. Only [Server.Client] and [Server.HTTPClient] reach it.
func WithInMemory() Option { return func(s *settings) { s.inMemory = true } }

// WithAddr sets the TCP address to listen at. The default is a free port of
// the loopback interface.
func WithAddr(addr string) Option { return func(s *settings) { s.addr = addr } }

// WithAPIKey sets the API key that the fake accepts, and others that it accepts as
// well. The default is derived from the seed.
func WithAPIKey(key string, others ...string) Option {
	return func(s *settings) { s.apiKeys = append([]string{key}, others...) }
}

// WithLogger logs every request at level Info after its response: method, path,
// status (0 if the connection was dropped) and duration, without keys. By default
// nothing is logged.
func WithLogger(logger *slog.Logger) Option { return func(s *settings) { s.logger = logger } }

// WithUsers sets how many users the fake has keys for, 1 to 500. Each owns six
// horses. The default is 4.
func WithUsers(n int) Option { return func(s *settings) { s.users = n } }

// WithRequestLog sets how many of the newest requests [Server.Requests] returns.
// [Server.RequestCount] counts all. The default is 10,000.
func WithRequestLog(n int) Option { return func(s *settings) { s.logged = n } }

func newSettings(opts []Option) (*settings, error) {
	set := &settings{addr: anyPort, logged: 10_000, seed: 1, races: 2000, ties: 1, perHour: 12, users: 4}
	for _, opt := range opts {
		opt(set)
	}
	begin := time.Date(2025, time.June, 1, 12, 0, 0, 0, time.UTC)
	if set.historyOf != nil {
		var err error
		if set.past, err = readPast(set.historyOf); err != nil {
			return nil, err
		}
		begin = set.past[0].opens
	}
	if set.now == nil {
		set.now = func() time.Time { return begin }
	}
	if len(set.apiKeys) == 0 || set.apiKeys[0] == "" {
		set.apiKeys = []string{fmt.Sprintf("app-key-%016x", random(set.seed, forKeys, 0).Uint64())}
	}
	return set, set.check()
}

func (s *settings) check() error {
	for i := range s.limits {
		if err := s.limits[i].check(); err != nil {
			return err
		}
	}
	switch {
	case s.races < 0 || s.races > maxHistory:
		return fmt.Errorf("a history of %d races: it can have 0 to %d", s.races, maxHistory)
	case s.ties < 1 || s.ties > 12:
		return fmt.Errorf("%d races at one instant: there can be 1 to 12", s.ties)
	case s.perHour < 0 || s.perHour > maxPerHour:
		return fmt.Errorf("%d new races an hour: there can be 0 to %d", s.perHour, maxPerHour)
	case s.users < 1 || s.users > maxUsers:
		return fmt.Errorf("%d users: there can be 1 to %d", s.users, maxUsers)
	case s.latency < 0:
		return errors.New("the latency cannot be negative")
	case s.logged < 0:
		return errors.New("the request log cannot keep a negative number of requests")
	case s.inMemory && s.addr != anyPort:
		return errors.New("a fake in memory has no address to listen at")
	}
	return s.readings.check()
}

// NewServer starts a fake of the service. Like [net/http/httptest.NewServer] it
// panics if it cannot. Call Close when done.
//
// The time of the fake is 2025-06-01 12:00 UTC until [Server.Advance] is called. Therefore
// pass [Server.Now] instead of time.Now to [horseracing.Race.CheckEntry], and compute the Since
// of a query from it, because a time that is a week before time.Now is later than all of the
// fake's races. Or start the fake with WithClock(time.Now).
func NewServer(opts ...Option) *Server {
	s, err := Start(opts...)
	must(err)
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
	s.log.init(set.logged)
	s.Reset()
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

// listen starts to serve, and makes the client that fits.
func (s *Server) listen() error {
	s.http = &httptest.Server{EnableHTTP2: s.settings.tls, Config: &http.Server{
		Handler:  http.HandlerFunc(s.serve),
		ErrorLog: log.New(io.Discard, "", 0), // some tests want handshakes that fail
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

// reachable returns the address at which a client on this machine reaches a listener: one
// that listens everywhere has no host of its own.
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
		s.http.Config.Close() // httptest's own Close waits for requests in progress
		s.http.Close()
		s.client.CloseIdleConnections()
		s.log.awaitEnd()
	})
}

// Reset returns the fake to its start: the state is generated again, advances of the
// clock are undone, the limits are those of [WithRequestLimit], and handlers, faults,
// registrations and the request log are removed. Address and keys stay the same.
func (s *Server) Reset() {
	s.mu.Lock()
	s.advanced, s.late = 0, nil
	s.world = newWorld(s.settings, s.now())
	s.mu.Unlock()
	s.handlers.reset()
	s.faults.reset(s.settings.seed)
	s.limiter.set(s.settings.limits)
	s.log.reset()
}

// Now returns the fake's time, in UTC. Without [WithClock] and [WithHistoryOf] it
// starts at 2025-06-01 12:00.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// now is [Server.Now] with the mutex held.
func (s *Server) now() time.Time { return s.settings.now().Add(s.advanced).UTC() }

// Advance moves the fake's clock forward. The next request shows everything that is due by
// then: races open, fill up, run and are published. With [WithClock], the fake's time is that
// clock's time plus all advances. It panics if d is negative.
func (s *Server) Advance(d time.Duration) {
	if d < 0 {
		panic("horseracingtest: the clock cannot be put back")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanced += d
}

// HTTPClient returns an HTTP client that trusts the fake's certificate. If the fake was
// started with [WithInMemory], the client reaches it without a socket.
func (s *Server) HTTPClient() *http.Client { return s.client }

// Client returns a client of the fake with these options. It panics if one of them
// is invalid.
func (s *Server) Client(opts ...horseracing.Option) *horseracing.Client {
	opts = append([]horseracing.Option{horseracing.WithHTTPClient(s.client)}, opts...)
	client, err := horseracing.NewClient(s.URL, s.APIKey, opts...)
	must(err)
	return client
}

// must panics if a test uses the fake wrongly.
func must(err error) {
	if err != nil {
		panic("horseracingtest: " + err.Error())
	}
}
