package horseracingtest

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

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
	world     world.Settings
	tls       bool
	inMemory  bool
	addr      string
	historyOf iter.Seq[horseracing.Race]
}

// standstill is what the clock of a fake shows by default.
var standstill = time.Date(2025, time.June, 1, 12, 0, 0, 0, time.UTC)

func newSettings(opts []Option) (*settings, error) {
	set := &settings{addr: anyPort, logged: 10_000, world: world.Settings{Seed: 1, Races: 2000, PerHour: 12, Users: 4}}
	for _, opt := range opts {
		opt(set)
	}
	for i := range set.limits {
		if err := set.limits[i].check(); err != nil {
			return nil, err
		}
	}
	if err := set.readings.check(); err != nil {
		return nil, err
	}
	switch {
	case set.world.Races < 0 || set.world.Races > maxHistory:
		return nil, fmt.Errorf("a history of %d races: it can have 0 to %d", set.world.Races, maxHistory)
	case set.world.PerHour < 0 || set.world.PerHour > maxPerHour:
		return nil, fmt.Errorf("%d new races an hour: there can be 0 to %d", set.world.PerHour, maxPerHour)
	case set.world.Users < 1 || set.world.Users > maxUsers:
		return nil, fmt.Errorf("%d users: there can be 1 to %d", set.world.Users, maxUsers)
	case set.latency < 0:
		return nil, errors.New("the latency cannot be negative")
	case set.logged < 0:
		return nil, errors.New("the request log cannot keep a negative number of requests")
	case set.inMemory && set.addr != anyPort:
		return nil, errors.New("a fake in memory has no address to listen at")
	}
	begin := standstill
	if set.historyOf != nil {
		var err error
		if set.world.Recorded, err = world.ReadRecorded(set.historyOf); err != nil {
			return nil, err
		}
		begin = set.world.Recorded[0].Opens()
	}
	if set.now == nil {
		set.now = func() time.Time { return begin }
	}
	if len(set.apiKeys) == 0 || set.apiKeys[0] == "" {
		set.apiKeys = []string{fmt.Sprintf("app-key-%016x", world.Key(set.world.Seed, 0))}
	}
	return set, nil
}

const (
	maxHistory = 20_000
	maxPerHour = 3600
	maxUsers   = 500 // who own three of four horses
	anyPort    = "127.0.0.1:0"
)

// WithSeed sets the seed that the fake is generated from: the same seed gives the
// same horses, races and keys. The default is 1.
func WithSeed(seed uint64) Option { return func(s *settings) { s.world.Seed = seed } }

// WithHistory sets how many races of the default tier finished before the fake starts;
// each other tier has a tenth as many, and there is a tournament for every forty races.
// The default is 2,000, the maximum 20,000.
func WithHistory(races int) Option { return func(s *settings) { s.world.Races = races } }

// WithClock makes the fake follow a clock such as time.Now, which returns fake time in
// a testing/synctest bubble. By default the fake's clock changes only with
// [Server.Advance].
func WithClock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// WithSchedule sets how many races open in an hour of the fake's clock, at most 3,600.
// If it is 0, no races or tournaments open by themselves. The default is 12.
func WithSchedule(perHour int) Option { return func(s *settings) { s.world.PerHour = perHour } }

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
func WithUsers(n int) Option { return func(s *settings) { s.world.Users = n } }

// WithRequestLog sets how many of the newest requests [Server.Requests] returns.
// [Server.RequestCount] counts all. The default is 10,000.
func WithRequestLog(n int) Option { return func(s *settings) { s.logged = n } }
