package horseracing

import (
	"context"
	"reflect"
	"regexp"

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

// documentedPrize returns the documented name of a member that is named for the game's
// currency, or any other name itself.
func documentedPrize(name string) string { return prizeName.ReplaceAllString(name, "${1}token") }

var prizeName = regexp.MustCompile(`^(additional_(?:treasury_)?).*`)

// drifts reports the drift of one client's responses.
type drifts struct {
	handler func(context.Context, Drift) // may be nil
	check   *drift.Check
}

// report compares a response with the type of the object or the entries that were
// decoded.
func (d drifts) report(ctx context.Context, op operation, record *transport.Record, t reflect.Type) {
	if d.handler == nil {
		return
	}
	r := drift.Response{Route: op.route, Undocumented: op.objectOrArray, Type: t, Body: record.Body}
	for _, found := range d.check.Compare(r) {
		kind := DriftUnknownField
		if found.Missing {
			kind = DriftMissingField
		}
		path := clip(record.Keys.Text(redact.Visible(found.Path)), 200)
		d.handler(ctx, Drift{Route: op.route, Path: path, Kind: kind})
	}
}
