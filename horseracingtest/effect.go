package horseracingtest

import (
	"net/http"
	"slices"
	"sync"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// effect is a request whose connection was dropped, and which reaches the
// service later.
type effect struct {
	at      int64
	request *http.Request
	body    []byte
	unread  *world.Refusal
}

type effects struct {
	mu      sync.Mutex
	pending []effect // earliest first
}

func (e *effects) add(late effect) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := len(e.pending)
	for i > 0 && e.pending[i-1].at > late.at {
		i--
	}
	e.pending = slices.Insert(e.pending, i, late)
}

// catchUp makes happen what was to happen until now: requests that take effect
// late, and what happens by itself. It returns the time.
func (s *Server) catchUp() int64 {
	s.effects.mu.Lock()
	defer s.effects.mu.Unlock()
	now := s.clock.millis()
	for len(s.effects.pending) > 0 && s.effects.pending[0].at <= now {
		late := s.effects.pending[0]
		s.effects.pending = s.effects.pending[1:]
		s.world.Advance(late.at)
		s.respond(late.request, late.body, late.unread, late.at)
	}
	s.world.Advance(now)
	return now
}
