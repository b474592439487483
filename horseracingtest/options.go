package horseracingtest

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest/internal/wire"
	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// An Option configures a [Server].
type Option func(*settings)

type settings struct {
	wire      wire.Settings
	tls       bool
	inMemory  bool
	addr      string
	historyOf iter.Seq[horseracing.Race]
}

// standstill is what the clock of a fake shows by default.
var standstill = time.Date(2025, time.June, 1, 12, 0, 0, 0, time.UTC)

func newSettings(opts []Option) (*settings, error) {
	set := &settings{addr: anyPort, wire: wire.Settings{
		Logged: 10_000,
		World:  world.Settings{Seed: 1, Races: 2000, PerHour: 12, Users: 4},
	}}
	for _, opt := range opts {
		opt(set)
	}
	for i := range set.wire.Limits {
		if err := set.wire.Limits[i].Check(); err != nil {
			return nil, err
		}
	}
	switch {
	case set.wire.World.Races < 0 || set.wire.World.Races > maxHistory:
		return nil, fmt.Errorf("a history of %d races: it can have 0 to %d", set.wire.World.Races, maxHistory)
	case set.wire.World.PerHour < 0 || set.wire.World.PerHour > maxPerHour:
		return nil, fmt.Errorf("%d new races an hour: there can be 0 to %d", set.wire.World.PerHour, maxPerHour)
	case set.wire.World.Users < 1 || set.wire.World.Users > maxUsers:
		return nil, fmt.Errorf("%d users: there can be 1 to %d", set.wire.World.Users, maxUsers)
	case set.wire.Latency < 0:
		return nil, errors.New("the latency cannot be negative")
	case set.wire.Logged < 0:
		return nil, errors.New("the request log cannot keep a negative number of requests")
	case set.inMemory && set.addr != anyPort:
		return nil, errors.New("a fake in memory has no address to listen at")
	}
	begin := standstill
	if set.historyOf != nil {
		var err error
		if set.wire.World.Recorded, err = world.ReadRecorded(set.historyOf); err != nil {
			return nil, err
		}
		begin = set.wire.World.Recorded[0].Opens()
	}
	if set.wire.Now == nil {
		set.wire.Now = func() time.Time { return begin }
	}
	if len(set.wire.APIKeys) == 0 || set.wire.APIKeys[0] == "" {
		set.wire.APIKeys = []string{fmt.Sprintf("app-key-%016x", world.Key(set.wire.World.Seed, 0))}
	}
	return set, nil
}

const (
	maxHistory = 100_000_000
	maxPerHour = 3600
	maxUsers   = 500 // who own three of four horses
	anyPort    = "127.0.0.1:0"
)

// WithSeed sets the seed that the fake is generated from: the same seed gives the
// same horses, races and keys. The default is 1.
func WithSeed(seed uint64) Option { return func(s *settings) { s.wire.World.Seed = seed } }

// WithHistory sets how many races of the default tier finished before the fake starts;
// each other tier has a tenth as many, and there is a tournament for every forty races.
// They are computed when requested and take almost no memory, even for a million. The
// default is 2,000.
func WithHistory(races int) Option { return func(s *settings) { s.wire.World.Races = races } }

// WithClock makes the fake follow a clock such as time.Now, which returns fake time in
// a testing/synctest bubble. By default the fake's clock changes only with
// [Server.Advance].
func WithClock(now func() time.Time) Option { return func(s *settings) { s.wire.Now = now } }

// WithSchedule sets how many races open in an hour of the fake's clock, at most 3,600.
// If it is 0, no races or tournaments open by themselves. The default is 12.
func WithSchedule(perHour int) Option { return func(s *settings) { s.wire.World.PerHour = perHour } }

// WithLatency makes every response wait this long after the request was
// handled. The wait ends when the request is canceled.
func WithLatency(d time.Duration) Option { return func(s *settings) { s.wire.Latency = d } }

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
	return func(s *settings) { s.wire.APIKeys = append([]string{key}, others...) }
}

// WithLogger logs every request at level Info after its response: method, path,
// status (0 if the connection was dropped) and duration, without keys. By default
// nothing is logged.
func WithLogger(logger *slog.Logger) Option { return func(s *settings) { s.wire.Logger = logger } }

// WithUsers sets how many users the fake has keys for, 1 to 500. Each owns six
// horses. The default is 4.
func WithUsers(n int) Option { return func(s *settings) { s.wire.World.Users = n } }

// WithRequestLog sets how many of the newest requests [Server.Requests] returns.
// [Server.RequestCount] counts all. The default is 10,000.
func WithRequestLog(n int) Option { return func(s *settings) { s.wire.Logged = n } }
