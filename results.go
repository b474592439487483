package horseracing

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// ResultsQuery selects entries of a listing that is paged by start time, newest first.
// The zero value selects TierOmega alone, with its whole history.
//
// An invalid query (a negative field, Tier and Tiers together, a Since after Before, a
// cursor of another listing or of other tiers) fails with ErrInvalidArgument when the
// pager is ranged over.
type ResultsQuery struct {
	Tier   TierID    // default TierOmega only
	Tiers  []TierID  // several tiers merged into one listing; not together with Tier
	Before time.Time // only entries that start before this time; default now, by the service's clock
	Since  time.Time // only entries that start at this time or later; default the whole history

	// Resume continues after the position of a saved cursor, with its tiers and its Since.
	// Tier and Tiers may be left out. A Since in the query replaces the cursor's.
	Resume Cursor

	Concurrency int // requests in flight at once, at most 1,000; default 1

	// Patience is the longest time without an accepted page before the loop ends with an
	// error; default 10 minutes. Until it expires, refused requests (429, or 503 with
	// Retry-After) are retried; after the first accepted page, transient errors are too. A
	// Retry-After of up to an hour extends it, once between accepted pages.
	Patience time.Duration
}

// OffsetQuery selects entries of the listing that is paged by offset, newest first. The
// zero value selects all of TierOmega. An invalid query fails with ErrInvalidArgument,
// as with [ResultsQuery].
type OffsetQuery struct {
	Tier   TierID // default TierOmega only
	Offset int    // how many of the newest entries to skip; ignored with Resume
	Resume Cursor // continue after the position of a saved cursor, with its tier

	// Patience is the longest time without an accepted page before the loop ends with an
	// error; default 10 minutes. Until it expires, refused requests (429, or 503 with
	// Retry-After) are retried; after the first accepted page, transient errors are too. A
	// Retry-After of up to an hour extends it, once between accepted pages.
	Patience time.Duration
}

// Results walks over finished races, newest first, in version 2 of the
// listing, which is paged by start time. A query without a tier reads TierOmega
// alone; Tiers names several, which are merged into one listing. Nothing is
// requested until the pager is ranged over. [RacesService.Follow] yields races as
// they finish.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Results(q ResultsQuery) *Pager[Race] {
	return newTimePager(q, listing[Race]{client: s.client, kind: cursorRaces, route: "/api/v2/races/results", key: raceKey})
}

// ResultsV1 walks over finished races in version 1 of the listing, which is paged by
// offset, one page at a time. Its races have no Type. New races shift the listing while
// it is read. No race that stays in it is missed, but one can be repeated if dozens of
// races with the same start time arrive between two pages. Prefer
// [RacesService.Results].
//
// GET /api/v1/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#46-finished-races-version-1
func (s *RacesService) ResultsV1(q OffsetQuery) *Pager[Race] {
	return newOffsetPager(q, listing[Race]{client: s.client, kind: cursorRacesV1, route: "/api/v1/races/results", key: raceKey})
}

// Results walks over finished tournaments, newest first. A query without a tier
// reads TierOmega alone; Tiers names several, which are merged into one listing.
// Nothing is requested until the pager is ranged over.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Results(q ResultsQuery) *Pager[Tournament] {
	return newTimePager(q, listing[Tournament]{client: s.client, kind: cursorTournaments, route: "/api/v1/tournaments/results", key: tournamentKey})
}

// Entry is an entry of a listing, with its JSON.
type Entry[T any] struct {
	Value *T              // nil if there is an error
	Tier  TierID          // the tier whose listing contains it
	JSON  json.RawMessage // as received, with undocumented members, not redacted, or nil if the error is not about one entry
}

// listing describes a paged listing to its pager.
type listing[T any] struct {
	client *Client
	kind   cursorKind
	route  string
	key    func(*T) entryKey

	order     pace.Rank       // priority of its requests, or zero for that of walks
	responded func(time.Time) // called with the service's time of each response, unless nil
	tiers     []TierID        // sorted, where zero is the service's default, which no request names
	patience  *transport.Patience
}

// entryKey determines the position of an entry in a listing.
type entryKey struct {
	start Timestamp
	id    string // empty if the entry has none
	omega bool   // its tier is Omega
}

func raceKey(r *Race) entryKey {
	return entryKey{r.StartTime, idOf(r), r.Tier == TierNameOmega}
}

func tournamentKey(t *Tournament) entryKey {
	return entryKey{t.StartTime, idOf(t), t.Tier == TierOmega}
}

func (l *listing[T]) op() operation { return operation{method: http.MethodGet, route: l.route} }

// tier returns the tier of the listing at an index.
func (l *listing[T]) tier(source int) TierID { return l.tiers[source].orDefault() }

// ceilMilli rounds up to the millisecond, for both ends of a range: an entry
// starts on a whole one. Instants outside those of a [Timestamp] are clamped.
func ceilMilli(t time.Time) int64 {
	switch {
	case t.Before(time.UnixMilli(minMilliseconds)):
		return minMilliseconds
	case t.After(time.UnixMilli(maxMilliseconds)):
		return maxMilliseconds + 1
	}
	return t.Add(time.Millisecond - 1).UnixMilli()
}
