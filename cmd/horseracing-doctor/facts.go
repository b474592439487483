package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// facts are what was found out. What was not examined is nil or zero.
type facts struct {
	Service string // scheme and host
	Began   time.Time

	NoKey  *outcome            // a request without a key
	First  *outcome            // the first request with the key
	Calls  map[string]*outcome // of each operation, by its name in the SDK
	Drifts []horseracing.Drift
	Values map[string]counts // undocumented values, by member: "Race.status"

	Bodies     *bodies
	Omitted    *bool               // whether a request without a body reads like one with {}
	NoTier     *bool               // whether a request without a tier reads like one with tier 5
	Pages      []page              // one walk back from now, newest page first
	Bound      *bound              // whether start_time_from excludes its instant
	Tiers      map[int]*tier       // by id
	Oldest     *oldest             // how far back results go
	V1         *version1           // the listing by offset
	RaceByID   *raceByID           // which id a race is read by
	Unknown    map[string]*outcome // ids that do not exist, by operation
	Samples    samples
	Lateness   []time.Duration // from a race's start until it was in the results
	WatchedFor time.Duration
}

// outcome is what came of a request.
type outcome struct {
	Status  int
	Err     error
	Entries int    // of a list
	Shape   string // of the body: "array of 10", "object with error, message"
}

type counts map[string]int

func (c counts) String() string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%q (%d)", value, c[value]))
	}
	const most = 12
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	return strings.Join(parts, ", ")
}

type bodies struct {
	Arrived bool
	How     string
}

// entry is what is compared of a page.
type entry struct {
	ID    int64  `json:"main_race_id"`
	Start int64  `json:"start_time"`
	Tier  string `json:"tier"`
}

type page struct {
	From    int64 // start_time_from; 0: none was sent
	Entries []entry
}

// order reports how the entries of a page lie.
func (p page) order() string {
	down := slices.IsSortedFunc(p.Entries, func(a, b entry) int { return int(min(1, max(-1, b.Start-a.Start))) })
	up := slices.IsSortedFunc(p.Entries, func(a, b entry) int { return int(min(1, max(-1, a.Start-b.Start))) })
	switch {
	case len(p.Entries) < 2 || up && down:
		return "undecided"
	case down:
		return "newest first"
	case up:
		return "oldest first"
	}
	return "in no order"
}

// lowest returns the earliest start.
func (p page) lowest() int64 {
	return slices.MinFunc(p.Entries, func(a, b entry) int { return int(min(1, max(-1, a.Start-b.Start))) }).Start
}

type bound struct {
	Excludes     bool // a request from an entry's start leaves the entry out
	Milliseconds bool // a request from a millisecond later shows it
}

type tier struct {
	Entries int
	Names   counts
	Err     error
}

type oldest struct {
	Start time.Time
	Exact bool // a page before it was empty
}

type version1 struct {
	Entries    int
	Order      string
	WithType   int
	WithLevels int
	Overlap    int // entries that offset 5 shows of those that offset 0 showed
	Expected   int
}

type raceByID struct {
	MainID      *outcome
	MainMatches bool
	OpaqueID    *outcome // by _id
	Finished    *outcome
	FinalOrder  bool // a finished race read by its id has a final order
}

// samples are typed values that some checks look into.
type samples struct {
	Open        []horseracing.Race
	Finished    []horseracing.Race
	Tournaments []horseracing.Tournament
	Horses      []horseracing.Horse
	Missions    []horseracing.HorseMissions
	Breeding    []horseracing.BreedingListing
	Catalogue   *horseracing.MissionCatalogue
	Prizes      counts    // names of the members of additional prizes
	At          time.Time // the service's clock when the open races were read
}

// shapeOf describes a body without showing it.
func shapeOf(body []byte) string {
	var value any
	if len(body) == 0 {
		return "an empty body"
	}
	if json.Unmarshal(body, &value) != nil {
		if strings.Contains(strings.ToLower(string(body[:min(len(body), 512)])), "<html") {
			return "an HTML page"
		}
		return "no JSON"
	}
	switch v := value.(type) {
	case nil:
		return "null"
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) > 6 {
			names = append(names[:6], "…")
		}
		return "an object with " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("a %T", value)
}
