package horseracing

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// DriftKind is the kind of a [Drift].
type DriftKind string

// The kinds of drift.
const (
	DriftUnknownField DriftKind = "unknown_field" // the service sends a member that the types do not declare
	DriftWrongType    DriftKind = "wrong_type"    // the service sends a member with another type than the documented one; it stays zero
)

// Drift is a difference between the members that the service sends and those that the
// types of this package declare: the service has changed, or the API reference is
// incomplete. It does not make the call fail. A member with another type makes its entry
// unreadable if programs decide by it: an id, or the entry's own start, fee, price, deadline,
// participants, levels, places, cooldown, final order or winners.
type Drift struct {
	Route string // the path with its placeholders: /api/v1/races/open
	Path  string // the member's path: "[].info.weather" in an array of races, "info.weather" in a single race
	Kind  DriftKind
}

// drifts reports the drift of one client's responses, each once.
type drifts struct {
	handler func(context.Context, Drift) // may be nil
	mu      sync.Mutex
	seen    map[Drift]bool
}

const (
	maxDrift     = 100  // of a response
	maxDriftSeen = 1000 // of a client: names that are data are unlimited
)

// reader returns a reader of a response. The prefix is that of its paths.
func (d *drifts) reader(prefix string) *memberReader {
	return &memberReader{how: json.JoinOptions(lenientUTF8, json.RejectUnknownMembers(d.handler != nil)), prefix: prefix}
}

var indexes = regexp.MustCompile(`/\d+(/|$)`)

// note notes the drift of the member at a JSON pointer.
func (m *memberReader) note(kind DriftKind, pointer string) {
	path := indexes.ReplaceAllString(pointer, "[]$1")
	found := Drift{Path: m.prefix + strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "."), Kind: kind}
	if len(m.drift) < maxDrift && !slices.Contains(m.drift, found) {
		m.drift = append(m.drift, found)
	}
}

// report passes what was not reported before to the handler.
func (d *drifts) report(ctx context.Context, r *transport.Record, m *memberReader) {
	for _, found := range m.drift {
		found.Route, found.Path = r.Route, clip(r.Keys.Text(redact.Visible(found.Path)), 200)
		d.mu.Lock()
		isNew := !d.seen[found] && len(d.seen) < maxDriftSeen
		if isNew {
			d.seen[found] = true
		}
		d.mu.Unlock()
		if isNew && d.handler != nil {
			d.handler(ctx, found)
		}
	}
}
