package horseracingtest

import (
	"slices"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// late are the requests whose connection was dropped and that have their effect later,
// each before whatever is done after its time.
type late struct {
	clock *clock
	world *world.World
	keys  headers

	mu      sync.Mutex
	pending []effect // earliest first
}

type effect struct {
	at int64
	do request
}

// add takes a request in, unless it is one that is refused: that has no effect.
func (l *late) add(c *call, after time.Duration) {
	at := l.clock.millis() + after.Milliseconds()
	parsed, no := parse(c, l.keys, at)
	if no != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := len(l.pending)
	for i > 0 && l.pending[i-1].at > at {
		i--
	}
	l.pending = slices.Insert(l.pending, i, effect{at, parsed})
}

// catchUp makes happen what was to happen until now: requests that take effect late, and
// what happens by itself. It returns the time.
func (l *late) catchUp() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.millis()
	for len(l.pending) > 0 && l.pending[0].at <= now {
		effect := l.pending[0]
		l.pending = l.pending[1:]
		l.world.Advance(effect.at)
		l.world.Do(effect.do.does, effect.do.argument, effect.do.body, effect.at)
	}
	l.world.Advance(now)
	return now
}

// reset forgets the pending requests, and returns clock and world to their start.
func (l *late) reset(set world.Settings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = nil
	l.clock.reset()
	l.world.Reset(set, l.clock.millis())
}
