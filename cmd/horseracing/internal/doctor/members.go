package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// operation is one that reads, with the type of its entries.
type operation struct {
	entry reflect.Type
	call  func(context.Context, ...horseracing.CallOption) error
}

func reads[Entry, Out any](get func(context.Context, ...horseracing.CallOption) (Out, error)) operation {
	return operation{reflect.TypeFor[Entry](), func(ctx context.Context, opts ...horseracing.CallOption) error {
		_, err := get(ctx, opts...)
		return err
	}}
}

func readsByID[Entry any, ID ~int64](id ID, get func(context.Context, ID, ...horseracing.CallOption) (*Entry, error)) operation {
	return reads[Entry](func(ctx context.Context, opts ...horseracing.CallOption) (*Entry, error) {
		return get(ctx, id, opts...)
	})
}

// operations are those that read, as far as ids for them were read.
func (d *Doctor) operations() []operation {
	c := d.client
	all := []operation{
		reads[horseracing.Race](c.Races.Open),
		reads[horseracing.Tournament](c.Tournaments.Open),
		reads[horseracing.BreedingListing](c.Horses.OpenForBreeding),
		reads[horseracing.MissionCatalogue](c.Missions.Catalogue),
		reads[horseracing.Tournament](func(ctx context.Context, _ ...horseracing.CallOption) ([]horseracing.Tournament, error) {
			return c.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, 10)
		}),
	}
	if d.config.UserKey != "" {
		all = append(all, reads[horseracing.Horse](func(ctx context.Context, opts ...horseracing.CallOption) ([]horseracing.Horse, error) {
			return c.Horses.Owned(ctx, d.config.UserKey, opts...)
		}))
	}
	if len(d.top) > 0 {
		all = append(all, readsByID(horseracing.RaceID(d.top[0].ID), c.Races.Get))
		for _, p := range d.top[0].Participants[:min(1, len(d.top[0].Participants))] {
			horse := horseracing.HorseNumber(p.Number)
			all = append(all, readsByID(horse, c.Horses.Get), readsByID(horse, c.Horses.Missions))
		}
	}
	return all
}

// members calls the operations that read, and compares the members of what they return with
// the types of the SDK.
func (d *Doctor) members(ctx context.Context) finding {
	seen := map[reflect.Type]map[string]bool{}
	var failures, differences []string
	for _, o := range d.operations() {
		var response horseracing.Response
		err := o.call(ctx, horseracing.CaptureResponse(&response))
		switch {
		case errors.Is(err, context.Canceled) || errors.Is(err, errNoRequestsLeft):
			d.fail(err)
			return notRead
		case err != nil:
			failures = append(failures, err.Error())
		}
		if seen[o.entry] == nil {
			seen[o.entry] = map[string]bool{}
		}
		maps.Copy(seen[o.entry], membersOf(response.Body))
	}
	for _, drift := range d.drifts {
		differences = append(differences, fmt.Sprintf("%s: %s %s", drift.Route, drift.Kind, drift.Path))
	}
	for entry, has := range seen {
		for _, field := range reflect.VisibleFields(entry) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if len(has) > 0 && name != "" && !has[name] {
				differences = append(differences, fmt.Sprintf("%s: no %s", entry.Name(), name))
			}
		}
	}
	slices.Sort(differences)
	if len(failures) > 0 {
		return finding{Mark: bad, Text: strings.Join(append(failures, differences...), "; "), Advice: "the methods return these errors"}
	}
	if len(differences) > 0 {
		return oddIf(true, "a member of another type stays zero, unless somebody decides by it: then its entry is an error; CaptureResponse has all as it was sent", "%s", strings.Join(differences, "; "))
	}
	return found(good, "what is read has the members of the types, and no others")
}

// membersOf returns the names of the members that some entry of a body has.
func membersOf(body []byte) map[string]bool {
	var entries []map[string]json.RawMessage
	if json.Unmarshal(body, &entries) != nil {
		entries = make([]map[string]json.RawMessage, 1)
		_ = json.Unmarshal(body, &entries[0]) // no members if it is neither
	}
	names := map[string]bool{}
	for _, entry := range entries {
		for name := range entry {
			names[name] = true
		}
	}
	return names
}
