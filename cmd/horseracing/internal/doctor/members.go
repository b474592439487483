package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// operation is one that reads, with an entry of what it returns.
type operation struct {
	entry any
	call  func(horseracing.CallOption) error
}

// errorOf returns the error of a call.
func errorOf[T any](_ T, err error) error { return err }

// operations are those that read, as far as ids for them were read.
func (d *Doctor) operations(ctx context.Context) []operation {
	c := d.service.Client
	all := []operation{
		{horseracing.Race{}, func(o horseracing.CallOption) error { return errorOf(c.Races.Open(ctx, o)) }},
		{horseracing.Tournament{}, func(o horseracing.CallOption) error { return errorOf(c.Tournaments.Open(ctx, o)) }},
		{horseracing.BreedingListing{}, func(o horseracing.CallOption) error { return errorOf(c.Horses.OpenForBreeding(ctx, o)) }},
		{horseracing.MissionCatalogue{}, func(o horseracing.CallOption) error { return errorOf(c.Missions.Catalogue(ctx, o)) }},
		{horseracing.Race{}, func(horseracing.CallOption) error {
			return errorOf(c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 10))
		}},
		{horseracing.Tournament{}, func(horseracing.CallOption) error {
			return errorOf(c.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, 10))
		}},
	}
	if owner := d.service.UserKey; owner != "" {
		all = append(all, operation{horseracing.Horse{}, func(o horseracing.CallOption) error { return errorOf(c.Horses.Owned(ctx, owner, o)) }})
	}
	for _, race := range d.top[:min(1, len(d.top))] {
		id := horseracing.RaceID(race.ID)
		all = append(all, operation{horseracing.Race{}, func(o horseracing.CallOption) error { return errorOf(c.Races.Get(ctx, id, o)) }})
		for _, p := range race.Participants[:min(1, len(race.Participants))] {
			n := horseracing.HorseNumber(p.Number)
			all = append(all,
				operation{horseracing.Horse{}, func(o horseracing.CallOption) error { return errorOf(c.Horses.Get(ctx, n, o)) }},
				operation{horseracing.HorseMissions{}, func(o horseracing.CallOption) error { return errorOf(c.Horses.Missions(ctx, n, o)) }})
		}
	}
	return all
}

// members calls the operations that read, and compares the members of what they return with
// the types of the SDK.
func (d *Doctor) members(ctx context.Context) (mark, string) {
	seen := map[reflect.Type]map[string]bool{}
	found := good
	var differences, unread []string
	for _, o := range d.operations(ctx) {
		var response horseracing.Response
		err := o.call(horseracing.CaptureResponse(&response))
		switch {
		case ctx.Err() != nil:
			return skipped, ""
		case isUnread(err):
			unread = append(unread, err.Error())
			continue
		case err != nil:
			found = bad
			differences = append(differences, err.Error())
		}
		entry := reflect.TypeOf(o.entry)
		if seen[entry] == nil {
			seen[entry] = map[string]bool{}
		}
		addMembers(seen[entry], response.Body)
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
	switch {
	case len(differences) == 0 && len(unread) == 0:
		return good, "the responses have all documented members, and no others"
	case len(differences) == 0:
		found = skipped
	case found == good:
		found = odd
	}
	if len(unread) > 0 {
		differences = append(differences, "not examined: "+strings.Join(unread, "; "))
	}
	return found, strings.Join(differences, "; ")
}

// addMembers adds the names of the members that some entry of a body has.
func addMembers(names map[string]bool, body []byte) {
	var entries []map[string]json.RawMessage
	if json.Unmarshal(body, &entries) != nil {
		entries = make([]map[string]json.RawMessage, 1)
		_ = json.Unmarshal(body, &entries[0]) // no members if it is neither
	}
	for _, entry := range entries {
		for name := range entry {
			names[name] = true
		}
	}
}
