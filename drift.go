package horseracing

import (
	"context"
	"reflect"

	"github.com/horseracing-go/horseracing/internal/drift"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// DriftKind is the kind of a [Drift].
type DriftKind string

// The kinds of drift.
const (
	DriftUnknownField DriftKind = "unknown_field" // the service sends a member that the types do not declare
	DriftMissingField DriftKind = "missing_field" // the service does not send a member that is documented
)

// Drift is a difference between the members that the service sends and those that the
// types of this package declare: the service has changed, or the API reference is
// incomplete. It does not make the call fail.
type Drift struct {
	Route string // the path with its placeholders: /api/v1/races/open
	Path  string // the member's path: "[].info.weather" in an array of races, "info.weather" in a single race
	Kind  DriftKind
}

// WithDriftHandler compares every decoded response with the types and calls handler for
// each difference: once per route and path for the life of the client. A handler may
// log, or in a test call t.Error (not t.Fatal, which would end the goroutine that made
// the call). Without a handler nothing is compared.
//
// The handler is called by the goroutine that made the call, before the call returns.
// It must be safe for concurrent use if calls are made concurrently, for example by a
// [Pager] with a Concurrency above one.
//
// These are not reported: members that are documented as optional or only for other
// operations, values outside the documented sets (which are incomplete), and responses
// to [Client.Do]. Missing members of undocumented responses (open tournaments, one
// tournament, a registration) are not reported either. At most 100 unknown members of
// one object are reported.
func WithDriftHandler(handler func(context.Context, Drift)) Option {
	return func(c *config) { c.drift = handler }
}

// documented holds what the API reference documents of members beyond their names.
// Only races differ from listing to listing.
var documented = drift.Rules{
	Routes: map[string][]string{
		"Race._id":              {"/open", "/{raceId}"},
		"Race.type":             {"/open", "/{raceId}", "/v2/"},
		"Race.min_level":        {"/open", "/{raceId}", "/v2/"},
		"Race.max_level":        {"/open", "/{raceId}", "/v2/"},
		"Race.final_order":      {"/results"},
		"Race.winners":          {"/results"},
		"RaceParticipant.total": {"/results"},
		"RaceParticipant.lane":  {"/results"},
	},
	Rename: documentedPrize,
}

// reportDrift compares a response with the type of the object or the entries that were
// decoded.
func (c *Client) reportDrift(ctx context.Context, op operation, response *transport.Call, t reflect.Type) {
	if c.drift == nil {
		return
	}
	r := drift.Response{Route: op.route, Undocumented: op.objectOrArray, Type: t, Body: response.Body}
	for _, found := range c.driftCheck.Compare(r) {
		kind := DriftUnknownField
		if found.Missing {
			kind = DriftMissingField
		}
		path := clip(response.Keys.Text(redact.Visible(found.Path)), 200)
		c.drift(ctx, Drift{Route: op.route, Path: path, Kind: kind})
	}
}
