package horseracing

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// ResultsQuery selects entries of a listing that is paged by start time, newest
// first. The zero value selects all of TierOmega, and nothing of any other tier.
//
// An invalid query (a negative number, Tier and Tiers together, a Since after
// Before, a cursor of another listing or of other tiers) is an ErrInvalidArgument,
// yielded when the pager is ranged over.
type ResultsQuery struct {
	Tier        TierID    // zero: the service's default (TierOmega), and no other
	Tiers       []TierID  // several tiers merged into one listing; not together with Tier
	Before      time.Time // only entries that start before this; zero: now, by the service's clock
	Since       time.Time // only entries that start at this or later; zero: the whole history
	Resume      Cursor    // go on where a saved cursor stopped; zero: from the beginning
	Concurrency int       // requests in flight at once, at most 1,000; 0 and 1: one

	// Patience is how long the service may refuse every request (429, or 503 with
	// Retry-After), or a page may fail while others succeed, before that is an
	// error. Zero: 10 minutes.
	Patience time.Duration
}

// OffsetQuery selects entries of the listing that is paged by offset, newest
// first. The zero value selects all of TierOmega. An invalid query is an
// ErrInvalidArgument, as with [ResultsQuery].
type OffsetQuery struct {
	Tier        TierID // zero: the service's default (TierOmega), and no other
	Offset      int    // how many of the newest entries to skip; ignored with Resume
	Resume      Cursor // go on where a saved cursor stopped; zero: from Offset
	Concurrency int    // requests in flight at once, at most 1,000; 0 and 1: one

	// Patience is how long the service may refuse every request (429, or 503 with
	// Retry-After), or a page may fail while others succeed, before that is an
	// error. Zero: 10 minutes.
	Patience time.Duration
}

const maxConcurrency = 1000

// Results walks over finished races, newest first, in version 2 of the
// listing, which is paged by start time. A query without a tier reads TierOmega
// alone; Tiers names several, which are merged into one listing. Nothing is
// requested until the pager is ranged over. [RacesService.Follow] hands out races
// as they finish.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Results(q ResultsQuery) *Pager[Race] {
	return newTimePager(q, listing[Race]{client: s.client, kind: cursorRaces, route: "/api/v2/races/results", key: raceKey})
}

// ResultsV1 walks over finished races in version 1 of the listing, which is
// paged by offset. Its races have no Type. The listing shifts while it is read:
// no race that stays in it is missed, but a race can be repeated if dozens of
// races with one start time arrive, or races disappear, between two pages. Prefer
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

// listing is what a pager needs of a listing.
type listing[T any] struct {
	client *Client
	kind   cursorKind
	route  string
	key    func(*T) entryKey
	paging string // the member that selects a page: start_time_from or offset
	first  int64  // the value of that member for the first page, which is not sent

	order       pace.Rank // priority of its requests; zero: that of walks
	tiers       []TierID  // sorted
	defaultTier bool      // the query names no tier, and no tier is sent
}

// entryKey is what places an entry in a listing.
type entryKey struct {
	start Timestamp
	id    uint64 // zero: the entry has none
	omega bool   // its tier is Omega
}

func raceKey(r *Race) entryKey {
	return entryKey{r.StartTime, uint64(r.MainRaceID), r.Tier == TierNameOmega}
}

func tournamentKey(t *Tournament) entryKey {
	if t.ID == "" {
		return entryKey{start: t.StartTime}
	}
	h := fnv.New64a()
	h.Write([]byte(t.ID))
	return entryKey{t.StartTime, max(1, h.Sum64()), t.Tier == TierOmega}
}

// keyOf returns what places an entry, also one that can be read only in part.
func (l *listing[T]) keyOf(e *listEntry[T]) entryKey {
	if e.err != nil {
		return l.key(partOf[T](e.json, "start_time", "main_race_id", "_id", "tier"))
	}
	return l.key(e.value)
}

func (l *listing[T]) byTime() bool { return l.first == walk.Latest }

func (l *listing[T]) op() operation { return operation{method: http.MethodGet, route: l.route} }

