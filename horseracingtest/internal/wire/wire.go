// Package wire is the way of a request to the service and back, over HTTP.
//
// A request goes through a chain of links, one a file: log, send, faults, latency,
// limits, handlers, replay, and at the end route, which reads it strictly and hands it to
// the world. A request that takes effect later is kept in late, parsed, and done in order
// of time before the next one.
package wire

import (
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// Settings are what a wire is made with.
type Settings struct {
	Now      func() time.Time
	APIKeys  []string
	Latency  time.Duration
	Limits   []RequestLimit
	Logged   int
	Logger   *slog.Logger
	Recorded fs.FS
	Readings Readings
	World    world.Settings
}

// Wire is the service over HTTP.
type Wire struct {
	Clock Clock
	World world.World

	set      Settings
	log      requestLog
	faults   faults
	limiter  limiter
	handlers handlers
	replays  replays
	late     late
	closing  chan struct{}
	chain    handle
}

// New makes a wire with a world.
func New(set Settings) (*Wire, error) {
	w := &Wire{set: set, closing: make(chan struct{})}
	w.Clock.now = set.Now
	if err := set.Readings.check(); err != nil {
		return nil, err
	}
	w.log.init(set.Logged)
	w.faults.seed = set.World.Seed
	if set.Recorded != nil {
		var err error
		if w.replays.recording, err = readRecording(set.Recorded); err != nil {
			return nil, err
		}
	}
	keys := headers(set.APIKeys)
	w.late.clock, w.late.world, w.late.keys = &w.Clock, &w.World, keys
	w.Reset()

	sleep := sleepUntil(w.closing)
	next := service(&readings{Readings: set.Readings, world: &w.World}, &w.late, keys)
	next = w.replays.link(next)
	next = w.handlers.link(keys, next)
	next = w.limiter.link(&w.Clock, next)
	next = instead(next)
	next = latency(set.Latency, sleep, next)
	next = w.faults.link(&w.late, sleep, next)
	next = send(&w.Clock, set.Readings.DateOff, sleep, next)
	w.chain = w.log.link(&w.Clock, set.Logger, next)
	return w, nil
}

// ServeHTTP takes a request through the chain.
func (w *Wire) ServeHTTP(writer http.ResponseWriter, r *http.Request) {
	w.chain(&call{writer: writer, request: r})
}

// Close ends what waits.
func (w *Wire) Close() { close(w.closing) }

// AwaitEnd waits until no request is served.
func (w *Wire) AwaitEnd() { w.log.awaitEnd() }

// Reset returns all to the start.
func (w *Wire) Reset() {
	w.late.reset(w.set.World)
	w.handlers.reset()
	w.faults.reset()
	w.limiter.set(w.set.Limits)
	w.replays.reset()
	w.log.reset()
}

// CatchUp makes happen what was to happen until now, and returns the time.
func (w *Wire) CatchUp() int64 { return w.late.catchUp() }

// Handle makes a function respond to the requests that match a pattern.
func (w *Wire) Handle(pattern string, respond func(Request) (Response, bool)) error {
	h, err := newHandler(pattern, respond)
	if err == nil {
		w.handlers.add(h)
	}
	return err
}

// Inject adds faults for later requests.
func (w *Wire) Inject(faults ...Fault) error { return w.faults.inject(faults...) }

// ClearFaults removes all faults.
func (w *Wire) ClearFaults() { w.faults.clear() }

// IdleFaults says which of the injected faults have hit no request.
func (w *Wire) IdleFaults() []string { return w.faults.idle() }

// SetLimits replaces the limits, or none if one is invalid.
func (w *Wire) SetLimits(limits ...RequestLimit) error {
	for i := range limits {
		if err := limits[i].Check(); err != nil {
			return err
		}
	}
	w.limiter.set(limits)
	return nil
}

// Requests returns the newest requests in the order in which they arrived.
func (w *Wire) Requests() []Request { return w.log.requests() }

// Counts returns the number of requests, and the highest number at the same time.
func (w *Wire) Counts() (all, maxInFlight int) { return w.log.counts() }

// ResetLog clears the log and the counts.
func (w *Wire) ResetLog() { w.log.reset() }