func newTimePager[T any](q ResultsQuery, l listing[T]) *Pager[T] {
	l.paging, l.first = "start_time_from", walk.Latest
	tiers := q.Tiers
	if len(tiers) == 0 {
		tiers = []TierID{q.Tier}
	}
	p, resume := newPager(l, tiers, q.Resume, q.Concurrency, q.Patience)
	since, before := int64(walk.Earliest), int64(walk.Latest)
	if !q.Since.IsZero() {
		since = ceilMilli(q.Since)
	}
	if !q.Before.IsZero() {
		before = ceilMilli(q.Before)
	}
	switch {
	case since > before:
		p.invalid = l.op().invalid(fmt.Sprintf("Since %s is after Before %s", q.Since.Format(time.RFC3339Nano), q.Before.Format(time.RFC3339Nano)))
	case len(q.Tiers) > 0 && q.Tier != 0:
		p.invalid = l.op().invalid("Tier and Tiers are both set")
	case slices.Contains(q.Tiers, 0):
		p.invalid = l.op().invalid("a tier in Tiers is zero")
	}
	p.begin = func(resume []*walk.Position) *walk.Merge[*listEntry[T]] {
		walks := make([]walk.Walker[*listEntry[T]], len(resume))
		for i := range walks {
			walks[i] = walk.NewTime[*listEntry[T]](since, before, resume[i], p.concurrency, pageSize)
		}
		return walk.NewMerge(walks, p.concurrency, pageSize)
	}
	p.walk = p.begin(resume)
	return p
}

func newOffsetPager[T any](q OffsetQuery, l listing[T]) *Pager[T] {
	l.paging = "offset"
	p, resume := newPager(l, []TierID{q.Tier}, q.Resume, q.Concurrency, q.Patience)
	if q.Offset < 0 {
		p.invalid = l.op().invalid(fmt.Sprintf("Offset %d is negative", q.Offset))
	}
	p.begin = func(resume []*walk.Position) *walk.Merge[*listEntry[T]] {
		w := walk.NewOffset[*listEntry[T]](int64(q.Offset), resume[0], p.concurrency, pageSize)
		return walk.NewMerge([]walk.Walker[*listEntry[T]]{w}, p.concurrency, pageSize)
	}
	p.walk = p.begin(resume)
	return p
}

const maxTiers = 100

// newPager returns a pager without a walk, and where the walk of each tier is to
// begin.
func newPager[T any](l listing[T], tiers []TierID, resume Cursor, concurrency int, wait time.Duration) (*Pager[T], []*walk.Position) {
	l.defaultTier = tiers[0] == 0
	l.tiers = slices.Compact(slices.Sorted(slices.Values(tiers)))
	p := &Pager[T]{listing: l, concurrency: min(max(1, concurrency), maxConcurrency), resume: resume, patience: newPatience(wait)}
	switch {
	case l.tiers[0] < 0:
		p.invalid = l.op().invalid(fmt.Sprintf("tier %d is negative", l.tiers[0]))
	case len(l.tiers) > maxTiers:
		p.invalid = l.op().invalid(fmt.Sprintf("Tiers has %d tiers, more than %d", len(l.tiers), maxTiers))
	case concurrency < 0 || concurrency > maxConcurrency:
		p.invalid = l.op().invalid(fmt.Sprintf("Concurrency %d is not between 0 and %d", concurrency, maxConcurrency))
	case wait < 0:
		p.invalid = l.op().invalid(fmt.Sprintf("Patience %v is negative", wait))
	}
	if l.defaultTier {
		p.listing.tiers = []TierID{TierOmega}
	}
	begin := make([]*walk.Position, len(p.listing.tiers))
	if resume.IsZero() {
		return p, begin
	}
	payload, ok := resume.payload(l.kind, p.listing.tiers)
	positions, readable := readPositions(payload)
	if !ok || !readable || len(positions) != len(begin) {
		p.invalid = l.op().invalid("the cursor in Resume is of another listing or of other tiers")
		return p, begin
	}
	for i := range positions {
		begin[i] = &positions[i]
	}
	return p, begin
}

// pageBody is the body of a page request, encoded already.
type pageBody []byte

// pageBody encodes the request for a page: the tier and where the page begins,
// unless they are left to the service.
func (l *listing[T]) pageBody(r walk.Request) pageBody {
	body := make([]byte, 1, 64)
	body[0] = '{'
	if !l.defaultTier {
		body = append(body, `"tier":`...)
		body = strconv.AppendInt(body, int64(l.tiers[r.Source]), 10)
	}
	if r.At != l.first {
		if !l.defaultTier {
			body = append(body, ',')
		}
		body = append(append(append(body, '"'), l.paging...), `":`...)
		body = strconv.AppendInt(body, r.At, 10)
	}
	return append(body, '}')
}

// ceilMilli rounds up to the millisecond, for both ends of a range: an entry
// starts on a whole one.
func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}
